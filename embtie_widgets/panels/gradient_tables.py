"""The gradient's two paths in tables: means over steps, and what the runs were."""

import math
from typing import Any

import numpy as np

from embtie_widgets.charts.gradient_view import marks
from embtie_widgets.charts.gradient_words import PUBLISHED, asides, headline, windows
from embtie_widgets.panels.words import escape, number, table
from embtie_widgets.results.gradient import FlowRun, GradientFlow

_SHARES = {
    "output_share": "output's share",
    "norm_share": "share of lengths",
    "update_share": "share of Adam's step",
    "proxy_share": "paper's share",
}
_ABOUT = (
    "Shares are the output's: ½ where both paths write alike. The angle is between the two parts. "
    "The check is the largest difference, over the gradient's length, between the sum of the parts "
    "and the whole gradient at any logged step."
)
_PUBLISHED = (
    "OLMo-1B: the paper's share over the same steps in its released log, a model of 16 layers with "
    "batch 512 and warm-up 1,000; the share depends on both."
)


def top(result: GradientFlow) -> str:
    """The sentence of the panel, what lies beside it, and why a run is missing."""
    aside = asides(result)
    more = f'<p class="ep-aside">{escape(aside)}</p>' if aside else ""
    failed = "".join(
        f'<div class="ep-alert" role="note"><b>{escape(name)} is not drawn.</b> {escape(why)}</div>'
        for name, why in result.failed.items()
    )
    return f"<p>{escape(headline(result))}</p>{more}{failed}"


def numbers(result: GradientFlow) -> str:
    """One row per run and stretch of steps."""
    if not any(len(run.curves["step"]) for run in result.runs.values()):
        return "<p class='ep-quiet'>The numbers come with the first steps.</p>"
    shares = {name: words for name, words in _SHARES.items() if _known(result, name)}
    unit = "batches" if result.settings.get("source") == "text" else "steps"
    trained = unit == "steps" and "proxy_share" in shares
    head = ["", unit, *shares.values(), *(["OLMo-1B"] if trained else []), "angle", "check"]
    rows = [
        [
            _named(result, name),
            f"{first:,} to {last:,}" if last > first else f"{last:,}",
            *(number(_mean(run, curve, first, last)) for curve in shares),
            *([_published(run, first, last)] if trained else []),
            _angle(_mean(run, "cosine", first, last)),
            _check(run, first, last),
        ]
        for name, run in result.runs.items()
        for first, last in windows(run)
    ]
    said = [_ABOUT, *([_PUBLISHED] if trained else [])]
    return table(head, rows, "means over steps") + "".join(map(_quiet, said))


def _published(run: FlowRun, first: int, last: int) -> str:
    """Of the paper's model, which is tied."""
    return "–" if run.tied is False else number(PUBLISHED.get((first, last)))


def _known(result: GradientFlow, curve: str) -> bool:
    return any(run.knows(curve) for run in result.runs.values())


def _mean(run: FlowRun, curve: str, first: int, last: int) -> float | None:
    value = run.mean(curve, first, last)
    return None if math.isnan(value) else value


def _angle(cosine: float | None) -> str:
    if cosine is None:
        return "–"
    return f"{math.degrees(math.acos(min(max(cosine, -1), 1))):.1f}°"


def _check(run: FlowRun, first: int, last: int) -> str:
    """The worst of the steps; an untied run has two gradients and nothing to add up."""
    steps, worst = run.curves["step"], run.curve("check")
    inside = worst[(steps >= first) & (steps <= last) & np.isfinite(worst)]
    return f"{inside.max():.1g}" if len(inside) and run.tied is not False else "–"


def _quiet(text: str) -> str:
    return f"<p class='ep-quiet'>{escape(text)}</p>"


def _named(result: GradientFlow, name: str) -> str:
    """A run with its colour."""
    color = marks(result.runs)[name].color
    return f'<span class="ep-dot" style="background:{color}"></span>{escape(name)}'


def facts(result: GradientFlow) -> str:
    """The runs, hashes, and every note."""
    known = list(dict.fromkeys(key for run in result.runs.values() for key in _plain(run.about)))
    runs = table(
        ["", *(escape(name) for name in result.runs)],
        [
            [escape(key), *(_value(_plain(run.about).get(key)) for run in result.runs.values())]
            for key in known
        ],
        "the runs",
    )
    hashes = table(
        ["SHA-256", ""],
        [[escape(name), f"<code>{escape(value)}</code>"] for name, value in result.hashes.items()],
        "what it was made of, by hash",
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    listed = f'<h4>Notes</h4><ul class="ep-notes">{notes}</ul>' if notes else ""
    return f"{runs if known else ''}{hashes if result.hashes else ''}{listed}"


def _plain(about: dict[str, Any]) -> dict[str, Any]:
    """What of it is one value or a short list of them, by name; what is inside by both names."""
    found: dict[str, Any] = {}
    for name, value in about.items():
        if isinstance(value, dict):
            found |= {f"{name}, {key}": inner for key, inner in _plain(value).items()}
        elif isinstance(value, str | int | float):
            found[str(name)] = value
    return found


def _value(value: Any) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape(f"{value:,}" if isinstance(value, int) else value)
