"""SpamLang as a heat map: a cell for each run, most often width by number of symbols.

The first two of the settings that vary are columns and rows, all others make blocks.  A run that
has no number yet stands there with a sign and a word for its state.
"""

import math
import textwrap
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from embtie_widgets.charts.facets import suffix
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.state_cells import (
    WASHED,
    Stack,
    block_title,
    frame,
    run_in,
    state_words,
    wash_of,
)
from embtie_widgets.charts.trials_view import (
    LABELS,
    key_of,
    per_symbol,
    percent,
    sequences_of,
    values,
    varied,
    worded,
)
from embtie_widgets.results.trials import DONE, TrialRun, TrialsReport

MEASURES = {
    "accuracy": "right predictions, every symbol asked",
    "first_accuracy": "right at the first position",
    "later_accuracy": "right at the positions after it",
    "loss": "loss at the end, nats",
}
_ORDER = ("width", "symbols", "length", "extra", "lr", "tied", "seed")  # columns, rows, blocks
_GREEN, _STRONGEST = "20,150,110", 0.6
_ABOVE, _BELOW = 40, 60  # pixels
_BESIDE, _CELL = 190, 74
_Trace = dict[str, Any]


@dataclass(frozen=True)
class Block:
    """Runs by row and column, None where there is none; `across` and `down` name them."""

    title: str
    across: tuple[str, ...]
    down: tuple[str, ...]
    rows: tuple[tuple[TrialRun | None, ...], ...]

    def told(self, measure: str) -> list[TrialRun]:
        """The runs that have the number."""
        return [run for row in self.rows for run in row if run is not None and _has(run, measure)]


def blocks(result: TrialsReport | None) -> list[Block]:
    """All runs of SpamLang; none where there is only one."""
    runs = () if result is None or result.experiment != "spamlang" else result.trials
    across, down, rest = _axes(result)
    if len(runs) < 2 or not across:
        return []
    found = []
    for some in product(*(values(runs, name) for name in rest)):
        part = [run for run in runs if tuple(getattr(run, n) for n in rest) == some]
        if part:
            title = ", ".join(worded(n, v) for n, v in zip(rest, some, strict=True))
            found.append(_block(title, part, runs, across, down))
    return found


def _axes(result: TrialsReport | None) -> tuple[str, str, list[str]]:
    """What the columns, the rows and the blocks stand for; "" where nothing is left."""
    several = varied(() if result is None else result.trials)
    across, down, *rest = [*(name for name in _ORDER if name in several), "", ""]
    return across, down, [name for name in rest if name]


def _block(
    title: str, part: list[TrialRun], runs: tuple[TrialRun, ...], across: str, down: str
) -> Block:
    columns, lines = values(runs, across), values(runs, down) if down else [None]
    by_place = {(getattr(r, down) if down else None, getattr(r, across)): r for r in part}
    return Block(
        title=title,
        across=tuple(_short_name(across, value) for value in columns),
        down=tuple(worded(down, value) if down else "" for value in lines),
        rows=tuple(tuple(by_place.get((one, at)) for at in columns) for one in lines),
    )


def _short_name(name: str, value: Any) -> str:
    """A value below its column, whose name stands at the axis."""
    return worded(name, value) if name == "tied" else f"{value:,}"


def run_at(result: TrialsReport | None, trace: int, place: tuple[int, ...]) -> TrialRun | None:
    """The run in the cell that was clicked."""
    return run_in(blocks(result), trace, place)


def number_of(run: TrialRun, measure: str) -> float:
    """A number of a run's end; NaN where it is not known."""
    if measure in ("accuracy", "loss"):
        return float(getattr(run, measure))
    value = run.about.get(measure)
    return float(value) if isinstance(value, int | float) else math.nan


def measures_of(result: TrialsReport | None) -> list[tuple[str, str]]:
    """Words and name of each number that some run has at its end."""
    runs = () if result is None else result.trials
    return [
        (words, name)
        for name, words in MEASURES.items()
        if any(math.isfinite(number_of(run, name)) for run in runs)
    ]


def spec(result: TrialsReport | None, measure: str = "accuracy", chosen: str = "") -> _Trace:
    """The heat map in plotly's terms, and "least", the width that its words need; `chosen` is the
    key of a run that gets a frame.

    Traces 2 i and 2 i + 1 are the values and the states of block i.
    """
    found = blocks(result)
    told = [number_of(run, measure) for block in found for run in block.told(measure)]
    most = 1.0 if measure != "loss" else max(told, default=1.0) or 1.0
    traces = [
        trace
        for place, block in enumerate(found)
        for trace in (_values(block, place, measure, most), _states(block, place, measure))
    ]
    columns = len(found[0].across) if found else 0
    layout = _layout(result, found, measure, chosen)
    return {"data": traces, "layout": layout, "least": _BESIDE + _CELL * columns}


