"""The context staircase as figures, files and text: the face of its charts."""

from typing import TYPE_CHECKING

from embtie_widgets.charts import figures
from embtie_widgets.charts.files import Plots
from embtie_widgets.charts.staircase_curves import spec, stems, step_at
from embtie_widgets.charts.staircase_extras import extras
from embtie_widgets.charts.staircase_maps import anchors_at
from embtie_widgets.charts.staircase_maps import spec as maps
from embtie_widgets.charts.staircase_pairs import Pair, agreement, driving, pair_of
from embtie_widgets.charts.staircase_points import anchor_at
from embtie_widgets.charts.staircase_points import spec as points
from embtie_widgets.charts.staircase_tokens import anchor_tokens, columns, token_frame
from embtie_widgets.charts.staircase_view import (
    ALIKE,
    ALL,
    GIVEN,
    LAST,
    USUAL,
    Look,
    View,
    about_step,
    axis_place,
    called_step,
    is_text,
    look,
    matrix_choices,
    matrix_words,
    number,
    run_choices,
    signature_choices,
    signature_words,
    step_word,
    steps_of,
    ticks,
    values_of,
)
from embtie_widgets.charts.staircase_words import (
    cautions,
    curves_caption,
    headline,
    maps_caption,
    points_caption,
    text,
)
from embtie_widgets.results.staircase import StaircaseReport

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "ALIKE",
    "ALL",
    "GIVEN",
    "LAST",
    "USUAL",
    "Look",
    "Pair",
    "View",
    "about_step",
    "agreement",
    "anchor_at",
    "anchor_tokens",
    "anchors_at",
    "axis_place",
    "called_step",
    "cautions",
    "columns",
    "curves_caption",
    "driving",
    "figure",
    "headline",
    "is_text",
    "look",
    "maps",
    "maps_caption",
    "matrix_choices",
    "matrix_words",
    "number",
    "pair_of",
    "plots",
    "points",
    "points_caption",
    "run_choices",
    "signature_choices",
    "signature_words",
    "spec",
    "stems",
    "step_at",
    "step_word",
    "steps_of",
    "text",
    "ticks",
    "token_frame",
    "values_of",
]


def figure(result: StaircaseReport, theme: str = "light", view: View = USUAL) -> "Figure":
    """The curves as a plain figure with their caption inside, for exports."""
    return figures.captioned(
        spec(result, view), curves_caption(result, view), theme, 640, 150, -0.2
    )


def plots(result: StaircaseReport) -> Plots:
    """Curves, maps and principal components at the last step, and what the task shows besides."""
    charts = [(spec(result), curves_caption(result))]
    if look(result) is not None:
        charts += [(maps(result), maps_caption(result)), (points(result), points_caption(result))]
    charts += [(one.figure, f"{one.title}: {one.caption}") for one in extras(result).values()]
    return Plots(headline(result), tuple(charts))
