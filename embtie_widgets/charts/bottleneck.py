"""The gradient bottleneck as figures, files and text: the face of its charts."""

from typing import TYPE_CHECKING

from embtie_widgets.charts import figures
from embtie_widgets.charts.bottleneck_curves import spec as curves
from embtie_widgets.charts.bottleneck_line import spec as line
from embtie_widgets.charts.bottleneck_positions import WHAT, groups, has_groups, histogram
from embtie_widgets.charts.bottleneck_spectrum import spec as spectrum
from embtie_widgets.charts.bottleneck_steps import spec as steps
from embtie_widgets.charts.bottleneck_tokens import columns, same_rows
from embtie_widgets.charts.bottleneck_view import (
    MEASURES,
    SCALES,
    View,
    fitting,
    has_positions,
    has_spectrum,
    has_steps,
    has_tokens,
    marks,
    measures_of,
    ratios,
)
from embtie_widgets.charts.bottleneck_words import (
    DISPUTE,
    asides,
    caption,
    groups_caption,
    headline,
    line_caption,
    positions_caption,
    spectrum_caption,
    steps_caption,
    text,
)
from embtie_widgets.charts.files import Plots
from embtie_widgets.results.bottleneck import BottleneckReport

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "DISPUTE",
    "MEASURES",
    "SCALES",
    "WHAT",
    "View",
    "asides",
    "caption",
    "columns",
    "curves",
    "figure",
    "fitting",
    "groups",
    "groups_caption",
    "has_groups",
    "has_positions",
    "has_spectrum",
    "has_steps",
    "has_tokens",
    "headline",
    "histogram",
    "line",
    "line_caption",
    "marks",
    "measures_of",
    "plots",
    "positions_caption",
    "ratios",
    "same_rows",
    "spec",
    "spectrum",
    "spectrum_caption",
    "steps",
    "steps_caption",
    "text",
]


def spec(result: BottleneckReport | None, view: View | None = None) -> dict[str, object]:
    """The first chart in plotly's terms: of runs their curves, of models the line."""
    view = fitting(result, view or View())
    return curves(result, view) if result is not None and result.runs else _line(result, view)


def _line(result: BottleneckReport | None, view: View) -> dict[str, object]:
    return line(result, view.measure if view.measure in SCALES else "r")


def figure(result: BottleneckReport, theme: str = "light", view: View | None = None) -> "Figure":
    """The first chart as a plain figure with its caption inside, for exports."""
    return figures.captioned(spec(result, view), caption(result, view), theme, 620, 170, -0.24)


def plots(result: BottleneckReport) -> Plots:
    """All charts that there is something to see on."""
    shown = [
        (spec(result), caption(result), True),
        (line(result), line_caption(result), bool(result.runs)),
        (histogram(result), positions_caption(result), has_positions(result)),
        (groups(result), groups_caption(result), has_groups(result)),
        (spectrum(result), spectrum_caption(result), has_spectrum(result)),
        (steps(result), steps_caption(result), has_steps(result)),
    ]
    charts = tuple((drawn, said) for drawn, said, wanted in shown if wanted)
    return Plots(" ".join([headline(result), DISPUTE]), charts)
