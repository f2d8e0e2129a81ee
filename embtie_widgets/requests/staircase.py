"""The request behind the panel of the context staircase: toy tasks."""

from dataclasses import dataclass
from typing import ClassVar

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields
from embtie_widgets.requests.pair import DEVICES
from embtie_widgets.requests.request import Request

OPERATIONS = ("sum", "anchored-sum", "difference", "product", "min-max", "anchor", "parity")
DISTRIBUTIONS = ("uniform", "normal", "poisson", "exponential")
MODELS = ("ffn", "attention", "transformer", "fixed")
ACTIVATIONS = ("relu", "gelu", "tanh", "linear", "power")
MOST_SEQUENCES = 200_000
MOST_GAMMA = 4.0
_LARGEST = 2**62  # whole number that a product may come to


@dataclass(frozen=True)
class StaircaseRequest(Request):
    """Train a small model on a toy task and say, step by step, which order of the task's
    probability signatures its embeddings follow.

    The task: sequences of `length` tokens from 1 to `tokens` and their label, which is the
    `operation` on them, plus `offset`, modulo `modulus` (0 for none).  "difference" is that of the
    largest and the smallest; "anchored-sum" adds to the last token, any of them, what anchors
    before it say, "+1" to a quarter of `tokens`; "min-max" begins with one of two anchors that say
    which; "anchor" has one anchor before context tokens, and labels drawn once from `distribution`;
    "parity" is that of how many of a fifth of the tokens occur, the rest being noise.  All
    sequences are taken, or `samples` drawn ones where `samples` is not 0.

    The model: "ffn" without positions, an "attention" layer alone, a small "transformer", or an ffn
    whose embedding is "fixed" to a random projection of the order-1 signature, its scale trained.
    `activation` "power" is z^`power`.  Entries begin as N(0, d^(-2 `gamma`)), d being the `width`,
    or how many numbers a matrix inside reads.

    `batch` 0 takes all sequences at once.  Embeddings are kept at about `snapshots` epochs,
    spread evenly over their logarithm.  `orders` are those of the signatures; the probe of order 1
    and above is fitted in `probe_steps`, held out in `folds`.
    """

    operation: str = "anchored-sum"
    tokens: int = 40
    length: int = 3
    modulus: int = 40
    offset: int = 0
    distribution: str = "uniform"
    samples: int = 0
    model: str = "ffn"
    width: int = 128
    layers: int = 1
    activation: str = "relu"
    power: int = 2
    gamma: float = 0.8
    optimiser: str = "adam"
    lr: float = 1e-3
    weight_decay: float = 0.0
    epochs: int = 400
    batch: int = 0
    snapshots: int = 40
    orders: tuple[int, ...] = (0, 1)
    probe_steps: int = 300
    folds: int = 5
    device: str = "auto"
    seed: int = 0

    kind: ClassVar[str] = "staircase"

    def __post_init__(self) -> None:
        super().__post_init__()
        choices = {
            "operation": OPERATIONS, "distribution": DISTRIBUTIONS, "model": MODELS,
            "activation": ACTIVATIONS, "optimiser": ("adam", "sgd"), "device": DEVICES,
        }  # fmt: skip
        for name, options in choices.items():
            fields.choice(name, getattr(self, name), options)
        bounds = {
            "tokens": (2, 200), "length": (1, 12), "modulus": (0, 10_000), "offset": (0, 10_000),
            "samples": (0, MOST_SEQUENCES), "width": (1, 2_048), "layers": (1, 8), "power": (1, 8),
            "epochs": (1, 100_000), "batch": (0, MOST_SEQUENCES), "snapshots": (2, 400),
            "probe_steps": (1, 10_000), "folds": (2, 20), "seed": (0, 2**31 - 1),
        }  # fmt: skip
        for name, (low, high) in bounds.items():
            fields.whole(name, getattr(self, name), low, high)
        for name, most in (("gamma", MOST_GAMMA), ("lr", 100.0), ("weight_decay", 100.0)):
            fields.number(name, getattr(self, name), 0.0, most)
        object.__setattr__(self, "orders", fields.wholes("orders", self.orders, 0, 2))
        fields.some("orders", self.orders)
        if self.operation == "product" and not self.modulus and self.tokens**self.length > _LARGEST:
            raise EmbtieError(
                f"Products of {self.length} numbers up to {self.tokens} are too large to be exact.",
                "Give a modulus, fewer tokens, or shorter sequences.",
            )
        if not self.samples and self.sequences > MOST_SEQUENCES:
            raise EmbtieError(
                f"{self.tokens} tokens in sequences of {self.length} are {self.sequences:,} "
                f"sequences; at most {MOST_SEQUENCES:,} are taken.",
                "Give fewer tokens, shorter sequences, or a number of `samples` to draw.",
            )

    @property
    def anchors(self) -> int:
        """How many tokens the operation treats apart from the others; 0 where it has none such."""
        apart = {"anchor": 1, "min-max": 2, "anchored-sum": max(2, self.tokens // 4),
                 "parity": max(1, self.tokens // 5)}  # fmt: skip
        return apart.get(self.operation, 0)

    @property
    def sequences(self) -> int:
        """How many different ones there are."""
        tokens, others = self.tokens, self.length - 1
        if self.operation in ("anchor", "min-max"):
            return int(self.anchors * tokens**others)
        first = self.anchors if self.operation == "anchored-sum" else tokens
        return int(first**others * tokens)
