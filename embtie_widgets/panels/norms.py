"""The norm-frequency panel: do frequent tokens have longer rows, and in which matrix?"""

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import norms as chart
from embtie_widgets.charts.before_after import Change, norms_changes, norms_reach
from embtie_widgets.charts.columns import Column, Vector
from embtie_widgets.charts.sentences import asides, on_centring
from embtie_widgets.charts.theme import MATRICES, templates
from embtie_widgets.jobs.exports import counts_csv
from embtie_widgets.panels.corpus import CorpusPicker
from embtie_widgets.panels.exports import Offer, picture_offers
from embtie_widgets.panels.fields import (
    Field,
    Setting,
    card,
    labelled,
    section,
    segments,
    whole_if_it_is,
)
from embtie_widgets.panels.token_panel import TokenPanel
from embtie_widgets.panels.words import escape, interval, number, table
from embtie_widgets.requests import NormFrequencyRequest
from embtie_widgets.results import PairNorms
from embtie_widgets.results.norms import Correlation, NormFrequency
from embtie_widgets.widgets import PlotFigure

_HEAD = ("Pearson", "Spearman", "chance", "tokens")
_ABOUT = (
    "<p class='ep-quiet'>Correlations of row norm and log10(count + 1) over the tokens that occur."
    "</p>"
)
_SCALES = (("Norm", "linear"), ("Logarithmic", "log"), ("Over its median", "relative"))


class NormFrequencyPanel(TokenPanel):
    """Row norms of a model pair against how often the tokens occur.

    `NormFrequencyPanel()` shows the bundled pair; give a request, or any of its fields by name
    (`a`, `b`, `corpus`, `seed`, `role_b`, `mu_centered`, `leave_out_copies`).  `parts` takes
    the place of what the frame runs requests with, and of `ask`, which finds a token's neighbours.
    """

    title = "Norm-frequency"
    lead = "Do frequent tokens have longer rows, and does the tied matrix follow input or output?"
    asks = NormFrequencyRequest
    first_x, first_y = ("log_count",), ("norm Tied", "norm In")
    first_sort = ("count", "norm Tied")
    score = "Mean norm"

    def measure_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """What is counted, and what is drawn at random."""
        self.corpus = CorpusPicker(self.state.request.corpus)
        self.seed = labelled(
            w.FloatText(description="seed", continuous_update=False),
            "Draws the shuffles behind chance",
        )
        fields = {
            "corpus": Field(self.corpus),
            "seed": Field(self.seed, to_request=whole_if_it_is),
        }
        return fields, [section("Corpus", self.corpus), section("Chance", self.seed)]

    def measure_views(self) -> Iterable[w.Widget]:
        """The chart, what its norms are measured in, and its caption."""
        self.scale = segments("What the norms are measured in", _SCALES)
        self.scale.observe(self.callback(self._rescale), "value")
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.caption = w.HTML().add_class("ep-caption")
        return [card("", self.scale, self.chart, self.caption).add_class("ep-norms")]

    def number_views(self) -> Iterable[w.Widget]:
        """Correlations with the frequency, and those of the matrices with one another."""
        self.numbers, self.between = w.HTML(), w.HTML()
        return [
            card("Norm and frequency", self.numbers),
            card("Norms of the same tokens in two matrices", self.between),
        ]

    def measure_settings(self) -> Mapping[str, Setting]:
        """What the norms are measured in."""
        return {"scale": Setting(self.scale, "value", "linear")}

    def measure_exports(self) -> Iterable[Offer]:
        """The chart as pictures, and the counts as a file that can be named as a corpus."""
        return [
            *picture_offers(self.chart, self.with_lit(_whole_caption)),
            Offer(
                "Counts CSV",
                "How often each token of the model occurs; can be named as a corpus again",
                "-counts.csv",
                "text/csv",
                lambda _request, result: counts_csv(next(iter(result.corpora.values()))),
            ),
        ]

    def columns(self, result: PairNorms) -> list[Column]:
        """What is known of each token."""
        return chart.columns(result)

    def draw_words(self, result: PairNorms) -> None:
        """Write another result's sentences and tables."""
        self.headline.value = _headline(result)
        self.numbers.value, self.between.value = _numbers(result), _between(result)

    def draw_charts(self, result: PairNorms, lit: Vector) -> None:
        """Draw norms against counts; the caption says what of them is drawn."""
        said = f"{_whole_caption(result)} {chart.on_labels(len(lit))}"
        self.caption.value = f"<p>{escape(said.strip())}</p>"
        self.chart.show(chart.spec(result, lit, self.scale.value))

    def basis(self, result: PairNorms) -> str:
        """What the scatter rests on."""
        return chart.caption(result)

    def changes(self, before: PairNorms, after: PairNorms) -> list[Change]:
        """Correlations and norms before and after centring."""
        return norms_changes(before, after)

    def reach(self, after: PairNorms) -> str:
        """What of them centring can change."""
        return norms_reach(after)

    def _rescale(self, _change: Any) -> None:
        if self.result is not None:
            self.chart.show(chart.spec(self.result, self._lit(self.result), self.scale.value))


