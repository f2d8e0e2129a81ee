"""A drift in tables: the sentence on top, every checkpoint with its numbers, and what was read."""

from typing import Any

import numpy as np

from embtie_widgets.charts import drift as chart
from embtie_widgets.charts.steps import distance, place
from embtie_widgets.charts.theme import ROLES
from embtie_widgets.panels.words import escape, table
from embtie_widgets.results.drift import Drift, DriftReport

_STATUS = {True: "tied", False: "untied", None: "not known"}
_ABOUT = (
    "Mean cosine over the rows that have a direction. ◆: byte for byte the same matrix at another "
    "checkpoint."
)


def top(result: DriftReport) -> str:
    """The sentence of the panel, what to beware of, and why a training is missing."""
    alerts = [
        f"<b>{escape(name)} is not drawn.</b> {escape(w)}" for name, w in result.failed.items()
    ]
    alerts += [f"◆ {escape(caution)}" for caution in chart.cautions(result)]
    said = "".join(f'<div class="ep-alert" role="note">{one}</div>' for one in alerts)
    return f"<p>{escape(chart.headline(result))}</p>{said}"


def numbers(result: DriftReport) -> str:
    """One row per training and checkpoint."""
    parts = [_of_one(result, name, drift) for name, drift in result.runs.items()]
    return f"{''.join(parts)}<p class='ep-quiet'>{escape(_ABOUT)}</p>"


def _of_one(result: DriftReport, name: str, drift: Drift) -> str:
    lines = chart.lines_of(name, drift)
    head = ["", "after the one before"]
    head += [
        f"{_dot(line.role)}{line.role}, to {w}" for line in lines for w in ("first", "one before")
    ]
    rows = [
        [
            ("◆ " if any(chart.is_shared(line, stop) for line in lines) else "") + _named(stop),
            escape(distance(stop.since_loaded)) or "–",
            *(
                chart.number(line.values(what)[i])
                for line in lines
                for what in ("to_first", "to_previous")
            ),
        ]
        for i, stop in enumerate(drift.stops)
    ]
    body = table(head, rows, f"checkpoints of {name}")
    return f'<h4>{escape(name)}</h4><div class="ep-tall">{body}</div>'


def _named(stop: Any) -> str:
    return escape(place(stop) or stop.name)


def _dot(role: str) -> str:
    mark = ROLES[role]
    return f'<span class="ep-dot" style="color:{mark.color}">{mark.glyph}</span> '


def facts(result: DriftReport) -> str:
    """What each training is, hashes, and every note."""
    names = list(result.runs)
    rows = [
        ["as stored", *(_STATUS[drift.tied] for drift in result.runs.values())],
        ["checkpoints", *(f"{len(drift.steps):,}" for drift in result.runs.values())],
        ["rows", *(_rows(drift) for drift in result.runs.values())],
        ["without direction somewhere", *(_left(drift) for drift in result.runs.values())],
    ]
    shown = table(["", *map(escape, names)], rows, "what was read") if names else ""
    listed = [[escape(what), f"<code>{escape(sha)}</code>"] for what, sha in result.hashes.items()]
    hashes = table(["SHA-256", ""], listed, "matrices by hash") if listed else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    told = f'<h4>Notes</h4><ul class="ep-notes">{notes}</ul>' if notes else ""
    return f'<div class="ep-facts">{shown}</div><div class="ep-tall">{hashes}</div>{told}'


def _rows(drift: Drift) -> str:
    rows = drift.settings.get("rows")
    return "–" if rows is None else f"{rows:,}"


def _left(drift: Drift) -> str:
    if not drift.left_out or np.all(np.array(list(drift.left_out.values())) == 0):
        return "none" if drift.left_out else "–"
    return ", ".join(f"{role} {many:,}" for role, many in drift.left_out.items())
