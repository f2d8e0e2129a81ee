"""Turning up the input in tables: every factor, and what the paper has published."""

from typing import Any

from embtie_widgets.charts import scaling as chart
from embtie_widgets.charts.theme import ROLES
from embtie_widgets.panels.words import escape, interval, number, table
from embtie_widgets.results.scaling import TO, Nearness, ScaledRun, ScalingReport
from embtie_widgets.results.tying_published import SCALING

_KINDS = ("in-sample", "held out", "chance")


def headline(result: ScalingReport) -> str:
    """The sentence of the panel, and what to beware of."""
    beware = "".join(
        f'<div class="ep-alert" role="note"><b>Beware.</b> {escape(said)}</div>'
        for said in chart.cautions(result)
    )
    return f"<p>{escape(chart.headline(result))}</p>{beware}"


def numbers(result: ScalingReport) -> str:
    """One row per factor: both cosines with hold-out and chance, and the loss."""
    head = ["", *(f"{_dot(to)}{to}, {what}" for to in TO for what in _KINDS), "loss held out"]
    rows = [_row(result, run) for run in result.whole]
    return table(head, rows, "alignment by factor") + _about(result)


def _dot(to: str) -> str:
    return f'<span class="ep-dot" style="background:{ROLES[to].color}"></span>'


def _row(result: ScalingReport, run: ScaledRun) -> list[str]:
    cells = [cell for to in TO for cell in _cells(run.nearness[to])]
    return [escape(_title(result, run)), *cells, number(run.held_loss)]


def _title(result: ScalingReport, run: ScaledRun) -> str:
    return "no scaling" if run.factor == 1 else f"input {chart.title(result, run)}"


def _cells(near: Nearness) -> list[str]:
    return [
        number(near.mean),
        f"{number(near.heldout)} <small>{interval(near.heldout_interval)}</small>",
        number(near.floor),
    ]


def _about(result: ScalingReport) -> str:
    untied = result.untied.get("held_loss")
    other = f" The untied model reaches {number(untied)}." if untied is not None else ""
    said = (
        "Mean cosine of a tied row, after the map, with the row of the same token in the untied "
        "model; in brackets 95 % over tokens. Loss in nats per token, on text that no model has "
        f"read.{other}"
    )
    return f"<p class='ep-quiet'>{escape(said)}</p>"


def published() -> str:
    """Tables 2 and 6 of the paper, and how far they can be compared."""
    rows = [
        [
            "no scaling" if one.factor == 1 else f"input {chart.times(one.factor)}",
            one.steps,
            number(one.input),
            number(one.output),
        ]
        for one in SCALING
    ]
    head = ["", "steps", f"{_dot('input')}to the input", f"{_dot('output')}to the output"]
    shown = table(head, rows, "published numbers")
    return f"{shown}<p class='ep-quiet'>{escape(chart.ON_PUBLISHED)}</p>"


def facts(result: ScalingReport) -> str:
    """What was trained on what, hashes, and every note."""
    rows = [[what, escape(value)] for what, value in _known(result).items() if value]
    shown = f'<div class="ep-facts">{table(["", ""], rows, "what was trained")}</div>'
    hashes = table(
        ["SHA-256", ""],
        [[escape(name), f"<code>{escape(sha)}</code>"] for name, sha in result.hashes.items()],
        "text and matrices by hash",
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    listed = f'<h4>Notes</h4><ul class="ep-notes">{notes}</ul>' if notes else ""
    return f"{shown}{hashes}{listed}"


def _known(result: ScalingReport) -> dict[str, Any]:
    settings = result.settings
    size = (
        f"{settings['rows']:,} × {settings['width']:,}"
        if {"rows", "width"} <= set(settings)
        else ""
    )
    devices = dict.fromkeys(str(run.about.get("device") or "") for run in result.runs)
    steps = {f"{chart.times(run.factor)}": run.about.get("done") for run in result.runs}
    return {
        "architecture": settings.get("preset", ""),
        "V × d": size,
        "steps": ", ".join(f"{name}: {done:,}" for name, done in steps.items() if done),
        "trained on": ", ".join(name for name in devices if name),
        "from the cache": "yes" if settings.get("cached") else "no",
    }
