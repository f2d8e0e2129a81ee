"""The gradient bottleneck in tables: the sentence on top, the numbers, and what was measured."""

from typing import Any

from embtie_widgets.charts import bottleneck as chart
from embtie_widgets.charts.bottleneck_view import Ratio
from embtie_widgets.panels.facts import facts_of
from embtie_widgets.panels.words import escape, number, table
from embtie_widgets.results.bottleneck import Bottleneck, BottleneckReport

_HEAD = ("r", "line", "r − line", "c", "energy c²", "d / V", "random", "d", "V", "rank", "check")
_ABOUT = (
    "r is what is not transmitted of the gradient's length, c = √(1 − r²) the visible cosine, the "
    "line √(1 − d / V)."
)
_OF_MODELS = (
    " Random is r of a Gaussian gradient of the same size. Check is the largest difference from an "
    "explicit projection, relative."
)
_STATUS = {True: "tied", False: "untied", None: "not known"}


def top(result: BottleneckReport) -> str:
    """The sentence of the panel, what lies beside it, and why a model is missing."""
    asides = "".join(f'<p class="ep-aside">{escape(text)}</p>' for text in chart.asides(result))
    failed = "".join(
        f'<div class="ep-alert" role="note"><b>{escape(name)} is not drawn.</b> {escape(why)}</div>'
        for name, why in result.failed.items()
    )
    return f"<p>{escape(chart.headline(result))}</p>{asides}{failed}"


def numbers(result: BottleneckReport) -> str:
    """One row per model or run."""
    models = {name: one.bottleneck for name, one in result.models.items()}
    rows = [
        [_named(result, name), *_ratio(one), *_sizes(models.get(name))]
        for name, one in chart.ratios(result).items()
    ]
    if not rows:
        return "<p class='ep-quiet'>The numbers come with the first steps.</p>"
    head = _HEAD if models else _HEAD[:6]
    shown = [row[: len(head) + 1] for row in rows]
    about = f"<p class='ep-quiet'>{escape(_ABOUT + (_OF_MODELS if models else ''))}</p>"
    return table(["", *head], shown, "what is not transmitted, in numbers") + about


def _ratio(one: Ratio) -> list[str]:
    cosine = max(1 - one.destroyed**2, 0) ** 0.5
    gap = one.destroyed - one.line
    values = (one.destroyed, one.line, gap, cosine, cosine**2, one.share)
    return [number(value, 4) for value in values]


def _sizes(one: Bottleneck | None) -> list[str]:
    if one is None:
        return ["–"] * 5
    return [
        number(one.random, 4),
        *(f"{n:,}" for n in (one.width, one.rows, one.rank)),
        f"{one.check:.1g}",
    ]


def _named(result: BottleneckReport, name: str) -> str:
    """A model with its colour."""
    color = chart.marks(result)[name].color
    return f'<span class="ep-dot" style="background:{color}"></span>{escape(name)}'


def facts(result: BottleneckReport) -> str:
    """What was measured, hashes, and every note."""
    sides: dict[str, Any] = {**result.models, **result.runs}
    about = {name: {"tied": _STATUS[one.tied], **one.about} for name, one in sides.items()}
    own = (note for one in result.models.values() for note in one.bottleneck.notes)
    notes = dict.fromkeys([*result.notes, *own])
    return facts_of(about, result.hashes, notes, "what was measured")
