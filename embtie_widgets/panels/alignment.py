"""The alignment panel: how well In, Out and Tied map onto one another, token by token."""

from collections.abc import Iterable, Mapping

import ipywidgets as w

from embtie_widgets.charts import alignment as chart
from embtie_widgets.charts.before_after import Change, alignment_changes, alignment_reach
from embtie_widgets.charts.columns import Column, Vector
from embtie_widgets.charts.sentences import asides, cautions, on_chance, scatter_caption
from embtie_widgets.charts.theme import COMPARISONS, mark_of, templates
from embtie_widgets.panels.exports import Offer, picture_offers
from embtie_widgets.panels.fields import Field, card, labelled, section, usable, whole_if_it_is
from embtie_widgets.panels.token_panel import TokenPanel
from embtie_widgets.panels.words import escape, interval, number, table
from embtie_widgets.requests import AlignRequest
from embtie_widgets.results import PairAlignment
from embtie_widgets.widgets import PlotFigure


class AlignmentPanel(TokenPanel):
    """How a tied matrix aligns with the input and output matrix of an untied model.

    `AlignmentPanel()` shows the bundled pair; give a request, or any of its fields by name
    (`a`, `b`, `map`, `center`, `ridge`, `holdout`, `seed`, `role_b`, `device`, `mu_centered`,
    `leave_out_copies`).  `parts` takes the place of what the frame runs requests with, and of
    `ask`, which finds a token's neighbours.
    """

    title = "Alignment"
    lead = "Does the tied matrix follow the untied model's input or its output?"
    asks = AlignRequest
    # At last a norm, so that the axes never are the same.
    first_x, first_y = ("In->Tied", "log_count"), ("Out->Tied", "In->Out", "norm In")
    first_sort = ("count", "Out->Tied")
    score = "Mean cosine"

    def measure_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """The map, and how it is scored."""
        self.map = labelled(
            map_buttons(), "identity: no map; orthogonal: Procrustes; linear: least squares"
        )
        self.center = labelled(
            w.Checkbox(description="subtract the column means", indent=False),
            "Centre both matrices before the fit, as the paper does",
        )
        self.ridge = labelled(
            w.FloatText(description="ridge", continuous_update=False),
            "A penalty on the linear map; 0 for plain least squares",
        )
        self.holdout = labelled(
            holdout_slider(), "Share of the tokens that takes no part in the second fit"
        )
        self.seed = labelled(
            w.FloatText(description="seed", continuous_update=False),
            "Which tokens are held out, and how rows are shuffled",
        )
        fields = {
            "map": Field(self.map),
            "center": Field(self.center),
            "ridge": Field(self.ridge),
            "holdout": Field(self.holdout),
            "seed": Field(self.seed, to_request=whole_if_it_is),
        }
        numbers = w.Box([self.ridge, self.seed]).add_class("ep-pairs")
        scoring = section("Scoring", self.holdout, numbers, self.device)
        return fields, [section("Map", self.map, self.center), scoring]

    def measure_views(self) -> Iterable[w.Widget]:
        """The histogram with its caption."""
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.caption = w.HTML().add_class("ep-caption")
        return [card("", self.chart, self.caption).add_class("ep-histogram")]

    def number_views(self) -> Iterable[w.Widget]:
        """Means by comparison."""
        self.summary = w.HTML()
        return [card("Means", self.summary)]

    def measure_exports(self) -> Iterable[Offer]:
        """The histogram as pictures."""
        return picture_offers(self.chart, self.with_lit(chart.caption), "histogram")

    def columns(self, result: PairAlignment) -> list[Column]:
        """What is known of each token."""
        return chart.columns(result)

    def draw_words(self, result: PairAlignment) -> None:
        """Write another result's sentences and tables."""
        self.headline.value = _headline(result)
        self.caption.value = f"<p>{escape(chart.caption(result))}</p>"
        self.summary.value = _summary(result)

    def draw_charts(self, result: PairAlignment, lit: Vector) -> None:
        """Draw the histogram."""
        self.chart.show(chart.spec(result, lit))

    def basis(self, result: PairAlignment) -> str:
        """What the scatter rests on."""
        return scatter_caption(result)

    def changes(self, before: PairAlignment, after: PairAlignment) -> list[Change]:
        """Means before and after centring."""
        return alignment_changes(before, after)

    def reach(self, after: PairAlignment) -> str:
        """What of them centring can change."""
        return alignment_reach(after)

    def edited(self) -> None:
        """Ridge belongs to the linear map."""
        super().edited()
        usable(self.ridge, "" if self.map.value == "linear" else "only the linear map has one")


def map_buttons() -> w.ToggleButtons:
    """The three maps to choose from."""
    options = [("Identity", "identity"), ("Orthogonal", "orthogonal"), ("Linear", "linear")]
    return w.ToggleButtons(description="map", options=options).add_class("ep-segments")


def holdout_slider() -> w.FloatSlider:
    """A share of the tokens."""
    # The number beside it can be typed over, and is read as it stands: 30 % would be taken for 30.
    return w.FloatSlider(
        description="held out",
        min=0.0,
        max=0.9,
        step=0.05,
        readout_format=".2f",
        continuous_update=False,
    )


def _headline(result: PairAlignment) -> str:
    beware = "".join(
        f'<div class="ep-alert" role="note"><b>Beware.</b> {escape(text)}</div>'
        for text in cautions(result)
    )
    note = "".join(f'<p class="ep-aside">{escape(text)}</p>' for text in asides(result))
    return f"<p>{escape(chart.headline(result))}</p>{note}{beware}"


def _named(comparison: str) -> str:
    color = mark_of(comparison).color
    return f'<span class="ep-dot" style="background:{color}"></span>{chart.label(comparison)}'


def _summary(result: PairAlignment) -> str:
    rows = [
        [
            _named(row["comparison"]),
            f"{number(row['mean'])} <small>{interval(row['interval'])}</small>",
            f"{number(row['heldout_mean'])} <small>{interval(row['heldout_interval'])}</small>",
            number(row["floor_mean"]),
            number(row["floor_expected"]),
            number(row["median"]),
            f"{row['tokens']:,}",
        ]
        for row in sorted(result.summary(), key=lambda row: _place(row["comparison"]))
    ]
    head = ["", "in-sample", "held out", "chance", "chance in theory", "median", "tokens"]
    why = on_chance(result)
    told = f"<p class='ep-quiet'>{escape(why)}</p>" if why else ""
    return table(head, rows, "mean cosine by comparison") + told


def _place(comparison: str) -> int:
    return list(COMPARISONS).index(comparison)
