"""Ready settings of a sweep of output centering, each with what it shows.

They were found by measuring some hundred runs: 512 to 4,096 tokens, width 64 or 128, one or two
layers, seven architectures, rates from 0.01 to 3, 8 to 1,024 tokens a batch, at most 2,000 steps,
on the CPU, in float32 where no other is named.

What carries the mean logit away.  Most rows see one large push up now and then, and many small ones
down; Adam's second moment damps the large ones, so all rows drift against the mean hidden state.
The baseline of the first setting below had a mean logit of -29.6, -20.6, -25.4, -30.0, -24.4, -21.1
and -21.2 after 1,500 steps with seven of eight seeds, and of -4.5 with the eighth; with a warm-up
of 50 steps in place of 300 it ran away with two of four seeds only, at a rate of 0.2 with four of
four (-16 to -22), at 0.05 with one of four.  With a warm-up of 50 and seed 1 it was -12.7 after
500 steps; with Adam's eps at 1e-4 it was -4.2, with beta2 at 0.999 -4.3, with a weight decay of 0.1
-4.1.  One second moment for all rows left |mu| as it was for 700
steps, plain SGD for 400.  The fewer tokens a batch holds, the faster: -17 after 1,000 steps at 64
tokens, -28 at 32 (rate 0.2).

What holds it.  A gain in the last norm: the hidden state shrinks (to a length of 0.5 from 8), mu
grows (to 34, rows being 36 long), and the mean logit stays near -3.  A hidden state that keeps
turning: with 16 tokens a batch |mu| was 49 of 51, the mean logit -3.  A low rate: -4 at 0.01.  At
0.6 and more the logits are thrown to +60 and further at once, but their spread as far, and
the mean stays there.

What it costs.  Nothing in exact numbers: the loss and the gradients of an untied model do not see
mu, and with and without centering the same run comes out for as long as rounding allows, 20 to 30
steps at this rate.  From there on they are two runs of a chaotic kind, in which another number of
threads makes another run: batch losses at the end were 6.04, 5.76, 6.02 without and 6.01, 5.66,
5.93 with it.  bfloat16 does see mu, as a logit of 600 is
only known to 4.  A common shift planted in a trained head (512 tokens, float32 loss 3.726 at
each shift) made the bfloat16 loss 3.736 at 100, 3.78 at 200, 3.90 at 300, 4.40 at 600 and 6.24 at
1,200; one subtraction made it 3.726 again.  The paper's untied 16M baseline, trained in bfloat16,
ends 0.42 above mu-centering at a mean logit of 588, 1.2 at 1,152.
"""

from typing import Any

_PAPER_RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1)

SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "Runaway logits": (
        {},
        "Without centering the mean logit walked to between -21 and -30 in 1,500 steps with seven "
        "of eight seeds (with one it stayed near -5), while the logits of a position stay 6 wide. "
        "Losses do not part: exact numbers do not see a common shift, and at this rate two runs "
        "differ by 0.1 or more whatever is done. In bfloat16 a shift costs from 100 to 200 on, "
        "which takes a longer run.",
    ),
    "Who moves mu: SGD, Adam, Coupled Adam": (
        {"methods": ("none", "coupled-adam", "sgd")},
        "The gradient of an untied output matrix adds up to 0 over the vocabulary, so plain SGD "
        "leaves mu where it is, and so does Adam with one second moment for all rows. Adam's own, "
        "one for each entry, moves it.",
    ),
    "A gain holds the logits, not mu": (
        {
            "preset": "nano-stablelm",
            "methods": ("none", "mu-centering"),
            "steps": 500,
            "warmup": 50,
        },
        "With a gain in its last norm, as the paper's models have, the mean row grows just as "
        "well, to a length of 16 of rows that are 18 long, but the gain shrinks the hidden state: "
        "the mean logit stays near -3.",
    ),
    "A sweep": (
        {
            "methods": ("none", "mu-centering", "z-loss"),
            "rates": (1e-2, 3e-2, 1e-1),
            "steps": 400,
            "warmup": 50,
        },
        "The rate decides the loss, 5.70 at 0.01 and 5.92 at 0.1, and the method how far the mean "
        "logit goes: at 0.1 to -11 without, to -10 with z-loss, nowhere with centering. Sweeps "
        "of this length do not set the methods apart by their losses.",
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
