"""What is known of each token in a drift, as columns of scatter, table and card."""

from dataclasses import replace

import numpy as np

from embtie_widgets.charts.columns import EVERYWHERE, Column, Place, levels, row_columns
from embtie_widgets.results.drift import DriftReport

_ASIDE: tuple[Place, ...] = ("axis", "card")
_ROLES = {"input": "input", "output": "output"}
_WHAT = {"to_first": "the first checkpoint", "to_previous": "the checkpoint before"}


def has_rows(result: DriftReport | None) -> bool:
    """Whether there is a number for every token."""
    return result is not None and bool(result.tokens) and bool(_columns(result, "to_first"))


def columns(result: DriftReport) -> list[Column]:
    """Of each matrix the cosine of a token's row with itself at the first checkpoint and at the one
    before, as the last checkpoint has it; then frequency and row."""
    first, before = (_columns(result, what) for what in _WHAT)
    return [*first, *row_columns(result), *(replace(one, places=_ASIDE) for one in before)]


def _columns(result: DriftReport, what: str) -> list[Column]:
    found = []
    for label, (name, role) in result.labels.items():
        values, drift = result.values(label, what), result.runs[name]
        if values is None or len(values) != len(result.tokens) or not np.isfinite(values).any():
            continue
        chance = drift.chance.get(f"{role}_{what}", np.array([np.nan]))[-1]
        found.append(
            Column(
                f"{what.removeprefix('to_')} {label}",
                f"cosine of {label} with {_WHAT[what]}",
                "tied" if drift.tied else _ROLES[role],
                values,
                lines=levels(float(np.nanmean(values)), chance if np.isfinite(chance) else None),
                head=f"{label}, to {what.removeprefix('to_')}",
                tooltip=f"cosine of the token's row in {name} with itself at {_WHAT[what]}",
                places=EVERYWHERE,
            )
        )
    return found
