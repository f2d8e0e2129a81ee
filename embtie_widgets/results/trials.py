"""Results of the experiments on the gradient bottleneck: one run for each trial."""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]

CURVES = {
    "step": "optimiser step, from 1",
    "loss": "cross-entropy of the batch before the update, nats per token",
    "lr": "learning rate of the step",
    "accuracy": "share of the batch's predictions that are right; of SpamLang, over positions",
    "destroyed": "share of the logit gradient's length that is not transmitted, 0 to 1",
    "sequences": "independent sequences seen so far; of SpamLang",
    "positions": "predicted positions seen so far",
}
WAITING, RUNNING, DONE, DIVERGED, FAILED = STATES = (
    "waiting", "running", "done", "diverged", "failed",
)  # fmt: skip


@storable
@dataclass(frozen=True)
class TrialRun:
    """One run.

    way, rank, tied, lr, seed, symbols, width, length, extra  as in `requests.trials.Trial`
    state     one of STATES
    loss      nats per token on text or sequences held out; NaN where unknown
    accuracy  share of predictions that are right there; of SpamLang every symbol once
    curves    name to (n,), names and meanings in CURVES
    step, of  steps done, and of how many
    reason    why it failed, in words
    about     what else is known: width, vocabulary (rows of the head), device, seconds,
              where; of SpamLang also sequences, positions, sequences_per_symbol, first_accuracy,
              later_accuracy, asked
    """

    way: str
    rank: int | None
    tied: bool
    lr: float
    seed: int
    symbols: int | None
    width: int | None
    length: int | None
    extra: int | None
    state: str
    loss: float
    accuracy: float
    curves: dict[str, Vector]
    step: int = 0
    of: int = 0
    reason: str = ""
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """What is the same along a line of learning rates and seeds."""
        tying = "tied" if self.tied else "untied"
        if self.symbols is None:
            rank = "" if self.rank is None else f" of rank {self.rank:,}"
            return f"{tying} {self.way}{rank}"
        beside = f", {self.extra:,} classes beside" if self.extra else ""
        return f"{tying} {self.symbols:,} symbols{beside}, width {self.width}, length {self.length}"


@storable
@dataclass(frozen=True)
class TrialsReport:
    """What comes of a `BottleneckTrialsRequest`.

    trials    in the order of the request
    excess    for "ranks": of each way and rank, tying and rate the loss above that of the full head
              with the same seed: "way", "rank", "tied", "lr", "mean", "interval" (95 % over seeds,
              None with one) and "seeds"
    progress  "" for a whole result, else how far it has come
    """

    experiment: str
    trials: tuple[TrialRun, ...]
    excess: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str]
    progress: str = ""

    def __repr__(self) -> str:
        done = sum(one.state == DONE for one in self.trials)
        return f"TrialsReport({self.experiment}, {done} of {len(self.trials)} runs done)"

    def to_frame(self) -> "pd.DataFrame":
        """One row per run."""
        import pandas as pd

        rows = [asdict(one) | one.about for one in self.trials]
        return pd.DataFrame(rows).drop(columns=["curves", "about"], errors="ignore")

    def curve_frame(self) -> "pd.DataFrame":
        """One row per run and logged step, by the run's number in the order of the request."""
        import pandas as pd

        frames = [pd.DataFrame(one.curves).assign(run=i) for i, one in enumerate(self.trials)]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def facts(self) -> dict[str, Any]:
        """All that is not a number per step."""
        return {
            "progress": self.progress or "whole",
            "excess": self.excess,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }
