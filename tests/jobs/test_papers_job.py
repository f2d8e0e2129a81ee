"""The paper tables end to end, against a hub that has the paper's models at reduced width."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import papers_items, papers_printed
from embtie_widgets.jobs.fetch import fetch
from embtie_widgets.jobs.papers import look_up, run_papers
from embtie_widgets.measures import alignment
from embtie_widgets.requests import COMPARISONS, ModelRef, PaperTablesRequest
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.requests.papers import ITEMS
from embtie_widgets.results import PaperItem, PaperNumber, PaperTables
from embtie_widgets.sources import hub
from tests.fresh import run_fresh
from tests.hub_server import HubServer, hub_of
from tests.measures.oracle import cosines
from tests.measures.test_spectral_distance import nearest, oracle
from tests.planted_papers import (
    NEO,
    OLMO_A,
    OLMO_B,
    OLMO_ROWS,
    OLMO_TOKENS,
    PYTHIA,
    QWEN_A,
    QWEN_B,
    SHARED,
    STEP,
    Matrix,
    neo_rows,
    plant,
    plant_olmo,
)

Planted = dict[str, dict[str, Matrix]]
PAIRS = ("table-1", "figure-1", "norms")
OLMO, NEO_NAME, QWEN = papers_printed.OLMO, papers_printed.NEO, papers_printed.QWEN


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HubServer, Planted]]:
    """A hub with all models, and one cache for all tests that ask it."""
    home = tmp_path_factory.mktemp("papers")
    with pytest.MonkeyPatch.context() as patch, hub_of(patch, home / "home") as server:
        patch.setenv("EMBTIE_CACHE", str(home / "cache"))
        yield server, plant(server, home / "models")


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub that has nothing, and a machine that has nothing."""
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    with hub_of(monkeypatch, tmp_path / "home") as server:
        yield server


@pytest.fixture(scope="module")
def made(world: tuple[HubServer, Planted]) -> PaperTables:
    """The items about pairs, of models that were fetched for it."""
    world[0].forget()
    return run(items=PAIRS, fetch=True)


def run(**asked: Any) -> PaperTables:
    found: PaperTables = ew.run(PaperTablesRequest(**asked))
    return found


def numbers(item: PaperItem) -> dict[tuple[str, str], PaperNumber]:
    return {(number.row, number.column): number for number in item.numbers}


def olmo(planted: Planted, rows: int) -> dict[str, Matrix]:
    return {
        "In": planted[OLMO_A]["input"][:rows],
        "Out": planted[OLMO_A]["output"][:rows],
        "Tied": planted[OLMO_B]["tied"][:rows],
    }


def neo(planted: Planted, rows_a: Any, rows_b: Any) -> dict[str, Matrix]:
    return {
        "In": planted[PYTHIA]["input"][rows_a],
        "Out": planted[PYTHIA]["output"][rows_a],
        "Tied": planted[NEO]["tied"][rows_b],
    }


def expected(values: dict[str, Matrix], center: bool = True) -> dict[tuple[str, str], float]:
    """The mean of every comparison under every map, in float64."""
    return {
        (f"{first}->{second}", column): float(
            cosines(values[first], values[second], map, center).mean()
        )
        for map, column in papers_printed.MAPS.items()
        for first, second in (name.split("->") for name in COMPARISONS)
    }


def test_table_1_takes_the_stored_rows_of_olmo_and_the_common_tokens_of_the_others(
    made: PaperTables, world: tuple[HubServer, Planted]
) -> None:
    found = numbers(made.items["table-1"])
    wanted = {
        OLMO: expected(olmo(world[1], OLMO_ROWS)),
        NEO_NAME: expected(neo(world[1], *neo_rows())),
    }
    assert made.failed == {}
    assert len(found) == sum(map(len, wanted.values())) == 18
    for family, values in wanted.items():
        for (name, column), value in values.items():
            number = found[f"{family}: {name}", column]
            assert number.value == pytest.approx(value, abs=1e-5)
            assert (number.origin, number.missing) == ("model", "")
            assert number.verdict in ("close", "differs")
    source = found[f"{OLMO}: In->Out", "Linear"].source
    assert source == f"{OLMO_A} and {OLMO_B}, {OLMO_ROWS:,} stored rows"
    assert f"{SHARED:,} tokens" in found[f"{NEO_NAME}: In->Out", "Linear"].source


