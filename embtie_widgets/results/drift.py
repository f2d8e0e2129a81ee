"""Results on how far embeddings have turned during training."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]
Tokens = tuple[bytes | None, ...]
CURVES = ("input_to_first", "output_to_first", "input_to_previous", "output_to_previous")


@storable
@dataclass(frozen=True)
class Drift:
    """Mean cosine of the rows of a matrix with themselves at other steps; nothing is centred.

    steps               (n,) optimiser steps, in order
    input_to_first      (n,) mean over tokens of the cosine with the first checkpoint: 1 at first
    output_to_first     the same of the output; for a tied matrix equal to the input
    input_to_previous   (n,) cosine with the checkpoint before; the first has 1
    output_to_previous
    since               (n,) steps between a checkpoint and the one before, 0 for the first
    same_bytes          pairs of different steps whose matrices are byte for byte the same, as
                        (role, step, other step)
    names               what the checkpoints are called; steps as text where they have no names
    tied                None where that is not known
    bands, by_band      as in `results.gradient.FlowRun`: each of CURVES to (n, bands)
    rows                each of CURVES to (V,): of the last checkpoint; NaN for a row without
                        direction; empty where rows are not known
    left_out            role to how many rows took no part, being zero or not finite somewhere
    """

    steps: Vector
    input_to_first: Vector
    output_to_first: Vector
    input_to_previous: Vector
    output_to_previous: Vector
    since: Vector
    same_bytes: tuple[tuple[str, int, int], ...] = ()
    names: tuple[str, ...] = ()
    tied: bool | None = None
    bands: tuple[str, ...] = ()
    by_band: dict[str, Vector] = field(default_factory=dict)
    rows: dict[str, Vector] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"Drift({len(self.steps)} checkpoints to step {int(self.steps[-1]):,}: input "
            f"{self.input_to_first[-1]:.3f}, output {self.output_to_first[-1]:.3f} to the first)"
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row per checkpoint."""
        import pandas as pd

        curves = {name: getattr(self, name) for name in ("since", *CURVES)}
        return pd.DataFrame({"step": self.steps, **curves})


@storable
@dataclass(frozen=True)
class DriftReport:
    """The drift of one or several trainings, by name, with what is known of their tokens.

    Fields are as in `results.gradient.GradientFlow`.
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

    def to_frame(self) -> "pd.DataFrame":
        """One row per training and checkpoint."""
        import pandas as pd

        frames = [
            drift.to_frame().assign(run=name).set_index("run").reset_index()
            for name, drift in self.runs.items()
        ]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def facts(self) -> dict[str, Any]:
        """All that is not a number per checkpoint: what every export carries."""
        return {
            "left_out": {name: drift.left_out for name, drift in self.runs.items()},
            "same_bytes": {name: drift.same_bytes for name, drift in self.runs.items()},
            "failed": self.failed,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }
