"""What is known of each token's row in a gradient flow, as columns of scatter, table and card."""

from typing import Any

import numpy as np

from embtie_widgets.charts.columns import EVERYWHERE, Column, Place, row_columns
from embtie_widgets.results.gradient import FlowRun, GradientFlow, Vector

_ASIDE: tuple[Place, ...] = ("axis", "card")
_HALF = ((0.5, "½, both paths alike", "dash"),)


def has_rows(result: GradientFlow | None) -> bool:
    """Whether there is a number for every token."""
    return result is not None and bool(result.tokens) and bool(_known(result))


def same_rows(before: GradientFlow | None, after: GradientFlow) -> bool:
    """Whether the numbers of all tokens are the same in both, as they are while another run is in
    training."""
    if before is None or before.tokens != after.tokens:
        return False
    old, new = _known(before), _known(after)
    return list(old) == list(new) and all(
        np.array_equal(old[name].rows[value], numbers, equal_nan=True)
        for name, run in new.items()
        for value, numbers in run.rows.items()
        if value in old[name].rows
    )


def columns(result: GradientFlow) -> list[Column]:
    """Of each run the output's share of a token's row and the length of both parts, and how often
    the token was there; then frequency and row."""
    runs = _known(result)
    shares = [column for name, run in runs.items() for column in _shares(name, run)]
    lengths = [
        column
        for place, (name, run) in enumerate(runs.items())
        for column in _lengths(name, run, EVERYWHERE if place == 0 else _ASIDE)
    ]
    return [*shares, *row_columns(result), *lengths]


def _known(result: GradientFlow) -> dict[str, FlowRun]:
    many = len(result.tokens)
    return {
        name: run
        for name, run in result.runs.items()
        if len(run.rows.get("norm_share", ())) == many
    }


def _shares(name: str, run: FlowRun) -> list[Column]:
    role = "tied" if run.tied is not False else "neutral"
    tip = "|G_out| / (|G_in| + |G_out|) of the token's row"
    return [
        Column(
            f"share {name}",
            f"output's share of the lengths, {name}",
            role,
            run.rows["norm_share"],
            lines=_HALF,
            head=f"share, {name}",
            tooltip=tip,
            places=EVERYWHERE,
        ),
        Column(
            f"explained {name}",
            f"output's share of the row's gradient, {name}",
            role,
            run.rows.get("output_share", np.full(len(run.rows["norm_share"]), np.nan)),
            lines=_HALF,
            places=_ASIDE,
        ),
    ]


def _lengths(name: str, run: FlowRun, places: tuple[Place, ...]) -> list[Column]:
    found = [
        _length(name, run.rows[role], role, places)
        for role in ("input", "output")
        if role in run.rows
    ]
    times = run.rows.get("times")
    return [*found, *([] if times is None else [_times(name, times)])]


def _length(name: str, lengths: Vector, role: str, places: tuple[Place, ...]) -> Column:
    """As a logarithm: lengths of rows go over many powers of ten; of nothing there is none."""
    known = np.asarray(lengths, float)
    logs: Any = np.full(len(known), np.nan)
    np.log10(known, out=logs, where=known > 0)
    label = f"log10 length by the {role}, {name}"
    return Column(
        f"{role} {name}",
        label,
        role,
        logs,
        head=f"{role}, {name}",
        tooltip=label,
        format=".2f",
        places=places,
    )


def _times(name: str, times: Vector) -> Column:
    return Column(
        f"times {name}",
        f"logged batches with it, {name}",
        "neutral",
        np.asarray(times),
        kind="integer",
        places=("card",),
    )
