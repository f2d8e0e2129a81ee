"""The gradient's two paths as figures, files and text: the face of their charts."""

from typing import TYPE_CHECKING

from embtie_widgets.charts import figures
from embtie_widgets.charts.files import Plots
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
    "plots",
    "same_rows",
    "spec",
    "text",
]


def figure(result: GradientFlow, theme: str = "light", view: View | None = None) -> "Figure":
    """The chart as a plain figure with its caption inside, for exports."""
    drawn, said = spec(result, view or View()), caption(result, view)
    return figures.captioned(drawn, said, theme, 740, 150, -0.16)


def plots(result: GradientFlow) -> Plots:
    """All charts that there is something to see on."""
    charts = [(spec(result), caption(result))]
    if has_bands(result):
        charts.append((bands(result), bands_caption(result)))
    return Plots(headline(result), tuple(charts))
