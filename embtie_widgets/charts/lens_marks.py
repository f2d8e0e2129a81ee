"""How each of the two models is marked wherever it is drawn."""

from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.lens_words import OfModels, name_of, short
from embtie_widgets.charts.theme import Mark, marks_of


def mark(result: OfModels, side: str) -> Mark:
    """The colour, dash and symbol of a model."""
    words = [str(facts.get("tied", "")) for facts in result.models.values()]
    return dict(zip(result.models, marks_of(words), strict=True))[side]


def titled(result: OfModels, side: str, most: int = 26) -> str:
    """The name of a model with its marker, for a label in the chart."""
    return f"<b>{mark(result, side).glyph} {plain(short(name_of(result, side), most))}</b>"
