"""The panel of neighbours and spectra, with jobs that the test steps through."""

import threading
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.geometry import GeometryPanel
from embtie_widgets.requests import GeometryRequest
from embtie_widgets.requests.link import Link, decode
from tests.fresh import run_fresh
from tests.panels.fake_jobs import Cost, FakeJob, FakeRunner, parts
from tests.sample_geometry import geometry_result


class GeometryJob(FakeJob):
    def finish(self, result: Any = None) -> None:
        asked = self.request
        made = geometry_result(k=asked.k, metric=asked.metric, center=asked.center)
        super().finish(made if result is None else result)


class GeometryRunner(FakeRunner):
    def submit(self, request: Any, listener: Any, previews: bool = True) -> FakeJob:
        self.jobs.append(GeometryJob(request, listener, previews))
        if self.at_once:
            self.jobs[-1].finish()
        return self.jobs[-1]


@dataclass
class Asked:
    """Takes questions for neighbours or spectra, and answers when it is told to."""

    questions: list[tuple[Any, ...]] = field(default_factory=list)

    def __call__(self, *question: Any) -> None:
        self.questions.append(question)

    def answer(self, found: Any, which: int = -1) -> None:
        worker = threading.Thread(target=self.questions[which][-2], args=(found,))
        worker.start()
        worker.join(5)


@pytest.fixture
def runner() -> GeometryRunner:
    return GeometryRunner(at_once=True)


@pytest.fixture
def spectra() -> Asked:
    return Asked()


@pytest.fixture
def near() -> Asked:
    return Asked()


@pytest.fixture
def panel(runner: GeometryRunner, spectra: Asked, near: Asked) -> GeometryPanel:
    given = {**parts(runner, Cost()), "ask": near, "ask_spectra": spectra}
    return GeometryPanel(parts=given)


def traces(figure: Any) -> list[Any]:
    return list(go.Figure(figure.shown).data)


def thin(panel: GeometryPanel) -> list[Any]:
    return [t for t in traces(panel.spectra) if t.name.startswith("thin:") and t.visible]


def test_it_opens_with_sentence_charts_and_tables(panel: GeometryPanel) -> None:
    assert panel.request == GeometryRequest()
    assert "closer to the untied output" in panel.headline.value
    assert [len(trace.x) for trace in traces(panel.chart)[:3]] == [12, 12, 12]
    assert [len(trace.x) for trace in traces(panel.spectra)[:3]] == [16, 16, 16]
    for word in ("KNN@10", "spectral distance", "CKA, debiased", "subspace overlap", "floor"):
        assert word in panel.comparisons.value
    for word in ("300 × 16", "effective rank", "participation ratio", "isotropy", "B-ratio"):
        assert word in panel.matrices.value


def test_every_measure_stands_over_its_floor(panel: GeometryPanel) -> None:
    row = panel.comparisons.value.split("Out → Tied")[1].split("</tr>")[0]
    known = panel.result.overlaps["Out->Tied"]
    assert f"{known.mean:.3f}" in row
    assert row.count("ep-floor") == 5
    assert f"{known.floor:.5f}" in row


@pytest.mark.parametrize(
    ("control", "value"),
    [
        ("k", 25),
        ("metric", "euclidean"),
        ("center", True),
        ("spectral", False),
        ("spaces", False),
        ("spectral_k", 32),
        ("components", 64),
        ("top", 50),
        ("sample", 100),
        ("seed", 11),
        ("device", "cpu"),
    ],
)
def test_each_control_edits_its_field(
    panel: GeometryPanel, runner: GeometryRunner, control: str, value: object
) -> None:
    getattr(panel, control).value = value
    assert getattr(panel.request, control) == value
    assert runner.jobs[-1].request == replace(GeometryRequest(), **{control: value})


def test_what_k_cannot_be_is_said_in_words(panel: GeometryPanel) -> None:
    panel.k.value = 2.5
    assert "k is 2.5; expected a whole number" in panel.notice.words
    assert panel.result.k == 10


def test_graphs_have_settings_only_where_they_are_compared(panel: GeometryPanel) -> None:
    assert not panel.spectral_k.disabled
    panel.spectral.value = False
    assert panel.spectral_k.disabled
    assert panel.components.disabled


