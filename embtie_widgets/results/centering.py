"""Results on keeping the output matrix centred: runs by method and learning rate."""

import math
from collections.abc import Iterable, Mapping
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
    "gradient_norm": "norm of the whole gradient before clipping",
    "logit_mean": "mean of a position's logits over the vocabulary, before any cap; over positions",
    "logit_mean_spread": "standard deviation of that mean over positions",
    "logit_std": "standard deviation of a position's logits over the vocabulary; over positions",
    "logit_max": "largest magnitude of a position's logits; over positions",
    "common_fraction": "share of the logits' mean square that is common to all tokens, 0 to 1",
    "mu_output": "length of the mean row of the output matrix, over rows of real tokens",
    "mu_output_all": "the same over all stored rows, as the paper takes it",
    "row_norm_output": "mean length of a row of the output matrix, over rows of real tokens",
    "bound_ratio": "max |(u - mu) mu| / max |u mu|: below 1 centring narrows the range of logits",
    "mu_input": "length of the mean row of the input matrix; of a tied one the same as mu_output",
}
"""What each curve of a run means; the numbers of a run are their values at its end.

Logits and matrices are those before the step's update, as the loss is, so that the mean logit is
what the mean row makes of the hidden states of the same step."""

WAITING, RUNNING, DONE, DIVERGED, FAILED, MISSING = STATES = (
    "waiting", "running", "done", "diverged", "failed", "missing",
)  # fmt: skip


@storable
@dataclass(frozen=True, eq=False)
class CenteringRun:
    """One run.

    method, coefficient, tied, lr, size, seed  what it is; None where a record does not say
    state    "diverged" for a loss that is not finite, or above both that of equal guesses at all
             tokens and its own at the start; "missing" for one that a recorded sweep lacks
    loss     nats per token on text held out, with the cap where there is one; NaN where unknown
    numbers  by name of CURVES, at its end
    curves   name to (n,), names and meanings in CURVES; empty for a recorded sweep
    step, of steps done, and of how many
    reason   why it failed, in words
    about    what else is known of it: batch, device, seconds, where it ran, its folder's key, ...
    """

    method: str
    tied: bool | None
    lr: float
    coefficient: float | None = None
    size: str = ""
    seed: int | None = None
    state: str = DONE
    loss: float = math.nan
    numbers: dict[str, float] = field(default_factory=dict)
    curves: dict[str, Vector] = field(default_factory=dict)
    step: int = 0
    of: int = 0
    reason: str = ""
    about: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"CenteringRun({self.line} at {self.lr:g}, {self.state}, loss {self.loss:.3f})"

    @property
    def line(self) -> str:
        """What is the same along a line of learning rates: tying, method, coefficient."""
        tying = {True: "tied ", False: "untied ", None: ""}[self.tied]
        weight = "" if self.coefficient is None else f" {self.coefficient:g}"
        return f"{tying}{self.method}{weight}"

    @property
    def group(self) -> tuple[str, bool | None, str, float | None, int | None]:
        """All but the learning rate."""
        return (self.size, self.tied, self.method, self.coefficient, self.seed)

    def knows(self, name: str) -> bool:
        """Whether a curve has a value anywhere."""
        values = self.curves.get(name)
        return values is not None and bool(np.isfinite(values).any())


@storable
@dataclass(frozen=True)
class Sensitivity:
    """How much worse a method gets away from its best learning rate, over the n rates of a sweep.

    value      sum of min(loss, initial) - min loss, over n - 1; NaN with fewer than two rates
    best_lr, best_loss  where it is best
    rates      the rates that count, diverged ones included
    unknown    of how many rates the loss is not known: failed, missing or not run yet
    initial_loss  what a loss counts for at most
    """

    size: str
    tied: bool | None
    method: str
    coefficient: float | None
    seed: int | None
    value: float
    best_lr: float
    best_loss: float
    rates: tuple[float, ...]
    unknown: int
    initial_loss: float


@storable
@dataclass(frozen=True)
class Effect:
    """What taking the mean off the output matrix does to the predictions of one trained model.

    softmax        largest change of a probability, on text held out, with all that the model has
    fixed_hidden   the same for the same hidden states and without cap: 0 but for rounding
    logit_shift    largest change of a logit
    changes        words: why it changes, or that it does not
    lr, size       which of the runs it is
    """

    method: str
    tied: bool
    capped: bool
    softmax: float
    fixed_hidden: float
    logit_shift: float
    changes: str
    lr: float = math.nan
    size: str = ""


@storable
@dataclass(frozen=True, eq=False)
class CenteringReport:
    """A sweep over methods and learning rates, or one rate alone.

    runs         in the order of the request
    sensitivity  one for each line of at least two rates
    effects      for some of the runs
    initial_loss of equal guesses at all tokens, in nats; what a recorded sweep says, or NaN
    progress     how far an unfinished one is, else ""
    """

    runs: tuple[CenteringRun, ...]
    sensitivity: tuple[Sensitivity, ...] = ()
    effects: tuple[Effect, ...] = ()
    initial_loss: float = math.nan
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    progress: str = ""

    def __repr__(self) -> str:
        states = [run.state for run in self.runs]
        counts = ", ".join(f"{states.count(s)} {s}" for s in STATES if s in states)
        return f"CenteringReport({len(self.runs)} runs: {counts})"

    def side_by_side(self, like: CenteringRun) -> tuple[CenteringRun, ...]:
        """The runs of the same learning rate, size and seed: methods against each other."""
        same = (like.lr, like.size, like.seed)
        return tuple(run for run in self.runs if (run.lr, run.size, run.seed) == same)

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates, rising."""
        return tuple(sorted({run.lr for run in self.runs}))

    def to_frame(self) -> "pd.DataFrame":
        """One row per run: what it is, its state, its loss and its numbers at the end."""
        import pandas as pd

        return pd.DataFrame([_line(run) for run in self.runs])

    def facts(self) -> dict[str, Any]:
        """All that is not a number per run: what every export carries."""
        return {
            "progress": self.progress or "whole",
            "initial_loss": self.initial_loss,
            "sensitivity": [asdict(one) for one in self.sensitivity],
            "effects": [asdict(one) for one in self.effects],
            "runs": {_called(run): run.about for run in self.runs if run.about},
            "failed": {_called(run): run.reason for run in self.runs if run.reason},
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }

    def curves_frame(self) -> "pd.DataFrame":
        """One row per run and logged step."""
        import pandas as pd

        frames = [pd.DataFrame({**_name(run), **run.curves}) for run in self.runs if run.curves]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def sensitivity_frame(self) -> "pd.DataFrame":
        """One row per line of learning rates."""
        import pandas as pd

        return pd.DataFrame([asdict(one) | {"rates": len(one.rates)} for one in self.sensitivity])


def _name(run: CenteringRun) -> dict[str, Any]:
    names = ("size", "tied", "method", "coefficient", "seed", "lr")
    # The column "lr" of the curves is the rate of the step.
    return {("peak_lr" if name == "lr" else name): getattr(run, name) for name in names}


def _called(run: CenteringRun) -> str:
    seed = "" if run.seed is None else f"seed {run.seed}"
    parts = (run.size, run.line, f"at {run.lr:g}", seed)
    return ", ".join(part for part in parts if part)


def _line(run: CenteringRun) -> dict[str, Any]:
    known: Iterable[str] = (name for name in CURVES if name in run.numbers)
    numbers = {f"end {name}": run.numbers[name] for name in known}
    return {**_name(run), "state": run.state, "step": run.step, "held_loss": run.loss, **numbers}
