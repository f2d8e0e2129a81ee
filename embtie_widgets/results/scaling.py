"""Results of turning up the input's part of a shared matrix's gradient."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.storage import storable
from embtie_widgets.results.tables import token_columns

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]
Tokens = tuple[bytes | None, ...]
TO = ("input", "output")
# Half a two-sided 95 % interval of a mean, in standard errors.
_NORMAL_95 = 1.959964


@storable
@dataclass(frozen=True)
class Nearness:
    """How near a tied matrix has come to one of the untied, after the map of the request.

    mean, interval  cosine in-sample, and its 95 % over tokens
    heldout, floor  on tokens not fitted on (None for none), and with shuffled rows
    cosine          (V,) per token; NaN for rows that take no part
    heldout_interval  95 % of `heldout` over its tokens
    """

    mean: float
    interval: tuple[float, float]
    heldout: float | None
    floor: float
    cosine: Vector
    heldout_interval: tuple[float, float] | None = None


@storable
@dataclass(frozen=True)
class ScaledRun:
    """One tied run, its input gradient multiplied by `factor` in the first `until` steps.

    nearness     "input" and "output": to the untied model's; empty while it is in training
    curves       as in `results.gradient.CURVES`, of this run
    held_loss    nats per token on text held out; None where none is
    """

    factor: float
    until: int
    nearness: dict[str, Nearness]
    curves: dict[str, Vector]
    held_loss: float | None = None
    about: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        said = [f"{to} {near.mean:.3f}" for to, near in self.nearness.items()]
        said += [] if self.held_loss is None else [f"loss held out {self.held_loss:.3f}"]
        return f"ScaledRun({', '.join([named(self.factor), *said])})"

    @property
    def whole(self) -> bool:
        """Whether it has come to its end and was aligned."""
        return set(self.nearness) >= set(TO)

    @property
    def side(self) -> Vector:
        """(V,) cosine to the input minus cosine to the output, in [-2, 2]; above 0 a token stands
        nearer the input."""
        return self.nearness["input"].cosine - self.nearness["output"].cosine


@dataclass(frozen=True)
class Change:
    """What a factor changes against the plain tied run, token by token: the mean of it, its 95 %
    interval over tokens by the normal law, and of how many tokens."""

    mean: float
    interval: tuple[float, float]
    tokens: int

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.interval[0] > 0 or self.interval[1] < 0


@storable
@dataclass(frozen=True)
class ScalingReport:
    """All runs, the factor 1 first and then rising, beside the untied one.

    untied       "curves" and "held_loss" of the untied model
    groups       how far each kind of token and each band of counts has moved, by "x5" and the like
    Other fields are as in `results.gradient.GradientFlow`.
    """

    runs: tuple[ScaledRun, ...]
    untied: dict[str, Any]
    tokens: Tokens
    token_counts: Vector | None
    kinds: Vector | None
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str]
    groups: tuple[dict[str, Any], ...] = ()
    progress: str = ""

    def __repr__(self) -> str:
        lines = [f"  {run!r}" for run in self.runs]
        return "\n".join([f"ScalingReport({len(self.tokens):,} tokens)", *lines])

    @property
    def whole(self) -> tuple[ScaledRun, ...]:
        """The runs that have come to their end, by factor."""
        return tuple(sorted((run for run in self.runs if run.whole), key=lambda run: run.factor))

    @property
    def plain(self) -> ScaledRun | None:
        """The tied run as it is without scaling; None before it has come to its end."""
        return next((run for run in self.whole if run.factor == 1), None)

    @property
    def scaled(self) -> tuple[ScaledRun, ...]:
        """The others that have come to their end; there are none to compare before the plain one
        has."""
        known = self.plain is not None
        return tuple(run for run in self.whole if run.factor != 1 and known)

    def moved(self, run: ScaledRun) -> Vector:
        """(V,) by how much each token stands nearer the input than in the plain run, in [-4, 4];
        NaN for tokens that take no part."""
        assert self.plain is not None  # noqa: S101 - asked of `scaled` runs only
        return run.side - self.plain.side

    def change(self, run: ScaledRun, to: str) -> Change:
        """What the factor changes in the cosine to the "input" or "output"."""
        assert self.plain is not None  # noqa: S101 - asked of `scaled` runs only
        return _change(run.nearness[to].cosine - self.plain.nearness[to].cosine)

    def to_frame(self) -> "pd.DataFrame":
        """One row per factor, as the paper's tables 2 and 6 have them."""
        import pandas as pd

        return pd.DataFrame([_line(run) for run in self.whole])

    def token_frame(self) -> "pd.DataFrame":
        """One row per token: its cosines in every run, and how far it has moved."""
        import pandas as pd

        columns = token_columns(self.tokens, self.kinds, self.token_counts)
        for run in self.whole:
            for to in TO:
                columns[f"{to} {named(run.factor)}"] = run.nearness[to].cosine
        columns |= {f"moved {named(run.factor)}": self.moved(run) for run in self.scaled}
        return pd.DataFrame(columns)

    def facts(self) -> dict[str, Any]:
        """All that is not a number per factor: what every export carries."""
        return {
            "progress": self.progress or "whole",
            "runs": {named(run.factor): run.about for run in self.runs},
            "groups": self.groups,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }


def named(factor: float) -> str:
    """What a run is called by its factor: x5."""
    return f"x{factor:g}"


def _change(differences: Vector) -> Change:
    known = differences[np.isfinite(differences)]
    if not len(known):
        return Change(float("nan"), (float("nan"), float("nan")), 0)
    mean = float(known.mean())
    half = _NORMAL_95 * float(known.std(ddof=1)) / len(known) ** 0.5 if len(known) > 1 else np.inf
    return Change(mean, (mean - half, mean + half), len(known))


def _line(run: ScaledRun) -> dict[str, Any]:
    line: dict[str, Any] = {"factor": run.factor, "until": run.until, "held_loss": run.held_loss}
    for name in TO:
        near = run.nearness[name]
        line |= {
            name: near.mean,
            f"{name} low": near.interval[0],
            f"{name} high": near.interval[1],
            f"{name} held out": near.heldout,
            f"{name} held out low": (near.heldout_interval or (None, None))[0],
            f"{name} held out high": (near.heldout_interval or (None, None))[1],
            f"{name} chance": near.floor,
        }
    return line