def _whole_caption(result: PairNorms) -> str:
    return f"{chart.caption(result)} {chart.drawn(result)}"


def _headline(result: PairNorms) -> str:
    beware = "".join(
        f'<div class="ep-alert" role="note"><b>Beware.</b> {escape(text)}</div>'
        for text in chart.cautions(result)
    )
    note = "".join(f'<p class="ep-aside">{escape(text)}</p>' for text in asides(result))
    return f"<p>{escape(chart.headline(result))}</p>{note}{beware}"


def _named(names: str) -> str:
    """One matrix or two of them, each with its colour."""
    dot = '<span class="ep-dot" style="background:{}"></span>{}'
    return " and ".join(dot.format(MATRICES[name].color, name) for name in names.split(", "))


def _cells(one: Correlation) -> list[str]:
    """Both correlations with their intervals, chance and the number of tokens."""
    return [
        f"{_shown(one.pearson)} <small>{_range(one.pearson_interval)}</small>",
        f"{_shown(one.spearman)} <small>{_range(one.spearman_interval)}</small>",
        f"± {_shown(one.spearman_floor)}",
        f"{one.tokens:,}",
    ]


def _shown(value: float) -> str:
    return number(value if value == value else None)  # NaN, of which nothing is known


def _range(pair: tuple[float, float]) -> str:
    return interval(pair if pair[0] == pair[0] else None)


def _numbers(result: PairNorms) -> str:
    head = ["", *_HEAD, "highest median", "not seen", "left out"]
    rows = [
        [_named(name), *_cells(one.correlation), *_beside(one)]
        for name, one in result.matrices.items()
    ]
    return table(head, rows, "correlation of norm and frequency") + _ABOUT


def _beside(one: NormFrequency) -> list[str]:
    """Where the line is highest, the tokens that do not occur, and rows without a norm."""
    apart = f" <small>median {number(one.unseen.median)}</small>" if one.unseen.rows else ""
    left = sum(one.settings["rows_left_out"].values())
    return [_peak(one.curve.peak), f"{one.unseen.rows:,}{apart}", f"{left:,}"]


def _peak(peak: tuple[float, float] | None) -> str:
    if peak is None:
        return "–"
    return f"{number(peak[1])} <small>at {10 ** peak[0] - 1:,.0f} times</small>"


def _between(result: PairNorms) -> str:
    rows = [[_named(names), *_cells(one)] for names, one in result.between.items()]
    whole = ", ".join(f"{name} {number(value, 1)}" for name, value in result.frobenius.items())
    centring = on_centring(result)
    state = f" as they are compared, {centring}" if centring else " as stored"
    told = f"<p class='ep-quiet'>Frobenius norms of the whole matrices{state}: {whole}.</p>"
    return table(["", *_HEAD], rows, "correlation of the norms of two matrices") + told
