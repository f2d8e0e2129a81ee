"""Results on how far embeddings have turned during training."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.checkpoints import Checkpoint, Distance
from embtie_widgets.results.storage import storable
from embtie_widgets.results.tables import runs_below_each_other, token_columns

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]
Tokens = tuple[bytes | None, ...]
CURVES = ("input_to_first", "output_to_first", "input_to_previous", "output_to_previous")


@storable
@dataclass(frozen=True)
class Drift:
    """Mean cosine of the rows of a matrix with themselves at other steps; nothing is centred.

    steps               (n,) optimiser steps, in order; NaN for a checkpoint whose name gives none
    input_to_first      (n,) mean over tokens of the cosine with the first checkpoint: 1 at first
    output_to_first     the same of the output; for a tied matrix equal to the input
    input_to_previous   (n,) cosine with the checkpoint before; the first has 1
    output_to_previous
    since               (n,) steps between a checkpoint and the one before, 0 for the first; NaN
                        where that is not known, as from one stage of a training to the next
    same_bytes          pairs of different checkpoints whose matrices are byte for byte the same, as
                        (role, step, other step); the role of a shared matrix is "tied"
    names               what the checkpoints are called; empty where they have no names
    tied                None where that is not known
    bands, by_band      as in `results.gradient.FlowRun`: each of CURVES to (n, bands)
    rows                each of CURVES to (V,): of the last checkpoint; NaN for a row without
                        direction; empty where rows are not known
    chance              each of CURVES to (n,): the mean cosine of a row with all the other rows of
                        the checkpoint that it is compared with; empty where that is not known
    left_out            role to how many rows are missing in a mean, being zero or not finite
    checkpoints         what is known of each beside its step, where they have names: stage, tokens
    """

    steps: Vector
    input_to_first: Vector
    output_to_first: Vector
    input_to_previous: Vector
    output_to_previous: Vector
    since: Vector
    same_bytes: tuple[tuple[str, int | None, int | None], ...] = ()
    names: tuple[str, ...] = ()
    tied: bool | None = None
    bands: tuple[str, ...] = ()
    by_band: dict[str, Vector] = field(default_factory=dict)
    rows: dict[str, Vector] = field(default_factory=dict)
    chance: dict[str, Vector] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    checkpoints: tuple[Checkpoint, ...] = ()
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"Drift({len(self.steps)} checkpoints to {self.stops[-1].name}: input "
            f"{self.input_to_first[-1]:.3f}, output {self.output_to_first[-1]:.3f} to the first)"
        )

    @property
    def stops(self) -> tuple[Checkpoint, ...]:
        """What is known of each checkpoint: where it stands, and how far after the one before."""
        if len(self.checkpoints) == len(self.steps):
            return self.checkpoints
        named = [f"step {int(step):,}" for step in self.steps]
        far = [None, *map(int, self.since[1:])]
        return tuple(
            Checkpoint(name, step=int(step), since_loaded=_after(before, distance))
            for name, step, before, distance in zip(
                named, self.steps, ["", *named], far, strict=False
            )
        )

    def turn(self, role: str) -> Vector:
        """(n,) how fast rows turned since the checkpoint before, in degrees per step: the angle
        whose cosine the mean is, over the distance.  NaN for the first, and without a distance."""
        angle = np.degrees(np.arccos(np.clip(getattr(self, f"{role}_to_previous"), -1, 1)))
        far = np.asarray(self.since, float)
        return np.asarray(angle / np.where(far > 0, far, np.nan))

    def knows(self, role: str) -> bool:
        """Whether there is a number for the matrix."""
        curves = (getattr(self, f"{role}_to_{what}") for what in ("first", "previous"))
        return any(bool(np.isfinite(curve).any()) for curve in curves)

    @property
    def uneven(self) -> bool:
        """Whether changes from checkpoint to checkpoint are over unlike or unknown distances."""
        return len(set(np.asarray(self.since[1:], float).tolist())) > 1

    def to_frame(self) -> "pd.DataFrame":
        """One row per checkpoint."""
        import pandas as pd

        curves = {name: getattr(self, name) for name in ("since", *CURVES)}
        names = [one.name for one in self.stops]
        return pd.DataFrame({"checkpoint": names, "step": self.steps, **curves})


def _after(before: str, steps: int | None) -> Distance | None:
    return None if steps is None else Distance(before, steps, None)


@storable
@dataclass(frozen=True)
class DriftReport:
    """The drift of one or several trainings, by name, with what is known of their tokens.

    Fields are as in `results.gradient.GradientFlow`; `groups` says what each kind of token and each
    band of counts has for its mean cosine with the first checkpoint, at the last.
    """

    runs: dict[str, Drift]
    tokens: Tokens
    token_counts: Vector | None
    kinds: Vector | None
    failed: dict[str, str]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str]
    progress: str = ""
    groups: tuple[dict[str, Any], ...] = ()

    def __repr__(self) -> str:
        lines = [f"  {name}: {drift!r}" for name, drift in self.runs.items()]
        lines += [f"  {name}: {why}" for name, why in self.failed.items()]
        return "\n".join([f"DriftReport({len(lines)} trainings)", *lines])

    def to_frame(self) -> "pd.DataFrame":
        """One row per training and checkpoint."""
        return runs_below_each_other({n: drift.to_frame() for n, drift in self.runs.items()})

    @property
    def labels(self) -> dict[str, tuple[str, str]]:
        """What each matrix that has numbers is called, to its training and its side there: "In",
        "Out" and "Tied", with the training before it where two would be called alike."""
        found: dict[str, tuple[str, str]] = {}
        for name, drift in self.runs.items():
            for role in ("input", "output"):
                if (drift.tied and role == "output") or not drift.knows(role):
                    continue
                called = "Tied" if drift.tied else {"input": "In", "output": "Out"}[role]
                found[called if called not in found else f"{name}: {called}"] = (name, role)
        return found

    def values(self, label: str, what: str) -> Vector | None:
        """(V,) the cosines of a matrix's rows "to_first" or "to_previous"; None where rows are not
        known."""
        name, role = self.labels[label]
        return self.runs[name].rows.get(f"{role}_{what}")

    def token_frame(self) -> "pd.DataFrame":
        """One row per token: its cosines at the last checkpoint of each training."""
        import pandas as pd

        columns = token_columns(self.tokens, self.kinds, self.token_counts)
        for label in self.labels:
            found = {what: self.values(label, what) for what in ("to_first", "to_previous")}
            columns |= {f"{label} {what}": v for what, v in found.items() if v is not None}
        return pd.DataFrame(columns)

    def facts(self) -> dict[str, Any]:
        """All that is not a number per checkpoint: what every export carries."""
        return {
            "progress": self.progress or "whole",
            "groups": self.groups,
            "left_out": {name: drift.left_out for name, drift in self.runs.items()},
            "same_bytes": {name: drift.same_bytes for name, drift in self.runs.items()},
            "failed": self.failed,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }
