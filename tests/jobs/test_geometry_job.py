"""Neighbours and spectra carried out end to end, against the measures and against numpy."""

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import geometry as job
from embtie_widgets.jobs import geometry_cost, geometry_parts, pair_runs
from embtie_widgets.jobs.estimate import experience
from embtie_widgets.jobs.geometry_cost import estimate_geometry, preview
from embtie_widgets.jobs.geometry_lookup import (
    ask_neighbours,
    ask_spectra,
    neighbours_card,
    selected_spectra,
)
from embtie_widgets.requests import GeometryRequest, ModelRef
from embtie_widgets.results.storage import from_bytes, to_bytes

ROWS, WIDTH = 120, 6
QUICK = {"k": 5, "spectral_k": 8, "components": 12, "top": 4}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def matrices() -> dict[str, torch.Tensor]:
    """In, Out and a Tied that is Out turned into a larger width."""
    generator = torch.Generator().manual_seed(5)
    e, u = torch.randn(2, ROWS, WIDTH, generator=generator)
    turn = torch.linalg.qr(torch.randn(WIDTH + 2, WIDTH, generator=generator))[0]
    return {"In": e, "Out": u, "Tied": u @ turn.T}


def written(folder: Path, matrices: dict[str, torch.Tensor]) -> GeometryRequest:
    """A request for these matrices in files; B lists A's tokens backwards, and two of its own."""
    files = {"In": "e", "Out": "u", "Tied": "w"}
    for name, matrix in matrices.items():
        more = torch.ones(2, matrix.shape[1], dtype=matrix.dtype)
        stored = torch.cat([matrix.flip(0), more]) if name == "Tied" else matrix
        save_file({"weight": stored.contiguous()}, folder / f"{files[name]}.safetensors")
    tokens = [f"t{row}" for row in range(len(matrices["In"]))]
    (folder / "a.txt").write_text("\n".join(tokens) + "\n")
    (folder / "b.txt").write_text("\n".join([*tokens[::-1], "x", "y"]) + "\n")
    output = str(folder / "u.safetensors") if "Out" in matrices else None
    a = ModelRef(str(folder / "e.safetensors"), None, output, str(folder / "a.txt"))
    b = ModelRef(str(folder / "w.safetensors"), None, None, str(folder / "b.txt"), True)
    return GeometryRequest(a, b, **QUICK)


