"""A staircase in tables: the sentence on top, pairs of anchors, every run, and what was read."""

from typing import Any

import numpy as np

from embtie_widgets.charts import staircase as chart
from embtie_widgets.charts.staircase_pairs import Pair
from embtie_widgets.panels.facts import facts_of
from embtie_widgets.panels.words import escape, table
from embtie_widgets.results.staircase import SignatureTrack, StaircaseReport, StaircaseRun

_FEW = 5
_ABOUT_PAIRS = (
    "Cosines of a pair's rows and of its signatures. ↑ raises the Pearson correlation of this step "
    "most and ↓ lowers it; the parts of all pairs add up to it. Click a cell of a map to look at "
    "its pair, a cell of the diagonal or a point to light an anchor up."
)
_COLUMNS = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "fit": "1 − MSE",
    "held_out": "held out",
    "in_sample": "in-sample",
    "beyond": "beyond",
    "floor": "chance",
}
_MEANINGS = {
    "fit": "1 − MSE: 1 less the mean squared difference of the cosines",
    "held_out": "held out: over pairs that the probe was not fitted on",
    "in_sample": "in-sample: over those it was fitted on",
    "beyond": "beyond: held out, by a probe orthogonal to ones, so without the order below",
    "floor": "chance: with shuffled anchors",
}


def top(result: StaircaseReport) -> str:
    """The sentence of the panel, what to beware of, and why a run is missing."""
    alerts = [
        f"<b>{escape(name)} is not drawn.</b> {escape(w)}" for name, w in result.failed.items()
    ]
    said = "".join(f'<div class="ep-alert" role="note">{one}</div>' for one in alerts)
    asides = "".join(f'<p class="ep-aside">{escape(one)}</p>' for one in chart.cautions(result))
    return f"<p>{escape(chart.headline(result))}</p>{said}{asides}"


def pairs(result: StaircaseReport, shown: chart.Look, view: chart.View) -> str:
    """The chosen pair, and those that raise and lower the correlation most at this step."""
    parts = [_of_track(result, shown, track, view) for track in shown.tracks]
    side = "".join(f"<div>{part}</div>" for part in parts)
    return f'<div class="ep-reads">{side}</div><p class="ep-quiet">{escape(_ABOUT_PAIRS)}</p>'


def _of_track(
    result: StaircaseReport, shown: chart.Look, track: SignatureTrack, view: chart.View
) -> str:
    names = shown.matrix.rows or result.anchors
    chosen = chart.pair_of(shown, track, view.pair)
    up, down = chart.driving(shown, track, _FEW)
    rows = [_row(names, one, "◎ ") for one in [chosen] if one is not None]
    rows += [_row(names, one, "↑ ") for one in up] + [_row(names, one, "↓ ") for one in down]
    title = f"<h4>{escape(chart.signature_words(track.signature))}</h4>"
    if track.constant:
        return f"{title}<p>All pairs are alike: none of them can drive a correlation.</p>"
    head = ["pair", "rows", "signatures", "part"]
    return title + table(head, rows, f"pairs against {escape(track.signature)}")


def _row(names: tuple[str, ...], one: Pair, sign: str) -> list[str]:
    first, second = (escape(names[place]) for place in one.anchors)
    numbers = [chart.number(value) for value in (one.embedding, one.signature)]
    return [f"{sign}{first} · {second}", *numbers, chart.number(one.part, 4)]


def numbers(result: StaircaseReport) -> str:
    """Every measure of every track at its last step."""
    parts = [_of_run(result, name, run) for name, run in result.runs.items() if len(run.steps)]
    measures = {m for run in result.runs.values() for m in _known(run)}
    meant = "; ".join(words for measure, words in _MEANINGS.items() if measure in measures)
    told = f'<p class="ep-quiet">Over pairs of anchors. {escape(meant)}.</p>' if meant else ""
    return "".join([*parts, told])


def _known(run: StaircaseRun) -> list[str]:
    """The measures that this run has any value of."""
    return [
        measure
        for measure in _COLUMNS
        if any(np.isfinite(chart.values_of(track, measure)).any() for track in run.tracks)
    ]


def _of_run(result: StaircaseReport, name: str, run: StaircaseRun) -> str:
    known = _known(run)
    head = ["", *(_COLUMNS[measure] for measure in known)]
    rows = [
        [
            f"{escape(chart.matrix_words(track.matrix))} and "
            f"{escape(chart.signature_words(track.signature))}",
            *(_last(chart.values_of(track, measure)) for measure in known),
        ]
        for track in run.tracks
    ]
    step = escape(chart.called_step(result, run, len(run.steps) - 1))
    body = table(head, rows, f"{escape(name)} at its last step")
    return f"<h4>{escape(name)}, {step}</h4>{body}"


def _last(values: Any) -> str:
    return chart.number(values[-1], 3) if len(values) else "–"


def facts(result: StaircaseReport) -> str:
    """Task or text, then each run, hashes, and every note."""
    what = "text" if chart.is_text(result) else "task"
    about = {name: run.about for name, run in result.runs.items()}
    told = facts_of({what: result.task}, {}, (), what) if result.task else ""
    return told + facts_of(about, result.hashes, result.notes, "what was trained")
