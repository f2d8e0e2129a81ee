"""The lens in tables: the numbers of both models, and what they are."""

import math
from typing import Any

from embtie_widgets.charts import lens as chart
from embtie_widgets.charts.lens_marks import mark
from embtie_widgets.charts.lens_words import halves, name_of
from embtie_widgets.panels.words import escape, number, table
from embtie_widgets.results.lens import Lens, PairLens

_HEAD = (
    "",
    "KL, embedding",
    "floor",
    "KL there",
    "above floor",
    "endless text",
    "top-1",
    "check",
)


def headline(result: PairLens) -> str:
    """The sentence of the panel, what lies beside it, and why a model is missing."""
    aside = halves(result)
    more = f'<p class="ep-aside">{escape(aside)}</p>' if aside else ""
    failed = "".join(
        f'<div class="ep-alert" role="note"><b>{escape(name_of(result, side))} is not drawn.</b> '
        f"{escape(why)}</div>"
        for side, why in result.failed.items()
    )
    return f"<p>{escape(chart.headline(result))}</p>{more}{failed}"


def numbers(result: PairLens) -> str:
    """One row per model: how far the embedding is, what no lens could know, and the check."""
    if not result.lenses:
        return "<p class='ep-quiet'>The numbers come when a model has been measured.</p>"
    rows = [_row(result, side, one) for side, one in result.lenses.items()]
    return table(_HEAD, rows, "the lens by model") + _counted(result)


def _row(result: PairLens, side: str, one: Lens) -> list[str]:
    floor = one.floor
    known = ["–"] * 4
    if floor is not None:
        known = [
            _ranged(floor.bits, floor.interval),
            number(floor.lens_bits, 2),
            number(floor.lens_bits - floor.bits, 2),
            number(floor.estimate, 2),
        ]
    return [
        named(result, side),
        _ranged(one.kl_bits[0], one.intervals[0]),
        *known,
        _finite(one.agreement[0], f"{one.agreement[0]:.1%}".replace("%", " %")),
        _finite(one.last_layer_check, f"{one.last_layer_check:.1g}"),
    ]


def _ranged(value: float, pair: Any) -> str:
    return _finite(value, f"{value:.2f} <small>[{pair[0]:.2f}, {pair[1]:.2f}]</small>")


def _finite(value: float, said: str) -> str:
    return said if math.isfinite(value) else "no value"


def named(result: PairLens, side: str) -> str:
    """A model with its colour."""
    color = mark(result, side).color
    dot = f'<span class="ep-dot" style="background:{color}"></span>'
    return f"{dot}{escape(name_of(result, side))}"


def _counted(result: PairLens) -> str:
    said = [
        "KL and floor in bits, at the embedding; KL there is that over the positions that count "
        "for the floor, and above floor what it exceeds the floor by; endless text is the floor "
        "with all the text one could want; check is the largest difference from the model's own "
        "logits at the last layer."
    ]
    for side, one in result.lenses.items():
        if one.floor is not None:
            said.append(
                f"{name_of(result, side)}: a lens at the embedding sees {one.floor.sees}; "
                f"{one.floor.positions:,} positions count, {one.floor.left_out:,} are of "
                f"{one.floor.tokens_left_out:,} kinds that come fewer than {one.floor.least} times."
            )
    return "".join(f"<p class='ep-quiet'>{escape(text)}</p>" for text in said)


def facts(result: PairLens) -> str:
    """The two models, the text, hashes, and every note."""
    models = table(
        [
            "",
            *(f"{side}: {escape(known.get('name', '?'))}" for side, known in result.models.items()),
        ],
        [
            [what, *(cell(known) for known in result.models.values())]
            for what, cell in _FACTS.items()
        ],
        "the two models",
    )
    hashes = table(
        ["SHA-256", ""],
        [[escape(name), f"<code>{escape(value)}</code>"] for name, value in result.hashes.items()],
        "models, text and lenses by hash",
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    listed = f'<h4>Notes</h4><ul class="ep-notes">{notes}</ul>' if notes else ""
    return f"{models}<p class='ep-quiet'>{escape(_read(result))}</p>{hashes}{listed}"


def _read(result: PairLens) -> str:
    text = result.text
    parts = [
        f"Read: {text.get('name', 'the text')}",
        f"{text['pieces']:,} pieces" if "pieces" in text else "",
    ]
    return ", ".join(part for part in parts if part) + "."


def _text(name: str, missing: str = "–") -> Any:
    return lambda known: escape(known.get(name) or missing)


def _shape(known: dict[str, Any]) -> str:
    rows, width = known.get("rows"), known.get("width")
    return f"{rows:,} × {width:,}" if rows and width else "–"


_FACTS: dict[str, Any] = {
    "as stored": _text("tied"),
    "revision": _text("revision", "as found"),
    "layers": _text("layers"),
    "V × d": _shape,
    "held in": _text("dtype"),
    "placed": _text("placement"),
}