def test_padding_rows_centring_and_row_numbers_are_computed_too(
    made: PaperTables, world: tuple[HubServer, Planted]
) -> None:
    item, planted = made.items["table-1"], world[1]
    ways = {name: facts["other ways"] for name, facts in item.settings.items()}
    tokens = f"on the {OLMO_TOKENS:,} tokens alone, without padding rows"
    rows = np.arange(50_257)
    wanted = {
        (OLMO, tokens): expected(olmo(planted, OLMO_TOKENS)),
        (OLMO, "without centring"): expected(olmo(planted, OLMO_ROWS), center=False),
        (NEO_NAME, "with rows paired by number instead of by token"): expected(
            neo(planted, rows, rows)
        ),
    }
    for (family, words), values in wanted.items():
        told = ways[family][words]
        assert {column for _, column in values} >= {key.split(", ")[1] for key in told}
        for key, value in told.items():
            name, column = key.split(", ")
            assert value == pytest.approx(values[name, column], abs=1e-5)
        assert any(words in note for note in item.notes)
    assert set(ways[OLMO]["without centring"]) == {f"{name}, Identity" for name in COMPARISONS}
    assert len(ways[OLMO][tokens]) == 9
    changed = ways[OLMO][tokens]["In->Out, Orthogonal"]
    plain = numbers(item)[f"{OLMO}: In->Out", "Orthogonal"].value
    assert changed != pytest.approx(plain, abs=1e-5)


def test_reasons_and_floors_stand_beside_what_differs(made: PaperTables) -> None:
    found = numbers(made.items["table-1"])
    linear = found[f"{OLMO}: In->Out", "Linear"]
    assert f"A matrix of {OLMO_A} is 50,304 x 16 here, not 50,304 x 2,048." in linear.reason
    assert "without padding rows" in linear.reason
    assert linear.floor == pytest.approx((16 / OLMO_ROWS) ** 0.5, abs=0.01)
    turned = found[f"{NEO_NAME}: Out->Tied", "Orthogonal"]
    assert "with rows paired by number instead of by token" in turned.reason
    assert turned.floor == pytest.approx(8 / (3 * np.pi) * (16 / SHARED) ** 0.5, abs=0.01)


