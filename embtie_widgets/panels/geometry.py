"""The panel of neighbours and spectra: how alike In, Out and Tied are, map or no map."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import geometry as chart
from embtie_widgets.charts import overlap, spectra
from embtie_widgets.charts.before_after import Change, geometry_changes, geometry_reach
from embtie_widgets.charts.columns import Column, Vector
from embtie_widgets.charts.sentences import asides, cautions
from embtie_widgets.charts.theme import templates
from embtie_widgets.jobs.exports import table_bytes
from embtie_widgets.jobs.geometry_lookup import MOST_SHOWN, ask_neighbours, ask_spectra
from embtie_widgets.panels.before_after import centred_words
from embtie_widgets.panels.exports import Offer, picture_offers
from embtie_widgets.panels.fields import (
    Field,
    card,
    fold,
    labelled,
    number_box,
    section,
    usable,
    whole_if_it_is,
)
from embtie_widgets.panels.geometry_tables import by_comparison, by_matrix, reading
from embtie_widgets.panels.state import PanelState
from embtie_widgets.panels.token_panel import TokenPanel
from embtie_widgets.panels.words import escape
from embtie_widgets.requests import GeometryRequest
from embtie_widgets.results.geometry import PairGeometry
from embtie_widgets.widgets import PlotFigure


class GeometryPanel(TokenPanel):
    """How alike the neighbours and the spectra of In, Out and Tied are.

    `GeometryPanel()` shows the bundled pair; give a request, or any of its fields by name (`a`,
    `b`, `k`, `metric`, `center`, `sample`, `spectral`, `spectral_k`, `components`, `spaces`, `top`,
    `seed`, `role_b`, `device`, `mu_centered`, `leave_out_copies`).  `parts` takes the place
    of what the frame runs requests with, of `ask`, which finds a token's neighbours, and of
    `ask_spectra`, which finds the spectra of a selection.
    """

    title = "Neighbours and spectra"
    lead = "Which tokens stand near which, and does Tied keep the neighbours of In or of Out?"
    asks = GeometryRequest
    first_x = ("log_count", "knn In->Tied", "norm Tied")
    first_y = ("knn Out->Tied", "knn In->Tied", "knn In->Out", "bytes")
    first_sort = ("count", "overlap Out->Tied", "token")
    score = "Mean overlap"

    def __init__(
        self, request: Any = None, *, parts: Mapping[str, Any] | None = None, **options: Any
    ) -> None:
        given = {"ask_spectra": ask_spectra, **(parts or {})}
        self._ask_spectra = given.pop("ask_spectra")
        self._selected: Mapping[str, Vector] = {}
        self._spectra_of: tuple[PairGeometry, bytes] | None = None
        super().__init__(request, parts=given, **options)

    def measure_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """Neighbours, graphs, subspaces."""
        self.k = number_box(
            "k", "How many nearest neighbours are compared, without the token itself"
        )
        self.metric = labelled(
            w.ToggleButtons(
                description="nearest by",
                options=[("Cosine", "cosine"), ("Euclidean", "euclidean")],
            ).add_class("ep-segments"),
            "What makes two rows near: their angle, or their distance",
        )
        self.center = labelled(
            w.Checkbox(description="subtract the column means", indent=False),
            "Centre the matrices first; the paper does not",
        )
        self.spectral = labelled(
            w.Checkbox(description="spectral distance", indent=False),
            "Compare the whole graphs of neighbours too; takes longer",
        )
        self.spaces = labelled(
            w.Checkbox(description="spectra, CKA and subspaces", indent=False),
            "Compare the matrices as wholes too; takes long for wide ones",
        )
        numbers = self._numbers()
        fields = {
            "k": Field(self.k, to_request=whole_if_it_is),
            "metric": Field(self.metric),
            "center": Field(self.center),
            "spectral": Field(self.spectral),
            "spaces": Field(self.spaces),
            **{name: Field(box, to_request=whole_if_it_is) for name, box in numbers.items()},
        }
        more = fold("more settings", w.Box(list(numbers.values())).add_class("ep-pairs"))
        return fields, [
            section("Neighbours", self.k, self.metric, self.center),
            section("Graphs and subspaces", self.spectral, self.spaces, more, self.device),
        ]

    def _numbers(self) -> dict[str, w.FloatText]:
        """Those that are seldom changed, by field of the request."""
        said = {
            "spectral_k": ("graph k", "Neighbours of each token in the graphs; 64 in the paper"),
            "components": (
                "components",
                "Dimensions in which graphs are compared; 128 in the paper",
            ),
            "top": ("subspace size", "How many leading directions of the matrices are compared"),
            "sample": ("tokens asked", "So many tokens are asked for their neighbours; 0 for all"),
            "seed": ("seed", "Which tokens are asked, and how rows are shuffled"),
        }
        found = {name: number_box(*words) for name, words in said.items()}
        self.spectral_k, self.components, self.top, self.sample, self.seed = found.values()
        return found

    def measure_views(self) -> Iterable[w.Widget]:
        """The overlaps and the spectra, each with its caption."""
        self.chart = PlotFigure(templates(), overlap.spec(None))
        self.spectra = PlotFigure(templates(), spectra.spec(None))
        self.caption, self.spectra_caption = (w.HTML().add_class("ep-caption") for _ in range(2))
        # Which request a new result answers is known only once it is drawn.
        self.state.observe(self.callback(lambda _: self.selected()), "result")
        return [
            card("Neighbours in common", self.chart, self.caption).add_class("ep-overlap"),
            card("Spectra", self.spectra, self.spectra_caption).add_class("ep-spectra"),
        ]

    def number_views(self) -> Iterable[w.Widget]:
        """The numbers by comparison and by matrix."""
        self.comparisons, self.matrices = w.HTML(), w.HTML()
        return [card("By comparison", self.comparisons), card("By matrix", self.matrices)]

    def measure_exports(self) -> Iterable[Offer]:
        """Both charts as pictures, and the singular values."""
        caption = self.with_lit(chart.spectra_caption)
        spaces = [
            *picture_offers(self.spectra, caption, "spectra", own=True),
            Offer(
                "Spectra CSV",
                "The singular values of every matrix",
                "-spectra.csv",
                "text/csv",
                lambda request, result: table_bytes(request, result, result.spectra_frame()),
            ),
        ]
        return [
            *picture_offers(self.chart, self.with_lit(chart.caption), "overlap chart"),
            *(replace(offer, needs=_has_spectra) for offer in spaces),
        ]

    def columns(self, result: PairGeometry) -> list[Column]:
        """What is known of each token."""
        return chart.columns(result)

    def draw_words(self, result: PairGeometry) -> None:
        """Write another result's sentences and tables."""
        self.headline.value = _headline(result)
        self.caption.value = f"<p>{escape(chart.caption(result))}</p>"
        self.spectra_caption.value = f"<p>{escape(chart.spectra_caption(result))}</p>"
        self.comparisons.value = by_comparison(result) + reading(result)
        self.matrices.value = by_matrix(result)

    def draw_charts(self, result: PairGeometry, lit: Vector) -> None:
        """Draw both charts; the spectra of the lit tokens come when a worker has them."""
        self.chart.show(overlap.spec(result, lit))
        if not self._is_asked(result, lit):
            self._selected, self._spectra_of = {}, None
        self.spectra.show(spectra.spec(result, self._selected))
        if result is self.result:
            self._find_spectra(result, lit)

    def _find_spectra(self, result: PairGeometry, lit: Vector) -> None:
        """Ask for the spectra of the lit tokens, once for each result and choice."""
        if self._is_asked(result, lit) or not (lit.size and result.matrices):
            return
        self._spectra_of = (result, lit.tobytes())

        def wanted() -> bool:
            return self._is_asked(result, lit)

        def draw(found: Mapping[str, Vector]) -> None:
            if wanted():
                self._selected = found
                self.spectra.show(spectra.spec(result, found))

        request, failed = self.state.answered, self.later(self.notice.show)
        self._ask_spectra(request, lit, wanted, self.later(draw), failed)

    def _is_asked(self, result: PairGeometry, lit: Vector) -> bool:
        asked = self._spectra_of
        return asked is not None and asked[0] is result and asked[1] == lit.tobytes()

    def part_of(self, result: PairGeometry) -> str:
        """How many of the tokens a preview has asked."""
        return chart.asked(result)

    def basis(self, result: PairGeometry) -> str:
        """What the scatter rests on."""
        return chart.caption(result)

    def changes(self, before: PairGeometry, after: PairGeometry) -> list[Change]:
        """Neighbours, graphs and shapes before and after centring."""
        return geometry_changes(before, after)

    def reach(self, after: PairGeometry) -> str:
        """What of them centring can change."""
        return geometry_reach(after)

    def find_neighbours(self, request: Any, place: int, answer: Any, failed: Any) -> None:
        """The neighbours of a token as the request finds them."""
        ask_neighbours(request, place, answer, failed)

    def legend(self, request: Any) -> str:
        """How the card's neighbours were found."""
        by = "cosine" if request.metric == "cosine" else "Euclidean distance"
        centred = ", centred" if request.center else ""
        first = f" The first {MOST_SHOWN} are shown." if request.k > MOST_SHOWN else ""
        mean = centred_words(request)
        return f"The {request.k:,} nearest of the matched tokens by {by}{centred}{mean}.{first}"

    def edited(self) -> None:
        """Graphs and subspaces have settings only where they are compared."""
        super().edited()
        usable(self.top, "" if self.spaces.value else "the spaces are not compared")
        for control in (self.spectral_k, self.components):
            usable(control, "" if self.spectral.value else "the graphs are not compared")


def _has_spectra(state: PanelState) -> bool:
    return state.result is not None and bool(state.result.matrices)


def _headline(result: PairGeometry) -> str:
    beware = "".join(
        f'<div class="ep-alert" role="note"><b>Beware.</b> {escape(text)}</div>'
        for text in cautions(result)
    )
    said = [text for text in (chart.beside(result), *asides(result)) if text]
    more = "".join(f'<p class="ep-aside">{escape(text)}</p>' for text in said)
    return f"<p>{escape(chart.headline(result))}</p>{more}{beware}"