def test_subspaces_have_a_size_only_where_they_are_compared(panel: GeometryPanel) -> None:
    assert not panel.top.disabled
    panel.spaces.value = False
    assert panel.top.disabled


def test_a_result_without_spaces_says_where_they_are_and_offers_none_of_them(
    spectra: Asked, near: Asked
) -> None:
    runner = GeometryRunner()
    panel = GeometryPanel(
        GeometryRequest(k=9), parts={**parts(runner, Cost()), "ask_spectra": spectra, "ask": near}
    )
    whole = geometry_result(k=9)
    panel.start()
    runner.jobs[-1].finish(replace(whole, spectral={}, spaces={}, matrices={}))
    assert "come with the exact one" in panel.spectra_caption.value
    assert "CKA" not in panel.comparisons.value
    assert "300 × 16" in panel.matrices.value
    files = panel.exports.files
    offers = ("Spectra SVG", "Spectra PNG", "Spectra CSV")
    assert all(files[name].disabled for name in offers)
    assert not files["CSV"].disabled
    panel.selection = {1, 2}
    assert not spectra.questions
    panel.spectral.value = False
    panel.start()
    runner.jobs[-1].finish(whole)
    assert "singular values" in panel.spectra_caption.value
    assert not any(files[name].disabled for name in offers)


def test_the_scatter_offers_spread_overlaps_and_the_table_whole_numbers(
    panel: GeometryPanel,
) -> None:
    assert panel.scatter.y.value == "knn Out->Tied"
    assert panel.scatter.x.value == "log_count"
    names = [column["name"] for column in panel.tokens.table.columns]
    assert {"overlap In->Out", "overlap Out->Tied", "overlap In->Tied", "duplicate"} <= set(names)
    assert not [name for name in names if name.startswith("knn")]
    labels = [label for label, _ in panel.scatter.y.options]
    assert any("spread within each step" in label for label in labels)


def test_a_selection_lights_the_overlaps_and_asks_for_its_spectra(
    panel: GeometryPanel, spectra: Asked
) -> None:
    panel.selection = {4, 9, 2}
    lit = [t for t in traces(panel.chart) if t.name.startswith("selected") and t.visible]
    assert [sum(trace.y) for trace in lit] == [pytest.approx(1)] * 3
    request, places, wanted = spectra.questions[-1][:3]
    assert request == GeometryRequest()
    np.testing.assert_array_equal(places, [2, 4, 9])
    assert wanted()
    assert not thin(panel)
    spectra.answer({"In": np.array([2.0, 1.0]), "Out": np.ones(2), "Tied": np.ones(2)})
    assert len(thin(panel)) == 3


def test_spectra_of_an_older_selection_are_dropped(panel: GeometryPanel, spectra: Asked) -> None:
    panel.selection = {4}
    panel.selection = {4, 9}
    assert [wanted() for _, _, wanted, *_ in spectra.questions] == [False, True]
    spectra.answer({"In": np.ones(1)}, 0)
    assert not thin(panel)
    spectra.answer({"In": np.ones(2)}, 1)
    assert len(thin(panel)) == 1
    panel.selection = set()
    assert not thin(panel)
    assert len(spectra.questions) == 2


def test_spectra_of_a_selection_are_asked_once_and_again_for_another_result(
    panel: GeometryPanel, spectra: Asked
) -> None:
    panel.selection = {4, 9}
    spectra.answer({"In": np.ones(2)})
    panel.tokens.table.page = 1
    panel.selection = {9, 4}
    assert len(spectra.questions) == 1
    panel.center.value = True
    assert len(spectra.questions) == 2
    assert spectra.questions[-1][0] == GeometryRequest(center=True)
    assert not thin(panel)


def test_a_search_lights_both_charts(panel: GeometryPanel, spectra: Asked) -> None:
    panel.tokens.table.query = "word24"
    assert len(spectra.questions[-1][1]) == 11
    assert any(t.visible for t in traces(panel.chart)[3:6])


def test_failed_spectra_are_told(panel: GeometryPanel, spectra: Asked) -> None:
    panel.selection = {4}
    fail = spectra.questions[-1][-1]
    worker = threading.Thread(target=fail, args=(EmbtieError("It is gone.", "Run again."),))
    worker.start()
    worker.join(5)
    assert "It is gone." in panel.notice.words


