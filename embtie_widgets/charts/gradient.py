"""The gradient's two paths as figures, files and text: the face of their charts."""

from typing import TYPE_CHECKING

from embtie_widgets.charts import figures
from embtie_widgets.charts.files import charts_page
from embtie_widgets.charts.gradient_bands import bands, bands_caption, has_bands
from embtie_widgets.charts.gradient_curves import spec
from embtie_widgets.charts.gradient_tokens import columns, has_rows, same_rows
from embtie_widgets.charts.gradient_view import (
    MEASURES,
    MODE_WORDS,
    View,
    fitting,
    measures_of,
    mode_words,
    modes_of,
)
from embtie_widgets.charts.gradient_words import caption, headline, text
from embtie_widgets.results.gradient import GradientFlow

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "MEASURES",
    "MODE_WORDS",
    "View",
    "bands",
    "bands_caption",
    "caption",
    "columns",
    "figure",
    "fitting",
    "has_bands",
    "has_rows",
    "headline",
    "measures_of",
    "mode_words",
    "modes_of",
    "page",
    "same_rows",
    "spec",
    "text",
]


def figure(result: GradientFlow, theme: str = "light", view: View | None = None) -> "Figure":
    """The chart as a plain figure with its caption inside, for exports."""
    drawn, said = spec(result, view or View()), caption(result, view)
    return figures.captioned(drawn, said, theme, 740, 150, -0.16)


def page(result: GradientFlow, settings: str) -> str:
    """All charts as one HTML file that needs nothing else."""
    plots = [(figures.figure(spec(result), "light"), caption(result))]
    if has_bands(result):
        plots.append((figures.figure(bands(result), "light"), bands_caption(result)))
    return charts_page(plots, headline(result), settings)
