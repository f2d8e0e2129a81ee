"""Output embedding centering as figures, files and text: the face of its charts."""

from typing import TYPE_CHECKING

from embtie_widgets.charts import figures
from embtie_widgets.charts.centering_captions import (
    caption,
    coefficients_caption,
    grid_caption,
    rates_caption,
    sensitivity_caption,
    text,
)
from embtie_widgets.charts.centering_cautions import cautions
from embtie_widgets.charts.centering_curves import spec
from embtie_widgets.charts.centering_grid import run_at
from embtie_widgets.charts.centering_grid import spec as grid
from embtie_widgets.charts.centering_rates import rates
from embtie_widgets.charts.centering_sensitivity import coefficients, sensitivity
from embtie_widgets.charts.centering_view import (
    QUANTITIES,
    USUAL,
    View,
    choices,
    fitting,
    key_of,
    measures_of,
    quantities_of,
    run_of,
    side_by_side,
)
from embtie_widgets.charts.centering_words import effects, headline
from embtie_widgets.charts.files import Plots
from embtie_widgets.results.centering import CenteringReport

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "QUANTITIES",
    "USUAL",
    "View",
    "caption",
    "cautions",
    "choices",
    "coefficients",
    "coefficients_caption",
    "effects",
    "figure",
    "fitting",
    "grid",
    "grid_caption",
    "has_coefficients",
    "headline",
    "key_of",
    "measures_of",
    "plots",
    "quantities_of",
    "rates",
    "rates_caption",
    "run_at",
    "run_of",
    "sensitivity",
    "sensitivity_caption",
    "side_by_side",
    "spec",
    "text",
]

_AXIS, _CAPTION = 60, 90  # pixels below the charts, and of the caption below these


def figure(result: CenteringReport, theme: str = "light", view: View | None = None) -> "Figure":
    """The curves as a plain figure with their caption inside, for exports; of a sweep without
    curves the heat map."""
    if any(run.curves for run in result.runs):
        drawn, said = spec(result, view or View()), caption(result, view)
    else:
        drawn, said = grid(result), grid_caption(result)
    height, above = drawn["layout"]["height"], drawn["layout"]["margin"]["t"]
    inside = height - above - _AXIS
    whole = figures.captioned(
        drawn, said, theme, height + _CAPTION, _AXIS + _CAPTION, -_AXIS / inside
    )
    whole.update_layout(margin={"t": above})
    return whole


def plots(result: CenteringReport) -> Plots:
    """All charts that there is something to see on."""
    shown = [
        (spec(result), caption(result), any(run.curves for run in result.runs)),
        (grid(result), grid_caption(result), len(result.runs) > 1),
        (rates(result), rates_caption(result), len(result.rates) > 1),
        (sensitivity(result), sensitivity_caption(result), bool(result.sensitivity)),
        (coefficients(result), coefficients_caption(result), has_coefficients(result)),
    ]
    charts = tuple((drawn, said) for drawn, said, wanted in shown if wanted)
    return Plots(headline(result), charts)


def has_coefficients(result: CenteringReport) -> bool:
    """Whether sensitivities of several coefficients are known."""
    return len({one.coefficient for one in result.sensitivity} - {None}) > 1