@pytest.fixture
def request_(tmp_path: Path, matrices: dict[str, torch.Tensor]) -> GeometryRequest:
    return written(tmp_path, matrices)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often each measure was taken."""
    seen = dict.fromkeys(("neighbour_lists", "omnibus_distance", "pair_geometry"), 0)

    def counting(name: str) -> Any:
        real = getattr(geometry_parts, name)

        def called(*given: Any, **options: Any) -> Any:
            seen[name] += 1
            return real(*given, **options)

        return called

    for name in seen:
        monkeypatch.setattr(geometry_parts, name, counting(name))
    return seen


def test_it_says_what_the_measures_say(
    request_: GeometryRequest, matrices: dict[str, torch.Tensor]
) -> None:
    result = ew.run(request_)
    pairs = {"In->Out": ("In", "Out"), "Out->Tied": ("Out", "Tied"), "In->Tied": ("In", "Tied")}
    for name, two in pairs.items():
        x, y = (matrices[one] for one in two)
        alone = ew.knn_overlap(x, y, 5)
        np.testing.assert_array_equal(result.overlaps[name].per_token, alone.per_token)
        assert result.overlaps[name].floor == alone.floor == 5 / (ROWS - 1)
        apart = ew.spectral_distance(x, y, 8, 12)
        assert result.spectral[name].distance == pytest.approx(apart.distance, abs=1e-6)
        assert result.spectral[name].floor == pytest.approx(apart.floor, abs=1e-6)
        assert result.spaces[name].cka.value == pytest.approx(ew.cka(x, y).value, abs=1e-9)
        unbiased = ew.cka(x, y, debiased=True).value
        assert result.spaces[name].debiased_cka.value == pytest.approx(unbiased, abs=1e-9)
    for name, matrix in matrices.items():
        sigma = np.linalg.svd(matrix.double().numpy(), compute_uv=False)
        found = result.matrices[name].spectrum.singular_values
        np.testing.assert_allclose(found[:WIDTH], sigma[:WIDTH], rtol=1e-6)


def test_a_turned_matrix_of_another_width_has_the_same_neighbours(
    request_: GeometryRequest,
) -> None:
    result = ew.run(request_)
    assert result.overlaps["Out->Tied"].mean == 1.0
    assert result.spectral["Out->Tied"].distance == pytest.approx(0, abs=1e-9)
    assert result.spaces["Out->Tied"].cka.value == pytest.approx(1, abs=1e-6)
    assert result.numbers()["Tied"]["width"] == WIDTH + 2
    assert result.checks == {
        "self overlap": 1.0,
        "self distance": 0.0,
        "self CKA": pytest.approx(1),
    }


def test_rows_tokens_and_norms_are_those_of_the_match(
    request_: GeometryRequest, matrices: dict[str, torch.Tensor]
) -> None:
    result = ew.run(request_)
    assert result.counts["matched"] == ROWS
    assert result.counts["only_b"] == 2
    assert (result.tokens[3], result.rows_a[3], result.rows_b[3]) == (b"t3", 3, ROWS - 4)
    np.testing.assert_allclose(
        result.norms["Tied"], matrices["Tied"].double().norm(dim=1), rtol=1e-6
    )
    assert set(result.hashes) == {"In", "Out", "Tied"}
    frame = result.to_frame()
    assert {"token", "norm In", "overlap Out->Tied", "duplicate Tied"} <= set(frame.columns)
    assert len(frame) == ROWS


@pytest.mark.parametrize("change", [{"metric": "euclidean"}, {"center": True}, {"k": 20}])
def test_settings_reach_the_measure(
    request_: GeometryRequest, matrices: dict[str, torch.Tensor], change: dict[str, Any]
) -> None:
    asked = replace(request_, **change)
    result = ew.run(asked)
    how = (asked.k, asked.metric, asked.center)
    alone = ew.knn_overlap(matrices["In"], matrices["Out"], *how)
    np.testing.assert_array_equal(result.overlaps["In->Out"].per_token, alone.per_token)
    graphs = ew.spectral_distance(matrices["In"], matrices["Out"], 8, 12)
    assert result.spectral["In->Out"].distance == pytest.approx(graphs.distance, abs=1e-6)


def test_without_graphs_there_is_no_spectral_distance(request_: GeometryRequest) -> None:
    result = ew.run(replace(request_, spectral=False))
    assert result.spectral == {}
    assert all(row["spectral"] is None for row in result.summary())


def test_without_spaces_nothing_is_said_of_matrices_as_wholes(
    request_: GeometryRequest, counted: dict[str, int]
) -> None:
    result = ew.run(replace(request_, spaces=False))
    assert counted == {"neighbour_lists": 3, "omnibus_distance": 3, "pair_geometry": 0}
    assert result.spaces == result.matrices == {}
    assert result.checks["self CKA"] == pytest.approx(1)
    assert all(row["cka"] is row["subspace_floor"] is None for row in result.summary())
    assert set(result.numbers()["Tied"]) == {"rows", "width", "duplicates"}
    assert len(result.spectra_frame()) == 0
    assert "CKA" not in repr(result)
    again = from_bytes(to_bytes(result))
    assert again.numbers() == result.numbers()


def test_the_exact_run_after_a_preview_makes_every_part_once(
    request_: GeometryRequest, counted: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geometry_cost, "PREVIEW_SAMPLE", 20)
    ew.run(preview(request_))
    assert counted == {"neighbour_lists": 3, "omnibus_distance": 0, "pair_geometry": 0}
    exact = ew.run(request_)
    assert counted == {"neighbour_lists": 6, "omnibus_distance": 3, "pair_geometry": 1}
    assert exact.matrices.keys() == {"In", "Out", "Tied"}
    assert ew.run(preview(request_)).settings["cached"]
    again = ew.run(replace(preview(request_), seed=4))
    assert counted["neighbour_lists"] == 6
    assert again.matrices == {}


def test_a_second_run_is_recalled(request_: GeometryRequest, counted: dict[str, int]) -> None:
    first, again = ew.run(request_), ew.run(request_)
    assert (first.settings["cached"], again.settings["cached"]) == (False, True)
    assert again.summary() == first.summary()
    assert counted == {"neighbour_lists": 3, "omnibus_distance": 3, "pair_geometry": 1}
    assert pair_runs.look_up(request_).summary() == first.summary()


def test_without_a_cache_lists_are_found_once_for_neighbours_and_all_graphs(
    request_: GeometryRequest, counted: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    ew.run(request_)
    assert counted["neighbour_lists"] == 3
    ew.run(replace(request_, metric="euclidean"))
    assert counted["neighbour_lists"] == 3 + 6


def test_a_shorter_k_is_cut_from_the_lists_that_are_kept(
    request_: GeometryRequest, matrices: dict[str, torch.Tensor], counted: dict[str, int]
) -> None:
    ew.run(request_)  # the graphs have lists of 8
    result = ew.run(replace(request_, k=3))
    assert counted == {"neighbour_lists": 3, "omnibus_distance": 3, "pair_geometry": 1}
    alone = ew.knn_overlap(matrices["In"], matrices["Tied"], 3)
    np.testing.assert_array_equal(result.overlaps["In->Tied"].per_token, alone.per_token)
    longer = ew.run(replace(request_, k=9))
    assert counted["neighbour_lists"] == 6
    assert longer.overlaps["In->Out"].settings["k"] == 9


def test_graphs_can_be_turned_on_later_and_off_again(
    request_: GeometryRequest, counted: dict[str, int]
) -> None:
    ew.run(replace(request_, k=9, spectral=False))
    with_graphs = ew.run(replace(request_, k=9))
    assert counted == {"neighbour_lists": 3, "omnibus_distance": 3, "pair_geometry": 1}
    assert len(with_graphs.spectral) == 3


def test_another_partner_finds_the_lists_of_the_first_model(
    request_: GeometryRequest,
    matrices: dict[str, torch.Tensor],
    tmp_path: Path,
    counted: dict[str, int],
) -> None:
    ew.run(replace(request_, spectral=False))
    (tmp_path / "other").mkdir()
    changed = {**matrices, "Tied": torch.randn(ROWS, 4)}
    other = written(tmp_path / "other", changed)
    ew.run(replace(other, spectral=False))
    assert counted["neighbour_lists"] == 4


def test_a_changed_file_is_measured_anew(
    request_: GeometryRequest, tmp_path: Path, matrices: dict[str, torch.Tensor]
) -> None:
    first = ew.run(request_)
    again = ew.run(written(tmp_path, {**matrices, "Tied": torch.randn(ROWS, 8)}))
    assert again.hashes["Tied"] != first.hashes["Tied"]
    assert again.overlaps["Out->Tied"].mean < 0.5


def test_a_sample_asks_some_tokens_among_all_candidates(
    request_: GeometryRequest, counted: dict[str, int]
) -> None:
    some = ew.run(replace(request_, sample=30, spectral=False))
    whole = ew.run(replace(request_, spectral=False))
    assert some.asked == 30
    assert some.sampled
    assert not whole.sampled
    for name, one in some.overlaps.items():
        asked = np.isfinite(one.per_token)
        np.testing.assert_array_equal(one.per_token[asked], whole.overlaps[name].per_token[asked])
    assert counted["neighbour_lists"] == 6
    other = ew.run(replace(request_, sample=40, seed=1, spectral=False))
    assert counted["neighbour_lists"] == 6  # whole lists are there by now
    assert other.asked == 40


def test_lists_of_a_sample_are_not_taken_for_whole_ones(
    request_: GeometryRequest, counted: dict[str, int]
) -> None:
    ew.run(replace(request_, sample=30, spectral=False))
    assert ew.run(replace(request_, spectral=False)).asked == ROWS


def test_rows_that_are_not_finite_have_no_value_and_are_counted(
    matrices: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    matrices["In"][7, 2] = float("nan")
    matrices["Tied"][9, 0] = float("inf")
    matrices["Out"][11] = 0
    result = ew.run(written(tmp_path, matrices))
    for one in result.overlaps.values():
        assert np.flatnonzero(np.isnan(one.per_token)).tolist() == [7, 9, 11]
        assert one.floor == 5 / (ROWS - 4)
    assert (~result.usable).sum() == 3
    assert any("2 tokens take no part" in note and "not finite" in note for note in result.notes)
    assert any("1 token takes no part" in note and "zero" in note for note in result.notes)
    clean = np.delete(np.arange(ROWS), [7, 9, 11])
    alone = ew.knn_overlap(matrices["In"][clean], matrices["Out"][clean], 5)
    np.testing.assert_array_equal(result.overlaps["In->Out"].per_token[clean], alone.per_token)
    apart = ew.spectral_distance(matrices["In"][clean], matrices["Out"][clean], 8, 12)
    assert result.spectral["In->Out"].distance == pytest.approx(apart.distance, abs=1e-6)


def test_duplicates_are_flagged_and_told(matrices: dict[str, torch.Tensor], tmp_path: Path) -> None:
    matrices["Out"][4] = matrices["Out"][40]
    result = ew.run(written(tmp_path, matrices))
    assert np.flatnonzero(result.duplicates["Out"]).tolist() == [4, 40]
    assert not result.duplicates["In"].any()
    assert result.numbers()["Out"]["duplicates"] == 2
    assert any("2 tokens have in Out the very row of another" in note for note in result.notes)


def test_a_model_without_output_leaves_the_comparison_that_remains(
    matrices: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    del matrices["Out"]
    result = ew.run(written(tmp_path, matrices))
    assert list(result.overlaps) == list(result.spectral) == list(result.spaces) == ["In->Tied"]
    assert list(result.matrices) == ["In", "Tied"]
    assert any("Out is left out" in note for note in result.notes)


def test_too_few_tokens_for_graphs_leave_the_rest(request_: GeometryRequest) -> None:
    result = ew.run(replace(request_, spectral_k=ROWS))
    assert result.spectral == {}
    assert result.overlaps["Out->Tied"].mean == 1.0
    assert any("The spectral distance was left out" in note for note in result.notes)


def test_what_graphs_refuse_is_a_note_and_no_loss(request_: GeometryRequest) -> None:
    result = ew.run(replace(request_, components=2 * ROWS + 1))
    assert result.spectral == {}
    assert sum("No spectral distance of" in note for note in result.notes) == 3
    assert result.overlaps["Out->Tied"].mean == 1.0


def test_more_neighbours_than_tokens_are_refused_in_words(request_: GeometryRequest) -> None:
    with pytest.raises(EmbtieError, match=f"expected a whole number from 1 to {ROWS - 1}"):
        ew.run(replace(request_, k=ROWS))


def test_a_failed_identity_check_withholds_the_result(
    request_: GeometryRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    from embtie_widgets.measures import geometry_checks

    real = geometry_checks.cka

    def wrong(*given: Any, **options: Any) -> Any:
        return replace(real(*given, **options), value=0.9)

    monkeypatch.setattr(geometry_checks, "cka", wrong)
    with pytest.raises(EmbtieError, match=r"self CKA of a matrix is 0\.9"):
        ew.run(request_)


def test_it_can_be_cancelled_and_what_was_done_is_kept(
    request_: GeometryRequest, counted: dict[str, int]
) -> None:
    def stop_at(word: str) -> Any:
        def progress(stage: str, _done: int, _total: int) -> None:
            if word in stage:
                raise Cancelled

        return progress

    with pytest.raises(Cancelled):
        ew.run(request_, progress=stop_at("graphs: Out and Tied"))
    assert counted["omnibus_distance"] == 1
    ew.run(request_)
    assert counted == {"neighbour_lists": 3, "omnibus_distance": 3, "pair_geometry": 1}


def test_stages_say_which_matrix_they_are_of(request_: GeometryRequest) -> None:
    stages = []
    ew.run(request_, progress=lambda stage, *_: stages.append(stage))
    for word in ("neighbours: In", "neighbours: Tied", "In and Out"):
        assert any(word in stage for stage in stages)


def test_the_card_has_the_neighbours_of_the_request(
    request_: GeometryRequest, matrices: dict[str, torch.Tensor]
) -> None:
    ew.run(request_)
    card = neighbours_card(replace(request_, metric="euclidean", center=True), 17)
    for name, matrix in matrices.items():
        rows = [place for place, _ in card.neighbours[name]]
        away = torch.cdist(matrix[17][None].double(), matrix.double())[0]
        away[17] = torch.inf
        assert rows == away.argsort()[:5].tolist()
    assert len(neighbours_card(replace(request_, k=60), 17).neighbours["In"]) == 20


def test_the_card_keeps_to_the_tokens_that_take_part(
    matrices: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    matrices["In"][7] = float("nan")
    request = written(tmp_path, matrices)
    result = ew.run(request)
    assert neighbours_card(request, 7).neighbours == {"In": [], "Out": [], "Tied": []}
    for place in (3, 8, 100):
        lists = neighbours_card(request, place).neighbours
        kept = {name: {row for row, _ in rows} for name, rows in lists.items()}
        common = len(kept["In"] & kept["Out"]) / 5
        assert common == result.overlaps["In->Out"].per_token[place]
        assert 7 not in kept["Out"]


def test_the_spectrum_of_a_selection_is_that_of_its_rows(
    request_: GeometryRequest, matrices: dict[str, torch.Tensor]
) -> None:
    places = np.array([2, 3, 50])
    found = selected_spectra(request_, places)
    for name, matrix in matrices.items():
        sigma = np.linalg.svd(matrix[places].double().numpy(), compute_uv=False)
        np.testing.assert_allclose(found[name], sigma / np.sqrt(3), rtol=1e-6)


def test_quick_questions_are_answered_elsewhere_and_old_ones_not_at_all(
    request_: GeometryRequest,
) -> None:
    ew.run(request_)
    heard: dict[str, Any] = {}
    done = threading.Event()

    def answer(found: Any) -> None:
        heard["found"], heard["thread"] = found, threading.current_thread()
        done.set()

    ask_neighbours(request_, 3, answer, pytest.fail)
    assert done.wait(20)
    assert len(heard["found"].neighbours["Out"]) == 5
    assert heard["thread"] is not threading.main_thread()
    done.clear()
    ask_spectra(request_, np.array([1, 2]), lambda: False, answer, pytest.fail)
    assert done.wait(20)
    assert heard["found"] == {}
    done.clear()
    ask_spectra(request_, np.array([1, 2]), lambda: True, answer, pytest.fail)
    assert done.wait(20)
    assert len(heard["found"]["Tied"]) == 2


def test_a_preview_is_a_sample_without_graphs_and_spaces_and_has_none_itself() -> None:
    asked = GeometryRequest(k=7)
    first = preview(asked)
    assert first == replace(asked, sample=2_000, spectral=False, spaces=False)
    assert preview(first) is None


def test_cost_grows_with_rows_and_with_graphs() -> None:
    small, large = ModelRef("no/small"), ModelRef("no/large")
    experience.saw(small, (10_000, 512))
    experience.saw(large, (40_000, 512))

    def cost(ref: ModelRef, **options: Any) -> Any:
        return estimate_geometry(GeometryRequest(ref, ref, **options))

    assert cost(large).seconds > 5 * cost(small).seconds
    assert cost(large, spectral=False).seconds < cost(large).seconds
    assert cost(large, spaces=False).seconds < cost(large).seconds
    assert cost(large, spaces=False).bytes < cost(large).bytes
    assert cost(large, spectral=False, sample=2_000).seconds < cost(large).seconds / 5
    assert cost(large).bytes > cost(small).bytes
    assert estimate_geometry(GeometryRequest("no/where", "no/where")) is None


def test_what_this_kernel_has_made_costs_nothing_again(
    request_: GeometryRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    ew.run(request_)
    overhead = estimate_geometry(request_).seconds
    assert estimate_geometry(replace(request_, k=3)).seconds == overhead
    assert estimate_geometry(replace(request_, spectral=False)).seconds == overhead
    assert estimate_geometry(replace(request_, spaces=False)).seconds == overhead
    for change in ({"k": 9}, {"center": True}, {"components": 13}, {"top": 5}, {"seed": 1}):
        assert estimate_geometry(replace(request_, **change)).seconds > overhead
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    other = replace(request_, metric="euclidean", spectral=False)
    ew.run(other)
    assert estimate_geometry(other).seconds > overhead


def test_what_does_not_fit_is_refused_before_it_is_begun(
    request_: GeometryRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embtie_widgets.jobs.devices.free_bytes", lambda _: {"this machine": 1000})
    monkeypatch.setattr(job, "_measure", lambda _: pytest.fail("it was begun"))
    with pytest.raises(EmbtieError, match="1 kB are free") as error:
        ew.run(request_)
    assert "spectral distance" in error.value.hint


def test_the_nano_models_give_the_reference_values(shared: Path) -> None:
    known = json.loads((shared / "data" / "nano_reference_values.json").read_text())
    result = ew.run(
        GeometryRequest(shared / "models" / "nano-untied", shared / "models" / "nano-tied")
    )
    names = {"In->Out": "input->output", "Out->Tied": "output->tied", "In->Tied": "input->tied"}
    for name, its_name in names.items():
        right = known[f"nano-tied | {its_name}"]
        assert result.overlaps[name].mean == pytest.approx(right["knn10 oracle"], abs=5e-5)
        assert result.spectral[name].distance == pytest.approx(
            right["spectral distance authors k=64 d=128"], abs=1e-3
        )
        assert result.spectral[name].floor > result.spectral["Out->Tied"].distance


def test_a_partner_that_leaves_tokens_out_changes_nothing_for_the_next_one(
    request_: GeometryRequest, matrices: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    partner = torch.ones(ROWS + 2, WIDTH + 2)
    partner[:ROWS] = matrices["Tied"].flip(0)
    partner[:30] = 0
    save_file({"weight": partner}, tmp_path / "w0.safetensors")
    gaps = replace(request_, b=replace(request_.b, ref=str(tmp_path / "w0.safetensors")))
    assert ew.run(gaps).spectral["In->Out"].settings["rows_used"] == ROWS - 30
    found = ew.run(request_).spectral["In->Out"]
    alone = ew.spectral_distance(matrices["In"], matrices["Out"], 8, 12)
    assert found.settings["rows_used"] == ROWS
    assert found.distance == pytest.approx(alone.distance, abs=1e-9)


def test_a_matrix_whose_rows_are_all_equal_has_no_cka_and_says_so(
    tmp_path: Path, matrices: dict[str, torch.Tensor]
) -> None:
    result = ew.run(written(tmp_path, matrices | {"In": torch.ones(ROWS, WIDTH)}))
    by_name = {row["comparison"]: row for row in result.summary()}
    assert by_name["In->Out"]["cka"] is by_name["In->Out"]["debiased_cka_floor"] is None
    assert by_name["Out->Tied"]["cka"] == pytest.approx(1)
    assert "self CKA" not in result.checks
    assert any(note.startswith("CKA of In and Out: There is no value") for note in result.notes)


def test_a_selected_token_without_a_row_in_one_matrix_has_its_spectrum_in_the_others(
    tmp_path: Path, matrices: dict[str, torch.Tensor]
) -> None:
    matrices["Tied"][3] = 0
    found = selected_spectra(written(tmp_path, matrices), np.array([3]))
    assert {name: len(values) for name, values in found.items()} == {"In": 1, "Out": 1, "Tied": 0}
