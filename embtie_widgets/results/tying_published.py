"""What the weight-tying paper, arXiv 2603.26663, and its released files say of runs and curves.

Its tables of matrices and of parameters are elsewhere: `papers_printed`, `printed_parameters.json`.
"""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class PublishedScaling:
    """A line of tables 2 and 6: cosines of a tied run to the untied model's matrices."""

    factor: float
    steps: str
    input: float
    output: float


SCALING = (
    PublishedScaling(1, "10,000", 0.216, 0.384),
    PublishedScaling(5, "10,000", 0.222, 0.369),
    PublishedScaling(1, "1,000", 0.172, 0.197),
    PublishedScaling(2, "1,000", 0.173, 0.197),
    PublishedScaling(10, "1,000", 0.173, 0.190),
)

GRADIENT_SHARES = {
    (1, 50): 0.917,
    (1, 100): 0.902,
    (101, 200): 0.825,
    (201, 500): 0.718,
    (501, 1_000): 0.630,
    (1, 1_000): 0.703,
    (1_001, 2_000): 0.614,
    (2_001, 5_000): 0.631,
    (5_001, 10_000): 0.629,
}
"""The paper's share by steps, from its released log of OLMo-1B: batch 512, warm-up 1,000."""


class PublishedGradient(NamedTuple):
    """What the same log gives over the first 1,000 steps: the share of norms averaged over 20
    steps, with its range, and output over input; then an earlier run of batch 8, warm-up 100."""

    smoothed: float = 0.711
    lowest: float = 0.59
    highest: float = 0.93
    ratio: float = 3.25
    median_ratio: float = 2.07
    earlier_share: float = 0.832
    earlier_median_ratio: float = 4.29


GRADIENT = PublishedGradient()
GRADIENT_STEPS = {
    (1, "share"): "0.72",
    (50, "input"): "0.015",
    (50, "output"): "0.176",
    (1_000, "input"): "0.026",
    (1_000, "output"): "0.039",
}
"""What it has at single steps: the share, or a norm by path."""


class PublishedDrift(NamedTuple):
    """Mean cosines of rows at a step: with those at step 0, and with those one interval before."""

    step: int
    input_to_first: float
    output_to_first: float
    input_to_previous: float
    output_to_previous: float


@dataclass(frozen=True)
class PublishedSeries:
    """The checkpoints of one model, `interval` steps apart."""

    model: str
    interval: int
    lines: tuple[PublishedDrift, ...]


DRIFT = {
    "figure-3": PublishedSeries(
        "allenai/OLMo-1B-0724-hf",
        2_000,
        (
            PublishedDrift(2_000, 0.991, 0.958, 0.991, 0.958),
            PublishedDrift(10_000, 0.937, 0.740, 0.997, 0.993),
            PublishedDrift(20_000, 0.865, 0.561, 0.996, 0.997),
        ),
    ),
    "figure-8": PublishedSeries(
        "allenai/OLMo-7B-0424-hf",
        10_000,
        (
            PublishedDrift(10_000, 0.965, 0.772, 0.965, 0.772),
            PublishedDrift(50_000, 0.752, 0.366, 0.974, 0.989),
        ),
    ),
    "figure-9": PublishedSeries(
        "EleutherAI/pythia-1b",
        1_000,
        (
            PublishedDrift(1_000, 0.922, 0.787, 0.922, 0.787),
            PublishedDrift(5_000, 0.554, 0.406, 0.964, 0.976),
            PublishedDrift(15_000, 0.320, 0.210, 0.980, 0.987),
        ),
    ),
}
"""By figure, in the order in which the paper shows the models."""


@dataclass(frozen=True)
class PublishedLens:
    """A pair's lens, in bits of KL(final || lens).

    bits    "untied" and "tied" to point and value: as the text names it, or read off the figure
    layers  of both models; points are "embedding" and the numbers of the blocks
    exact   the points are those of a run of the released code
    """

    untied: str
    tied: str
    layers: int
    bits: dict[str, dict[str, float]]
    exact: bool = False


def _by_point(*values: float) -> dict[str, float]:
    return dict(zip(["embedding", *map(str, range(1, len(values)))], values, strict=True))


LENS = {
    "figure-2": PublishedLens(
        "allenai/OLMo-1B-0724-hf",
        "allenai/OLMo-1B-hf",
        16,
        {
            "untied": _by_point(
                7.01, 6.64, 4.84, 4.21, 3.90, 3.74, 3.52, 3.28, 3.11, 2.88, 2.53, 2.14, 1.98, 1.68,
                1.31, 0.83, 0.18,
            ),
            "tied": _by_point(
                8.86, 9.61, 6.42, 4.91, 4.37, 4.06, 3.61, 3.41, 3.30, 2.95, 2.72, 2.30, 2.18, 2.52,
                2.79, 1.37, 2.06,
            ),
        },
        exact=True,
    ),
    "figure-6": PublishedLens(
        "EleutherAI/pythia-2.8b",
        "EleutherAI/gpt-neo-2.7B",
        32,
        {
            "untied": {"embedding": 7, "1": 15},
            "tied": {"embedding": 17, "1": 30, "32": 3.7},
        },
    ),
    "figure-7": PublishedLens(
        "Qwen/Qwen3-8B",
        "Qwen/Qwen3-4B",
        36,
        {"untied": {"embedding": 12, "36": 5.2}, "tied": {"embedding": 25}},
    ),
}  # fmt: skip
"""By figure; of the two later ones what the text and the figure name."""
LENS_TEXT = {"untied": 7.0, "tied": 9.2}
"""What the paper's text says of figure 2 at the embedding."""

NORMS = {
    ("untied input", "least"): 0.75,
    ("untied input", "most"): 1.0,
    ("untied output and tied", "rare tokens"): 0.9,
    ("untied output and tied", "peak, near count 10,000"): 1.8,
    ("untied output and tied", "most frequent tokens"): 1.3,
}
"""Row norms of figure 5, read off; counts are of about 300 MB of English."""

EVALUATION = {  # "tied" and "x5" after 10,000 steps
    ("WikiText-2", "perplexity"): ("35.71", "36.64"),
    ("PIQA", "accuracy"): (".620", ".631"),
    ("HellaSwag", "accuracy"): (".329", ".326"),
    ("WinoGrande", "accuracy"): (".514", ".509"),
    ("ARC-Easy", "accuracy"): (".396", ".402"),
    ("ARC-Challenge", "accuracy"): (".233", ".241"),
    ("BoolQ", "accuracy"): (".576", ".548"),
    ("OpenBookQA", "accuracy"): (".256", ".278"),
    ("BLiMP", "accuracy"): (".755", ".757"),
}
"""Table 7."""

COUPLING = {  # coupled and decoupled embeddings
    ("parameters, pre-training", "M"): ("177", "269"),
    ("parameters, fine-tuning", "M"): ("177", "177"),
    ("XNLI", ""): ("70.7", "71.3"),
    ("NER", ""): ("69.2", "68.9"),
    ("PAWS-X", ""): ("85.3", "85.0"),
    ("XQuAD exact match", ""): ("46.2", "46.9"),
    ("XQuAD F1", ""): ("63.2", "63.8"),
    ("TyDi QA exact match", ""): ("40.7", "42.8"),
    ("TyDi QA F1", ""): ("56.7", "58.1"),
    ("average", ""): ("62.3", "62.7"),
}
"""The table on Chung et al. 2020; row and unit."""
