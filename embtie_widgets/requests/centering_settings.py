"""Ready settings of a sweep of output centering, each with what it shows.

They were found by measuring some sixty runs (one or two layers, width 64 or 128, 300 to 4,096
tokens, learning rates 0.01 to 3, batches of 8 to 1,024 tokens; the CPU, float32 if not told):

What carries the mean logit away.  The fewer tokens a batch holds against the vocabulary, the faster
mu drifts against the mean hidden state: most rows then see one large push up at times and small
ones down in between, and Adam's second moment damps the large ones.  At 1,024 tokens, a rate of
0.1 and 128 tokens a batch the mean logit was -17 after 2,000 steps, at 64 tokens -35.  Adam with
one second moment for all rows left |mu| at its 0.0051 for 700 steps, plain SGD for 400.

What holds it.  A gain in the last norm: it shrinks the hidden state (to a length of 0.5 from 8)
while mu grows (to 34, of rows of 36 in length), and the mean logit stays near -3.  A hidden
state that keeps turning: at 16 tokens a batch |mu| was 49 of 51, the mean logit -3.  A rate of 0.03:
-4.  A norm without gain, as OLMo has it, and a rate of 0.1 or 0.2 at which the hidden state keeps
one direction, do not hold it.  A rate of 0.6 or more throws the logits to +60 and more at once,
their spread as far; they stay there.

What it costs.  Nothing in exact numbers: without cap and weight decay an untied model's loss and
gradients do not see mu.  Its bfloat16 does: the resolution of a logit of 600 is 4.  A common shift
that was planted in a trained head (512 tokens, loss 3.726) left its float32 loss at that to 4 digits
and brought the bfloat16 one to 3.736 at a shift of 100, 3.78 at 200, 3.90 at 300, 4.40 at 600 and
6.24 at 1,200; one subtraction brought each back to 3.726.  The paper's baseline, trained in
bfloat16, ends 0.42 above its rivals at a mean logit of 588, and 1.2 at 1,152.  No run of ours came as
far within two minutes: losses part in a longer run.
"""

from typing import Any

_PAPER_RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1)

SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "Runaway logits": (
        {},
        "Without centering the mean logit walks to -28 in 1,500 steps, and would go on, while the "
        "logits of a position stay 6 wide. Losses do not part: exact numbers do not see a common "
        "shift. In bfloat16 it starts to cost from 100 to 200 on, which takes a longer run.",
    ),
    "Who moves mu: SGD, Adam, Coupled Adam": (
        {"methods": ("none", "coupled-adam", "sgd")},
        "The gradient of an untied output matrix adds up to 0 over the vocabulary, so plain SGD "
        "leaves mu where it is, and so does Adam with one second moment for all rows. Adam's own, "
        "one for each entry, moves it.",
    ),
    "A sweep": (
        {"methods": ("none", "mu-centering", "z-loss"), "rates": (1e-2, 3e-2, 1e-1), "steps": 400},
        "Three methods at three learning rates; the grid fills as the runs come to their end. At "
        "this length the rate decides the loss, and the method how far logits and mu have gone.",
    ),
    "The paper's shape, long": (
        {
            "preset": "nano-stablelm",
            "sizes": ("small",),
            "tokenizer": "",
            "vocabulary": 4_096,
            "rates": _PAPER_RATES,
            "steps": 100_000,
            "warmup": 5_000,
            "batch": 64,
            "length": 256,
            "every": 100,
            "precision": "bfloat16",
        },
        "Architecture, learning rates, steps and precision of the paper's smallest models, with a "
        "smaller vocabulary and batch. Days on a laptop: for a cluster or a GPU. It has not been "
        "run for this text; the recorded sweep of the authors shows what theirs did.",
    ),
}
"""By name: the fields in which it differs from a plain request, and a sentence."""