def _has(run: TrialRun | None, measure: str) -> bool:
    return run is not None and run.state == DONE and math.isfinite(number_of(run, measure))


def _values(block: Block, place: int, measure: str, most: float) -> _Trace:
    return _field(
        block,
        place,
        [[number_of(r, measure) if r and _has(r, measure) else math.nan for r in row]
         for row in block.rows],
    ) | {
        "zmin": 0.0,
        "zmax": most,
        "colorscale": [[0, f"rgba({_GREEN},0.03)"], [1, f"rgba({_GREEN},{_STRONGEST})"]],
        "showscale": False,
        "text": [
            [_number_words(r, measure) if r and _has(r, measure) else "" for r in row]
            for row in block.rows
        ],
    }  # fmt: skip


def _number_words(run: TrialRun, measure: str) -> str:
    value = number_of(run, measure)
    return f"{value:.3f}" if measure == "loss" else percent(value)


def _states(block: Block, place: int, measure: str) -> _Trace:
    """Where there is no number: why not."""
    bare = [[None if r is None or _has(r, measure) else r for r in row] for row in block.rows]
    z = [[math.nan if r is None else wash_of(r.state) for r in row] for row in bare]
    return _field(block, place, z) | {
        **WASHED,
        "text": [["" if r is None else state_words(r) for r in row] for row in bare],
    }


def _field(block: Block, place: int, z: list[list[float]]) -> _Trace:
    name = suffix(place)
    return {
        "type": "heatmap",
        "name": plain(block.title),
        "x": list(range(len(block.across))),
        "y": list(range(len(block.down))),
        "z": [np.asarray(row, "f4") for row in z],
        "xaxis": f"x{name}",
        "yaxis": f"y{name}",
        "xgap": 2,
        "ygap": 2,
        "texttemplate": "%{text}",
        "hovertext": [["" if r is None else hover(r) for r in row] for row in block.rows],
        "hoverinfo": "text",
        "hoverongaps": False,
    }


def hover(run: TrialRun) -> str:
    """What a cell says of its run."""
    named = [worded(n, getattr(run, n)) for n in ("symbols", "width", "length", "extra")]
    draws, each = sequences_of(run), per_symbol(run)
    ratio = ((run.symbols or 0) + (run.extra or 0)) / (run.width or 1)
    lines = [
        f"<b>{plain(', '.join(named))}</b>",
        f"V/d = {ratio:,.3g}, {worded('tied', run.tied)}, rate {run.lr:g}, seed {run.seed}",
        f"{run.state}, step {run.step:,} of {run.of:,}" if run.state != DONE else "",
        *textwrap.wrap(plain(run.reason[:240]), 60),
        f"{draws:,.0f} independent sequences, {each:,.3g} of each symbol"
        if math.isfinite(draws)
        else "",
        *(
            f"{words}: {_number_words(run, name)}"
            for name, words in MEASURES.items()
            if math.isfinite(number_of(run, name))
        ),
    ]
    return "<br>".join(line for line in lines if line)


# Axes.


def _layout(result: TrialsReport | None, found: list[Block], measure: str, chosen: str) -> _Trace:
    across = _axes(result)[0]
    stack = Stack(tuple(len(block.rows) for block in found) or (4,))
    layout: _Trace = {
        "uirevision": measure,
        "height": stack.inside + _ABOVE + _BELOW,
        "margin": {"l": 8, "r": 8, "t": _ABOVE, "b": 8},
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
        "annotations": [],
        "shapes": [],
    }
    base = {"showgrid": False, "zeroline": False, "fixedrange": True, "tickmode": "array"}
    for place, (block, domain) in enumerate(zip(found, stack.domains, strict=False)):
        name, low = suffix(place), place == len(found) - 1
        layout[f"xaxis{name}"] = base | {
            "anchor": f"y{name}",
            "range": [-0.5, len(block.across) - 0.5],
            "tickvals": list(range(len(block.across))),
            "ticktext": list(block.across),
            "tickangle": 0,
            "title": {"text": LABELS.get(across, "") if low else ""},
        }
        layout[f"yaxis{name}"] = base | {
            "anchor": f"x{name}",
            "domain": domain,
            "range": [len(block.down) - 0.5, -0.5],
            "tickvals": list(range(len(block.down))),
            "ticktext": list(block.down),
            "ticks": "outside" if len(block.down) > 1 else "",
        }
        layout["annotations"] += [block_title(block.title, domain[1])] if block.title else []
        layout["shapes"] += [
            frame(place, row, column)
            for row, runs in enumerate(block.rows)
            for column, run in enumerate(runs)
            if run is not None and key_of(run) == chosen
        ]
    return layout
