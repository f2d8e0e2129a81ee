"""A sweep as a heat map: a line for each method, a column for each learning rate, a cell for each
run.

The colour and the number of a cell are those of the chosen quantity; a run that has none stands
there with a sign and a word for its state.
"""

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from embtie_widgets.charts.centering_scale import LOSSES, Scale, scale_of
from embtie_widgets.charts.centering_view import (
    HELD_LOSS,
    QUANTITIES,
    at_step,
    called,
    key_of,
    measured,
    method_words,
    number_of,
    rate,
)
from embtie_widgets.charts.facets import suffix
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.state_cells import (
    RED,
    WASHED,
    Stack,
    block_title,
    frame,
    run_in,
    state_words,
    wash_of,
)
from embtie_widgets.results.centering import (
    DIVERGED,
    DONE,
    RUNNING,
    CenteringReport,
    CenteringRun,
)

_ABOVE, _BELOW = 40, 60  # pixels
_BESIDE, _CELL = 180, 66  # pixels of names and scale, and of a cell with a word in it
_STRONGEST = 0.62  # of a cell's colour, so that words on it can be read
_NUMBERS = ("logit_mean", "logit_max", "logit_std", "mu_output", "common_fraction", "bound_ratio")
_Trace = dict[str, Any]


@dataclass(frozen=True)
class Block:
    """The lines of one size and tying: their names, and in each the run at every rate, or None."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[CenteringRun | None, ...], ...]

    @property
    def runs(self) -> list[CenteringRun]:
        """Every run in it."""
        return [run for row in self.rows for run in row if run is not None]


def blocks(result: CenteringReport | None) -> list[Block]:
    """All runs of a result, one block for each size and tying."""
    runs = () if result is None else result.runs
    order = list(dict.fromkeys((run.size, run.tied) for run in runs))
    return [
        _block(result, size, tied, [run for run in runs if (run.size, run.tied) == (size, tied)])
        for size, tied in order
        if result is not None
    ]


def _block(
    result: CenteringReport, size: str, tied: bool | None, runs: list[CenteringRun]
) -> Block:
    rates = result.rates
    lines = list(_lines(runs))
    words = {True: "tied", False: "untied", None: ""}[tied]
    seeds = len({run.seed for run in runs}) > 1
    return Block(
        title=", ".join(part for part in (size, words) if part),
        names=tuple(_name(next(iter(line.values())), runs, seeds) for line in lines),
        rows=tuple(tuple(line.get(lr) for lr in rates) for line in lines),
    )


def _lines(runs: list[CenteringRun]) -> Iterator[dict[float, CenteringRun]]:
    """Runs by rate, the seeds of a method one below the other; two that are told apart by nothing
    stand in lines of their own."""
    order = list(dict.fromkeys((run.method, run.coefficient) for run in runs))
    seeds = list(dict.fromkeys(run.seed for run in runs))
    ranked = sorted(
        runs, key=lambda r: (order.index((r.method, r.coefficient)), seeds.index(r.seed))
    )
    for _, group in groupby(ranked, key=lambda run: run.group):
        lines: list[dict[float, CenteringRun]] = []
        for run in group:
            free = next((line for line in lines if run.lr not in line), None)
            if free is None:
                lines.append(free := {})
            free[run.lr] = run
        yield from lines


def _name(run: CenteringRun, among: list[CenteringRun], seeds: bool) -> str:
    seed = f", seed {run.seed}" if seeds and run.seed is not None else ""
    return plain(f"{called(run, among)}{seed}")


def run_at(
    result: CenteringReport | None, trace: int, place: tuple[int, ...]
) -> CenteringRun | None:
    """The run in the cell that was clicked."""
    return run_in(blocks(result), trace, place)


def spec(
    result: CenteringReport | None, measure: str = HELD_LOSS, chosen: str = ""
) -> dict[str, Any]:
    """The heat map in plotly's terms, and "least", the width that its words need; `chosen` is the
    key of a run that gets a frame.

    Traces 2 i and 2 i + 1 are the values and the states of block i.
    """
    measure, found = measured(result, measure), blocks(result)
    told = [run for block in found for run in block.runs if _has(run, measure)]
    scale = scale_of([(run, number_of(run, measure)) for run in told], measure)
    traces = [
        trace
        for place, block in enumerate(found)
        for trace in (_values(block, place, measure, scale), _states(block, place, measure))
    ]
    if found:
        traces[0]["colorbar"] = _bar(scale, measure, _stack(found).domains[0])
    columns = 0 if result is None else len(result.rates)
    layout = _layout(result, found, measure, chosen)
    return {"data": traces, "layout": layout, "least": _BESIDE + _CELL * columns}


# Cells.


def _has(run: CenteringRun | None, measure: str) -> bool:
    return run is not None and run.state == DONE and math.isfinite(number_of(run, measure))


def _values(block: Block, place: int, measure: str, scale: Scale) -> _Trace:
    z = [
        [scale.of(run, measure) if run and _has(run, measure) else math.nan for run in row]
        for row in block.rows
    ]
    return _field(block, place, z) | {
        "zmin": scale.lowest,
        "zmax": scale.highest,
        "colorscale": [[0, f"rgba({RED},0.02)"], [1, f"rgba({RED},{_STRONGEST})"]],
        "text": [_row_words(row, measure) for row in block.rows],
        "showscale": place == 0,
    }


def _row_words(row: tuple[CenteringRun | None, ...], measure: str) -> list[str]:
    """The numbers of a line; of losses the best in bold."""
    known = [number_of(run, measure) for run in row if run and _has(run, measure)]
    best = min(known) if measure in LOSSES and len(known) > 1 else None
    return [
        _bold(_short(number_of(run, measure), measure), number_of(run, measure) == best)
        if run and _has(run, measure)
        else ""
        for run in row
    ]


def _bold(words: str, strong: bool) -> str:
    return f"<b>{words}</b>" if strong else words


def _short(value: float, measure: str) -> str:
    if measure in LOSSES:
        return f"{value:.3f}"
    value += 0.0  # no zero has a sign
    return (f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}").replace("-", "−")


def _states(block: Block, place: int, measure: str) -> _Trace:
    """Where there is no number: why not."""
    z = [
        [math.nan if run is None or _has(run, measure) else wash_of(run.state) for run in row]
        for row in block.rows
    ]
    return _field(block, place, z) | {
        **WASHED,
        "text": [
            ["" if run is None or _has(run, measure) else state_words(run) for run in row]
            for row in block.rows
        ],
    }


def _field(block: Block, place: int, z: list[list[float]]) -> _Trace:
    name = suffix(place)
    return {
        "type": "heatmap",
        "name": plain(block.title),
        "x": list(range(len(z[0]) if z else 0)),
        "y": list(range(len(z))),
        "z": [np.asarray(row, "f4") for row in z],
        "xaxis": f"x{name}",
        "yaxis": f"y{name}",
        "xgap": 2,
        "ygap": 2,
        "texttemplate": "%{text}",
        "hovertext": [[_hover(run) for run in row] for row in block.rows],
        "hoverinfo": "text",
        "hoverongaps": False,
    }


def _hover(run: CenteringRun | None) -> str:
    if run is None:
        return ""
    state = run.state + (at_step(run) if run.state in (DIVERGED, RUNNING) else "")
    loss = f", loss {run.loss:.4f}" if math.isfinite(run.loss) else ""
    lines = [
        f"<b>{plain(_line_words(run))}</b>, learning rate {rate(run.lr)}",
        f"{state}{loss}",
        *textwrap.wrap(plain(run.reason[:240]), 60),
        *(
            f"{QUANTITIES[name].label} {f'{run.numbers[name]:.4g}'.replace('-', '−')}"
            for name in _NUMBERS
            if math.isfinite(run.numbers.get(name, math.nan))
        ),
    ]
    return "<br>".join(lines)


def _line_words(run: CenteringRun) -> str:
    """Its method, coefficient and tying, as everywhere on the page."""
    weight = "" if run.coefficient is None else f" {rate(run.coefficient)}"
    tied = {True: ", tied", False: ", untied", None: ""}[run.tied]
    return f"{method_words(run.method)}{weight}{tied}"


def _bar(scale: Scale, measure: str, domain: list[float]) -> _Trace:
    """The scale of the colours, beside the first block."""
    return {
        "len": domain[1] - domain[0],
        "y": domain[0],
        "yanchor": "bottom",
        "ypad": 0,
        "thickness": 8,
        "outlinewidth": 0,
        "tickvals": [at for at, _ in scale.ticks],
        "ticktext": [words for _, words in scale.ticks],
        "xpad": 6,
        "title": {
            "text": "nats" if measure in LOSSES else "",
            "side": "top",
            "font": {"size": 12},
        },
        "tickfont": {"size": 11},
    }


# Axes.


def _layout(
    result: CenteringReport | None, found: list[Block], measure: str, chosen: str
) -> _Trace:
    layout: _Trace = {
        "uirevision": measure,
        "height": _stack(found).inside + _ABOVE + _BELOW,
        "margin": {"l": 8, "r": 8, "t": _ABOVE, "b": 8},
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
        "annotations": [],
        "shapes": [],
    }
    for place, domain in enumerate(_stack(found).domains):
        layout |= _axes(result, found, place, domain)
        layout["annotations"] += _title(found, place, domain[1])
        layout["shapes"] += _frame(found, place, chosen)
    return layout


def _stack(found: list[Block]) -> Stack:
    """The places of the blocks."""
    return Stack(tuple(len(block.rows) for block in found) or (4,))


def _axes(
    result: CenteringReport | None, found: list[Block], place: int, domain: list[float]
) -> _Trace:
    rates = () if result is None else result.rates
    names = found[place].names if found else ()
    name, low = suffix(place), place == max(len(found) - 1, 0)
    base = {"showgrid": False, "zeroline": False, "fixedrange": True, "tickmode": "array"}
    return {
        f"xaxis{name}": base
        | {
            "anchor": f"y{name}",
            "range": [-0.5, max(len(rates), 1) - 0.5],
            "tickvals": list(range(len(rates))),
            "ticktext": [rate(lr) for lr in rates],
            "tickangle": 0,
            "title": {"text": "learning rate" if low else ""},
        },
        f"yaxis{name}": base
        | {
            "anchor": f"x{name}",
            "domain": domain,
            "range": [max(len(names), 1) - 0.5, -0.5],
            "tickvals": list(range(len(names))),
            "ticktext": list(names),
        },
    }


def _title(found: list[Block], place: int, y: float) -> list[_Trace]:
    if not found or not found[place].title:
        return []
    return [block_title(found[place].title, y)]


def _frame(found: list[Block], place: int, chosen: str) -> list[_Trace]:
    """Round the cell of the run that is chosen."""
    rows = found[place].rows if found else ()
    return [
        frame(place, row, column)
        for row, runs in enumerate(rows)
        for column, run in enumerate(runs)
        if run is not None and key_of(run) == chosen
    ]
