"""The gradient's two paths in tables: means over steps, and what the runs were."""

import math

import numpy as np

from embtie_widgets.charts.gradient_view import marks
from embtie_widgets.charts.gradient_words import asides, headline, windows
from embtie_widgets.panels.facts import facts_of
from embtie_widgets.panels.words import escape, number, table
from embtie_widgets.results.gradient import FlowRun, GradientFlow
from embtie_widgets.results.tying_published import GRADIENT_SHARES

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
    return "–" if run.tied is False else number(GRADIENT_SHARES.get((first, last)))


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
    about = {name: run.about for name, run in result.runs.items()}
    return facts_of(about, result.hashes, result.notes, "the runs")