def test_a_print_that_is_what_comes_here_agrees_and_one_that_comes_in_another_way_says_so(
    made: PaperTables, world: tuple[HubServer, Planted], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = expected(olmo(world[1], OLMO_ROWS))
    uncentred = expected(olmo(world[1], OLMO_ROWS), center=False)
    rows = tuple(
        (
            f"{uncentred[name, 'Identity']:.3f}",
            f"{right[name, 'Orthogonal']:.3f}",
            f"{right[name, 'Linear'] + 0.004:.3f}",
        )
        for name in COMPARISONS
    )
    monkeypatch.setattr(papers_printed, "_TABLE_1", {OLMO: rows})
    found = numbers(run(items=("table-1",)).items["table-1"])
    for name in COMPARISONS:
        identity, turned, linear = (
            found[f"{OLMO}: {name}", c] for c in papers_printed.MAPS.values()
        )
        assert (turned.verdict, turned.reason) == ("agrees", "")
        assert abs(turned.difference) < 0.0006
        assert (linear.verdict, linear.difference) == ("close", pytest.approx(-0.004, abs=6e-4))
        assert identity.verdict in ("close", "differs")
        assert f"The print is what comes without centring: {identity.printed}." in identity.reason


def test_figure_1_has_the_linear_means_and_their_histograms(
    made: PaperTables, world: tuple[HubServer, Planted]
) -> None:
    item, values = made.items["figure-1"], olmo(world[1], OLMO_ROWS)
    for name in COMPARISONS:
        first, second = name.split("->")
        scores = cosines(values[first], values[second], "linear")
        number = numbers(item)[f"{OLMO}: {name}", "mean"]
        assert number.value == pytest.approx(float(scores.mean()), abs=1e-5)
        drawn = item.settings[OLMO]["histograms"][name]
        counts, edges = np.histogram(scores, 80)
        assert np.abs(np.array(drawn["counts"]) - counts).sum() <= 4
        np.testing.assert_allclose(drawn["edges"], edges, atol=1e-5)


def test_norms_and_fits_are_of_all_stored_rows(
    made: PaperTables, world: tuple[HubServer, Planted]
) -> None:
    found, planted = numbers(made.items["norms"]), world[1]

    def value(row: str, column: str) -> float | None:
        return found[row, column].value

    for label, ref, matrix in (
        ("OLMo 1B (July 2024)", OLMO_A, "input"),
        ("OLMo 1B (July 2024)", OLMO_A, "output"),
        ("OLMo 1B", OLMO_B, "tied"),
        ("Pythia 2.8B", PYTHIA, "output"),
        ("GPT-Neo 2.7B", NEO, "tied"),
        ("Qwen3 4B", QWEN_B, "tied"),
        ("Qwen3 8B", QWEN_A, "input"),
    ):
        length = np.linalg.norm(planted[ref][matrix])
        assert value(f"Frobenius norm: {label}", matrix) == pytest.approx(length, rel=1e-5)
    largest = np.linalg.svd(planted[NEO]["tied"], compute_uv=False)[0]
    row = f"{papers_printed.LARGEST}: GPT-Neo 2.7B"
    assert value(row, "tied") == pytest.approx(largest, rel=1e-5)
    for label, ref, column in (
        ("OLMo 1B (July 2024)", f"{OLMO_A}@{STEP}", "step 2,000"),
        ("OLMo 1B (July 2024)", OLMO_A, "final"),
        ("Qwen3 8B", QWEN_A, "final"),
        ("Pythia 2.8B", PYTHIA, "final"),
    ):
        one = planted[ref]
        fit = cosines(one["input"], one["output"], "orthogonal").mean()
        assert value(f"{papers_printed.TURNED}: {label}", column) == pytest.approx(fit, abs=1e-5)
    lengths = {
        "In": np.linalg.norm(planted[QWEN_A]["input"], axis=1),
        "Out": np.linalg.norm(planted[QWEN_A]["output"], axis=1),
        "Tied": np.linalg.norm(planted[QWEN_B]["tied"], axis=1),
    }
    for column in ("In, Tied", "Out, Tied", "In, Out"):
        x, y = (lengths[name] for name in column.split(", "))
        together = np.corrcoef(x, y)[0, 1]
        row = f"{papers_printed.NORMS}: {QWEN}"
        assert value(row, column) == pytest.approx(together, abs=1e-5)
    by_number = neo(planted, np.arange(50_257), np.arange(50_257))
    for name in COMPARISONS:
        first, second = name.split("->")
        fit = cosines(by_number[first], by_number[second], "orthogonal").mean()
        row = f"{papers_printed.BY_NUMBER}: {NEO_NAME}"
        assert value(row, name) == pytest.approx(fit, abs=1e-5)


def test_table_5_is_of_uncentred_neighbours_and_of_the_graphs_of_64_of_them(
    empty: HubServer, tmp_path: Path
) -> None:
    rows, tokens = 330, 300
    planted = plant_olmo(empty, tmp_path / "models", rows, tokens)
    item = run(items=("table-5",), fetch=True, stand_in=False).items["table-5"]
    stored = {
        "In": planted[OLMO_A]["input"],
        "Out": planted[OLMO_A]["output"],
        "Tied": planted[OLMO_B]["tied"],
    }
    ways = item.settings[OLMO]["other ways"][f"on the {tokens} tokens alone, without padding rows"]
    for name in COMPARISONS:
        whole = [stored[one].double() for one in name.split("->")]
        alone = [matrix[:tokens] for matrix in whole]
        found = {c: numbers(item)[f"{OLMO}: {name}", c] for c in papers_printed.COLUMNS_5}
        for column, measure in zip(found, (shared_neighbours, graph_distance), strict=True):
            number = found[column]
            assert number.value == pytest.approx(measure(*whole), abs=2e-4)
            assert ways[f"{name}, {column}"] == pytest.approx(measure(*alone), abs=2e-4)
        assert found[papers_printed.KNN].floor == pytest.approx(10 / (rows - 1))
    qwen = [number for number in item.numbers if number.row.startswith(QWEN)]
    assert {(number.verdict, number.value) for number in qwen} == {("missing", None)}
    assert any("Qwen" in number.missing for number in qwen)


def test_rows_that_are_no_numbers_take_no_part_and_are_counted(
    empty: HubServer, tmp_path: Path
) -> None:
    planted = plant_olmo(empty, tmp_path / "models", 330, 300, broken=(7, 9))
    found = run(items=("table-1", "norms"), fetch=True, stand_in=False)
    clean = np.delete(np.arange(330), (7, 9))
    x, y = (planted[OLMO_A][name].double().numpy()[clean] for name in ("input", "output"))
    for map, column in papers_printed.MAPS.items():
        number = numbers(found.items["table-1"])[f"{OLMO}: In->Out", column]
        assert number.value == pytest.approx(cosines(x, y, map).mean(), abs=1e-6)
    assert f"{OLMO}: In->Out: 2 rows have no value" in " ".join(found.items["table-1"].notes)
    length = numbers(found.items["norms"])["Frobenius norm: OLMo 1B (July 2024)", "output"]
    assert length.value == pytest.approx(np.linalg.norm(y), rel=1e-6)


def shared_neighbours(x: Any, y: Any) -> float:
    """The mean share of the ten nearest that two matrices have in common."""
    both = zip(nearest(x, 10), nearest(y, 10), strict=True)
    return float(np.mean([len(set(a.tolist()) & set(b.tolist())) / 10 for a, b in both]))


def graph_distance(x: Any, y: Any) -> float:
    return float(oracle(nearest(x, 64), nearest(y, 64), 128)[0])


def test_no_more_than_the_matrices_was_fetched(
    made: PaperTables, world: tuple[HubServer, Planted]
) -> None:
    server, planted = world
    width = {OLMO_A: 4, OLMO_B: 4, f"{OLMO_A}@{STEP}": 4, PYTHIA: 2, NEO: 4, QWEN_A: 2, QWEN_B: 2}
    matrices = sum(m.size * width[ref] for ref, one in planted.items() for m in one.values())
    headers = 200_000
    assert matrices <= server.sent(".safetensors") <= matrices + headers
    assert set(made.hashes) >= {f"{OLMO_A}: In", f"{NEO}: Tied", f"{QWEN_B}: tied"}


def test_a_second_run_asks_no_network_and_measures_nothing(
    made: PaperTables, world: tuple[HubServer, Planted], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("measured again")

    for name in ("fit_pairs", "prepare"):
        monkeypatch.setattr(alignment, name, refused)
    world[0].forget()
    again = run(items=PAIRS)
    assert world[0].requests == []
    assert again.failed == {}
    for name in PAIRS:
        assert again.items[name].numbers == made.items[name].numbers
    assert look_up(PaperTablesRequest(items=PAIRS)).items == again.items
    assert look_up(PaperTablesRequest(items=("table-1",), seed=3)) is None


def test_what_is_not_here_is_named_with_its_size_and_the_bundled_pair_stands_in(
    empty: HubServer,
) -> None:
    found = run(items=("table-1", "norms"))
    assert empty.requests == []
    aligned = {m: ew.run(ew.AlignRequest(map=m)).comparisons for m in papers_printed.MAPS}
    for map, column in papers_printed.MAPS.items():
        number = numbers(found.items["table-1"])[f"{OLMO}: Out->Tied", column]
        assert number.value == aligned[map]["Out->Tied"].mean
        assert (number.origin, number.verdict) == ("stand-in", "stand-in")
        assert number.difference is None
        assert "nano-untied and nano-tied" in number.source
        assert OLMO_A in number.missing
        assert OLMO_B in number.missing
        assert number.missing_bytes == 3 * OLMO_ROWS * 2_048 * 2
    counted = found.items["norms"].count("stand-in"), found.items["norms"].count("missing")
    assert counted == (6, 14)


def test_without_stand_in_nothing_is_computed_and_chance_at_the_papers_sizes_stays(
    empty: HubServer,
) -> None:
    item = run(items=("table-1",), stand_in=False).items["table-1"]
    assert item.count("missing") == len(item.numbers)
    assert all(number.value is None and number.reason for number in item.numbers)
    found = numbers(item)
    floors = {
        (OLMO, "Orthogonal"): 0.171,
        (OLMO, "Linear"): 0.202,
        (NEO_NAME, "Orthogonal"): 0.223,
        (NEO_NAME, "Linear"): 0.263,
    }
    for (family, column), floor in floors.items():
        assert found[f"{family}: In->Out", column].floor == pytest.approx(floor, abs=6e-4)
    assert empty.requests == []


def test_a_model_that_was_looked_at_and_not_fetched_tells_its_files_and_exact_bytes(
    empty: HubServer, tmp_path: Path
) -> None:
    plant(empty, tmp_path / "models")
    hub.cost(OLMO_A)
    fetch(ModelRef(OLMO_B))
    empty.forget()
    number = run(items=("table-1",), stand_in=False).items["table-1"].numbers[0]
    assert number.missing_bytes == 2 * OLMO_ROWS * 16 * 4
    assert "model-00001-of-00002.safetensors, model-00002-of-00002.safetensors" in number.missing
    assert OLMO_B not in number.missing
    assert empty.requests == []


def test_what_came_in_part_only_is_missing_with_the_rest_of_its_bytes_and_is_brought_whole_later(
    empty: HubServer, tmp_path: Path
) -> None:
    plant_olmo(empty, tmp_path / "models", 3_000, 2_990)
    fetch(ModelRef(OLMO_B))
    whole = 2 * 3_000 * 16 * 4
    assert hub.cost(OLMO_A).total == whole
    empty.faults.breaks_after = [2**16, *[0] * 4]
    broken = run(items=("table-1",), fetch=True, stand_in=False).items["table-1"].numbers[0]
    assert broken.verdict == "missing"
    assert "broke" in broken.reason
    partly = run(items=("table-1",), stand_in=False).items["table-1"].numbers[0]
    assert partly.missing_bytes == whole - 2**16
    found = run(items=("table-1",), fetch=True, stand_in=False).items["table-1"].numbers[0]
    assert (found.origin, found.missing) == ("model", "")


@pytest.mark.parametrize(
    ("fault", "told"),
    [((403, "GatedRepo"), "gated"), ((503, "Unavailable"), "hub"), ((404, "RepoNotFound"), "hub")],
)
def test_what_the_hub_refuses_is_missing_with_its_own_words(
    empty: HubServer, fault: tuple[int, str], told: str
) -> None:
    empty.faults.api = fault
    item = run(items=("table-1",), fetch=True, stand_in=False).items["table-1"]
    assert empty.requests
    assert {number.verdict for number in item.numbers} == {"missing"}
    assert told in item.numbers[0].reason.lower()
    assert OLMO_A in item.numbers[0].missing


def test_a_family_that_fails_leaves_the_other_one(
    made: PaperTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    from embtie_widgets.jobs import papers_pairs

    whole = papers_pairs.open_pair

    def broken(request: Any, progress: Any) -> Any:
        if request.a.ref == PYTHIA:
            raise EmbtieError("The file is cut off.", "Fetch it again.")
        return whole(request, progress)

    monkeypatch.setattr(papers_pairs, "open_pair", broken)
    again = run(items=("table-1",))
    assert again.failed == {}
    for number, before in zip(
        again.items["table-1"].numbers, made.items["table-1"].numbers, strict=True
    ):
        if number.row.startswith(OLMO):
            assert number == before
        else:
            assert (number.verdict, number.value) == ("missing", None)
            assert number.reason == "The file is cut off. Fetch it again."


def test_an_item_that_breaks_leaves_the_others_and_says_so(
    empty: HubServer, monkeypatch: pytest.MonkeyPatch, logged_faults: list[str]
) -> None:
    def broken(*_: Any) -> PaperItem:
        raise ZeroDivisionError

    monkeypatch.setattr("embtie_widgets.jobs.papers_parameters.make", broken)
    found = run(items=("table-3",))
    assert list(found.failed) == ["table-3"]
    assert "went wrong" in found.failed["table-3"]
    assert {number.verdict for number in found.items["table-3"].numbers} == {"missing"}
    assert "went wrong" in found.items["table-3"].numbers[0].reason
    assert logged_faults
    logged_faults.clear()


class Told:
    """A progress that keeps stages and what is handed on, and may stop the work."""

    def __init__(self, stop_at: str = "") -> None:
        self.stages: list[str] = []
        self.shown: list[PaperTables] = []
        self.stop_at = stop_at

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.stages.append(stage)
        if self.stop_at and self.stop_at in stage:
            raise Cancelled

    def partial(self, result: Any) -> None:
        self.shown.append(result)


def test_items_are_handed_on_one_by_one_and_stages_name_theirs(empty: HubServer) -> None:
    told = Told()
    asked = PaperTablesRequest(items=("table-1", "table-3", "norms"))
    result = run_papers(asked, told)
    assert [list(one.items) for one in told.shown] == [
        ["table-1"],
        ["table-1", "table-3"],
        ["table-1", "table-3", "norms"],
    ]
    assert {type(one) for one in told.shown} == {PaperTables}
    assert told.shown[-1].items == result.items
    assert any(stage.startswith("table-1 (1 of 3): ") for stage in told.stages)
    assert any(stage.startswith("norms (3 of 3): ") for stage in told.stages)


def test_a_cancelled_run_stops_and_keeps_nothing(empty: HubServer) -> None:
    told = Told(stop_at="norms")
    asked = PaperTablesRequest(items=("table-3", "norms"))
    with pytest.raises(Cancelled):
        run_papers(asked, told)
    assert [list(one.items) for one in told.shown] == [["table-3"]]
    assert look_up(asked) is None


def test_every_item_is_registered_in_the_papers_order_and_prints_without_torch() -> None:
    assert list(papers_items.ITEMS) == list(ITEMS)
    code = (
        "from embtie_widgets.jobs.papers_items import ITEMS;"
        "assert all(one.as_printed().name == name for name, one in ITEMS.items())"
    )
    run_fresh(code, "torch")


@pytest.mark.parametrize("name", ITEMS)
def test_every_printed_number_is_one_and_has_its_place_once(name: str) -> None:
    item = papers_items.ITEMS[name].as_printed()
    assert (item.name, item.paper) == (name, ITEMS[name])
    assert item.title
    assert item.numbers
    places = [(number.row, number.column) for number in item.numbers]
    assert len(set(places)) == len(places)
    for number in item.numbers:
        low, high = number.ends
        assert low <= high
        assert number.value is None


def test_the_estimate_counts_what_stands_in_and_says_nothing_of_a_download(
    empty: HubServer,
) -> None:
    estimate = KINDS["paper-tables"].part("estimate")
    assert estimate(PaperTablesRequest(items=("table-3", "table-4"))).seconds == 0
    both = estimate(PaperTablesRequest(items=("table-1", "table-5")))
    one = estimate(PaperTablesRequest(items=("table-1",)))
    assert 0 < one.seconds < both.seconds
    assert estimate(PaperTablesRequest(items=("table-1",), stand_in=False)).seconds == 0
    assert estimate(PaperTablesRequest(items=("table-1",), fetch=True)) is None