def test_a_click_asks_for_neighbours_by_the_requests_own_settings(
    panel: GeometryPanel, near: Asked
) -> None:
    panel.metric.value = "euclidean"
    panel.k.value = 30
    panel.tokens.table.clicked = 7
    request, place = near.questions[-1][:2]
    assert (request, place) == (GeometryRequest(metric="euclidean", k=30), 7)
    lists = {"In": [(1, 0.5), (2, 0.6)], "Out": [(1, 0.5), (3, 0.9)], "Tied": [(1, 0.4), (2, 0.8)]}
    near.answer(type("Found", (), {"position": 7, "neighbours": lists})())
    card = panel.card.card
    assert [one["name"] for one in card.lists] == ["In", "Out", "Tied"]
    assert [row[3] for row in card.lists[0]["rows"]] == ["all", "some"]
    assert "30 nearest of the matched tokens by Euclidean distance" in card.status
    assert "The first 20 are shown" in card.status


def test_the_link_round_trip_restores_settings_view_and_tokens(
    panel: GeometryPanel, runner: GeometryRunner, spectra: Asked, near: Asked
) -> None:
    panel.link.page.page = {"host": "voila", "query": "", "url": "http://localhost/"}
    panel.k.value, panel.spectral.value = 5, False
    panel.scatter.x.value = "knn In->Tied"
    panel.selection = {3, 8}
    link = decode(panel.link.page.query)
    assert isinstance(link, Link)
    given = {**parts(runner, Cost()), "ask": near, "ask_spectra": spectra}
    other = GeometryPanel(parts=given)
    other.open_link(link)
    assert other.request == GeometryRequest(k=5, spectral=False)
    assert other.selection == {3, 8}
    assert other.scatter.x.value == "knn In->Tied"
    assert other.k.value == 5


def test_the_files_are_those_of_both_charts(panel: GeometryPanel) -> None:
    labels = list(panel.exports.files)
    for label in ("CSV", "HTML", "SVG", "PNG", "Spectra SVG", "Spectra PNG", "Spectra CSV"):
        assert label in labels
    offer = next(o for o in panel.exports._offers if o.label == "Spectra CSV")
    lines = offer.make(panel.request, panel.result).decode().splitlines()
    assert lines[0].startswith('# {"embtie"')
    assert lines[1] == "rank,In,Out,Tied"
    assert len(lines) == 18


def test_a_preview_says_how_many_tokens_it_rests_on(panel: GeometryPanel) -> None:
    some = geometry_result()
    for one in some.overlaps.values():
        one.per_token[20:] = np.nan
    assert panel.part_of(some) == "19 of 299 tokens"
    assert some.sampled


def test_without_an_output_matrix_the_rest_is_shown(
    panel: GeometryPanel, runner: GeometryRunner
) -> None:
    whole = geometry_result()
    alone = replace(
        whole,
        overlaps={"In->Tied": whole.overlaps["In->Tied"]},
        spectral={},
        spaces={"In->Tied": whole.spaces["In->Tied"]},
        matrices={name: whole.matrices[name] for name in ("In", "Tied")},
        norms={name: whole.norms[name] for name in ("In", "Tied")},
        duplicates={name: whole.duplicates[name] for name in ("In", "Tied")},
    )
    runner.at_once = False
    panel.k.value = 11
    runner.jobs[-1].finish(alone)
    assert "cannot be compared" in panel.headline.value
    assert "Out →" not in panel.comparisons.value
    assert "spectral distance" not in panel.comparisons.value
    assert panel.scatter.y.value in ("knn In->Tied", "knn Out->Tied")
    assert panel.matrices.value.count('scope="col"') == 2


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(EmbtieError, match="metric"):
        GeometryPanel(metric="taxi", parts=parts(GeometryRunner(at_once=True), Cost()))


def test_the_panel_opens_without_torch() -> None:
    code = "import embtie_widgets as ew; p = ew.GeometryPanel(); assert p.result is not None"
    run_fresh(code, "torch", "transformers", "plotly", "pandas")
