"""The papers' printed numbers beside those computed here, as pictures and words."""

from embtie_widgets.charts import papers_curves, papers_dots
from embtie_widgets.charts.files import Plots
from embtie_widgets.charts.papers_overview import item_at
from embtie_widgets.charts.papers_overview import spec as overview
from embtie_widgets.charts.papers_words import (
    aside,
    faults,
    headline,
    item_caption,
    item_headline,
    overview_caption,
    text,
)
from embtie_widgets.results.papers import PaperItem, PaperTables

__all__ = [
    "aside",
    "faults",
    "headline",
    "item_at",
    "item_caption",
    "item_headline",
    "overview",
    "overview_caption",
    "plots",
    "spec",
    "text",
]


def spec(item: PaperItem | None) -> dict[str, object]:
    """One table or figure in plotly's terms: a figure of curves as curves, all else as dots."""
    curves = item is not None and bool(papers_curves.curves_of(item))
    return papers_curves.spec(item) if item is not None and curves else papers_dots.spec(item)


def plots(result: PaperTables) -> Plots:
    """The bars of all items, then the chart of each."""
    items = [(spec(item), item_caption(item)) for item in result.items.values()]
    return Plots(headline(result), ((overview(result), overview_caption(result)), *items))
