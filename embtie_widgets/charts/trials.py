"""Experiments on the gradient bottleneck as figures, files and text: the face of their charts."""

from typing import TYPE_CHECKING

from embtie_widgets.charts import figures
from embtie_widgets.charts.files import Plots
from embtie_widgets.charts.trials_captions import caption, excess_caption, grid_caption, text
from embtie_widgets.charts.trials_curves import spec
from embtie_widgets.charts.trials_excess import spec as excess
from embtie_widgets.charts.trials_grid import blocks, measures_of, run_at
from embtie_widgets.charts.trials_grid import spec as grid
from embtie_widgets.charts.trials_view import View, key_of, run_of
from embtie_widgets.charts.trials_words import cautions, dispute, headline
from embtie_widgets.results.trials import TrialsReport

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "View",
    "caption",
    "cautions",
    "dispute",
    "excess",
    "excess_caption",
    "figure",
    "grid",
    "grid_caption",
    "has_grid",
    "headline",
    "key_of",
    "measures_of",
    "plots",
    "run_at",
    "run_of",
    "spec",
    "text",
]

_AXIS, _CAPTION = 60, 90  # pixels below the charts, and of the caption below these


def has_grid(result: TrialsReport | None) -> bool:
    """Whether there is something to see on the heat map."""
    return bool(blocks(result))


def figure(result: TrialsReport, theme: str = "light", view: View | None = None) -> "Figure":
    """The curves as a plain figure with their caption inside, for exports."""
    drawn = spec(result, view or View())
    height, above = drawn["layout"]["height"], drawn["layout"]["margin"]["t"]
    inside = height - above - _AXIS
    below = _AXIS + _CAPTION
    said = caption(result, view)
    whole = figures.captioned(drawn, said, theme, height + _CAPTION, below, -_AXIS / inside)
    whole.update_layout(margin={"t": above})
    return whole


def plots(result: TrialsReport) -> Plots:
    """All charts that there is something to see on."""
    draws = View(across="sequences")
    language = result.experiment == "spamlang"
    shown = [
        (spec(result), f"{caption(result)} {dispute(result)}", True),
        (spec(result, draws), caption(result, draws), language),
        (excess(result), excess_caption(result), bool(result.excess)),
        (grid(result), grid_caption(result), has_grid(result)),
    ]
    charts = tuple((drawn, said) for drawn, said, wanted in shown if wanted)
    return Plots(headline(result), charts)
