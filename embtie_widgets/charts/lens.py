"""Two models under the lens as figures, files and text: the face of their charts."""

from typing import TYPE_CHECKING

from embtie_widgets.charts import figures
from embtie_widgets.charts.files import Plots
from embtie_widgets.charts.lens_curves import spec
from embtie_widgets.charts.lens_parts import contributions, has_training, training
from embtie_widgets.charts.lens_words import (
    caption,
    contribution_caption,
    headline,
    text,
    training_caption,
)
from embtie_widgets.results.lens import PairLens

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["caption", "figure", "headline", "plots", "spec", "text"]


def figure(result: PairLens, theme: str = "light", measure: str = "kl") -> "Figure":
    """The chart as a plain figure with its caption inside, for exports."""
    return figures.captioned(spec(result, measure), caption(result), theme, 600, 170, -0.22)


def plots(result: PairLens) -> Plots:
    """All charts that there is something to see on."""
    charts = [(spec(result), caption(result))]
    if result.lenses:
        charts.append((contributions(result), contribution_caption(result)))
    if has_training(result):
        charts.append((training(result), training_caption(result)))
    return Plots(headline(result), tuple(charts))
