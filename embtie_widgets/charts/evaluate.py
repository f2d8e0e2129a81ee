"""Two models on the same text and items, as pictures and words."""

from embtie_widgets.charts.evaluate_plane import item_at
from embtie_widgets.charts.evaluate_plane import spec as plane
from embtie_widgets.charts.evaluate_scores import difference, spec, text_spec
from embtie_widgets.charts.evaluate_view import (
    ALL,
    CHOICE_METRICS,
    NAMES,
    SIDES,
    TEXT_METRICS,
    filters,
    is_text,
    metric_of,
    questions,
    standings,
    text_of,
    value_of,
)
from embtie_widgets.charts.evaluate_words import (
    cautions,
    headline,
    plane_caption,
    scores_caption,
    text,
    text_caption,
)
from embtie_widgets.charts.files import Plots
from embtie_widgets.results.evaluate import Evaluation

__all__ = [
    "ALL",
    "CHOICE_METRICS",
    "NAMES",
    "SIDES",
    "TEXT_METRICS",
    "cautions",
    "difference",
    "filters",
    "headline",
    "is_text",
    "item_at",
    "metric_of",
    "plane",
    "plane_caption",
    "plots",
    "questions",
    "scores_caption",
    "spec",
    "standings",
    "text",
    "text_caption",
    "text_of",
    "text_spec",
    "value_of",
]


def plots(result: Evaluation) -> Plots:
    """The text, the tasks, and the items of each."""
    charts = []
    if text_of(result) is not None:
        charts.append((text_spec(result), text_caption(result)))
    if questions(result):
        charts.append((spec(result), scores_caption(result)))
    charts += [(plane(result, task), plane_caption(result, task)) for task in result.items]
    return Plots(headline(result), tuple(charts))
