"""A request carried out end to end, on models written for the purpose."""

import dataclasses
import json
import threading

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import align as align_job
from embtie_widgets.jobs import cache, pairs
from embtie_widgets.jobs.lookup import ask_card, token_card
from embtie_widgets.jobs.pair_runs import look_up
from embtie_widgets.results.groups import kind_names
from tests.sample_results import pair_result

ROWS, WIDTH = 120, 6


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def matrices():
    generator = torch.Generator().manual_seed(5)
    e, u = torch.randn(2, ROWS, WIDTH, generator=generator)
    turn = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=generator))[0]
    return {"e": e, "u": u, "w": u @ turn}


@pytest.fixture
def files(tmp_path, matrices):
    """Files of the three matrices and of two token lists; B lists A's tokens backwards, and four
    of its own."""
    for name, matrix in matrices.items():
        stored = torch.cat([matrix.flip(0), torch.randn(4, WIDTH)]) if name == "w" else matrix
        save_file({"weight": stored.contiguous()}, tmp_path / f"{name}.safetensors")
    tokens = [f"t{row}" for row in range(ROWS)]
    (tmp_path / "a.txt").write_text("\n".join(tokens) + "\n")
    (tmp_path / "b.txt").write_text("\n".join([*tokens[::-1], "w", "x", "y", "z"]) + "\n")
    return tmp_path


@pytest.fixture
def request_(files):
    a = ew.ModelRef(
        str(files / "e.safetensors"),
        output_file=str(files / "u.safetensors"),
        tokens_file=str(files / "a.txt"),
    )
    b = ew.ModelRef(
        str(files / "w.safetensors"), tokens_file=str(files / "b.txt"), treat_as_tied=True
    )
    return ew.AlignRequest(a=a, b=b, map="orthogonal")


def test_the_planted_rotation_is_found_across_vocabularies(request_, matrices):
    result = ew.run(request_)
    assert result.comparisons["Out->Tied"].mean == pytest.approx(1.0, abs=1e-5)
    alone = ew.align(matrices["e"], matrices["w"], "orthogonal")
    np.testing.assert_allclose(result.comparisons["In->Tied"].cosine, alone.cosine, atol=1e-6)
    assert result.counts["matched"] == ROWS
    assert result.counts["only_b"] == 4
    assert result.tokens[3] == b"t3"
    assert result.rows_b[3] == ROWS - 4
    assert any("choice" in note or "treat" in note for note in result.notes)


def test_the_norms_are_those_of_the_matched_rows(request_, matrices):
    norms = ew.run(request_).norms
    for name, matrix in zip(("In", "Out", "Tied"), matrices.values(), strict=True):
        np.testing.assert_allclose(norms[name], matrix.double().norm(dim=1), rtol=1e-6)


def test_a_second_run_is_recalled_and_says_so(request_, monkeypatch):
    first = ew.run(request_)
    monkeypatch.setattr(align_job, "align_many", None)
    again = ew.run(request_)
    assert (first.settings["cached"], again.settings["cached"]) == (False, True)
    assert again.summary() == first.summary()
    assert again.notes == first.notes


def test_a_changed_file_is_measured_anew(request_, files):
    first = ew.run(request_)
    save_file({"weight": torch.randn(ROWS + 4, WIDTH)}, files / "w.safetensors")
    again = ew.run(request_)
    assert again.hashes["Tied"] != first.hashes["Tied"]
    assert again.comparisons["Out->Tied"].mean < 0.9


def test_an_earlier_result_is_found_without_the_work(request_, monkeypatch):
    assert look_up(request_) is None
    first = ew.run(request_)
    monkeypatch.setattr(align_job, "align_many", None)
    found = look_up(request_)
    assert found.summary() == first.summary()
    assert found.settings["cached"]
    assert look_up(dataclasses.replace(request_, seed=9)) is None


def test_of_changed_files_no_earlier_result_is_shown(request_, files):
    ew.run(request_)
    save_file({"weight": torch.randn(ROWS, WIDTH)}, files / "u.safetensors")
    assert look_up(request_) is None


def test_models_on_the_hub_are_not_fetched_to_look(request_, monkeypatch):
    remote = ew.AlignRequest(a="someone/model", b="other/model")
    monkeypatch.setattr(pairs, "load", lambda *_: pytest.fail("it was fetched"))
    assert look_up(remote) is None
    cache.kept_or_made(remote, {"In": "a"}, pair_result)
    assert look_up(remote).settings["cached"]


def test_a_file_that_is_gone_has_no_earlier_result(request_, files):
    ew.run(request_)
    for file in files.glob("*.safetensors"):
        file.unlink()
    assert look_up(request_) is None


def test_a_damaged_entry_is_made_anew(request_):
    first = ew.run(request_)
    (entry,) = cache.cache_folder().glob("*.npz")
    entry.write_bytes(entry.read_bytes()[:2000])
    again = ew.run(request_)
    assert not again.settings["cached"]
    assert again.summary() == first.summary()


def test_a_tied_first_model_changes_places_and_a_note_says_so(request_):
    straight = ew.run(request_)
    turned = ew.run(dataclasses.replace(request_, a=request_.b, b=request_.a))
    assert turned.summary() == straight.summary()
    assert "changed places" in turned.notes[0]
    assert turned.settings["exchanged"]
    assert "exchanged" not in straight.settings


def test_a_model_without_output_matrix_gives_what_it_can(request_, files):
    bare = dataclasses.replace(request_.a, output_file=None)
    result = ew.run(dataclasses.replace(request_, a=bare))
    assert list(result.comparisons) == ["In->Tied"]
    assert any("Out is left out" in note for note in result.notes)


def test_an_untied_second_model_gives_the_side_that_was_asked_for(request_, matrices):
    both = dataclasses.replace(request_, b=request_.a)
    by_input = ew.run(dataclasses.replace(both, role_b="input"))
    by_output = ew.run(dataclasses.replace(both, role_b="output"))
    assert by_input.comparisons["In->Tied"].mean == pytest.approx(1.0)
    assert by_output.comparisons["Out->Tied"].mean == pytest.approx(1.0)
    assert any("Tied stands for its output matrix" in note for note in by_output.notes)
    assert any("Tied stands for its input matrix" in note for note in ew.run(both).notes)


def test_a_side_that_is_not_there_is_refused(request_, files):
    bare = ew.ModelRef(str(files / "w.safetensors"), tokens_file=str(files / "b.txt"))
    with pytest.raises(EmbtieError, match="no output matrix"):
        ew.run(dataclasses.replace(request_, b=bare, role_b="output"))


def test_the_bundled_pair_shows_what_tying_does():
    result = ew.run(ew.AlignRequest())
    found = result.comparisons
    assert found["Out->Tied"].heldout_mean > found["In->Tied"].heldout_mean + 0.2
    assert found["In->Tied"].heldout_mean > found["In->Tied"].floor_mean
    assert result.checks["self-pair cosine"] == pytest.approx(1.0)
    assert sum(group["tokens"] for group in result.groups) == 2 * len(result.tokens)
    assert result.models["A"]["tied"] == "untied"
    assert result.models["B"]["tied"] == "tied"
    frame = result.to_frame()
    assert len(frame) == len(result.tokens)
    assert {"token", "bytes", "row_a", "count", "norm In", "Out->Tied"} <= set(frame.columns)


def test_the_card_of_a_token_shows_the_same_neighbours_where_the_spaces_are_turned(request_):
    far = token_card(request_, 3, k=5, metric="euclidean", center=True)
    assert all(value > 0 and place != 3 for place, value in far.neighbours["In"])
    assert [v for _, v in far.neighbours["In"]] == sorted(v for _, v in far.neighbours["In"])
    card = token_card(request_, 3, k=5)
    assert card.neighbours.keys() == {"In", "Out", "Tied"}
    out, tied = card.neighbours["Out"], card.neighbours["Tied"]
    assert [position for position, _ in out] == [position for position, _ in tied]
    assert 3 not in [position for position, _ in out]
    assert [position for position, _ in card.neighbours["In"]] != [p for p, _ in out]


@pytest.mark.parametrize("there", [True, False])
def test_a_card_is_answered_from_a_worker_and_a_fault_is_told(request_, there):
    asked = request_ if there else dataclasses.replace(request_, a="./nothing/here")
    heard, ended = [], threading.Event()

    def hear(kind):
        return lambda word: (heard.append((kind, word, threading.current_thread())), ended.set())

    ask_card(asked, 3, hear("answer"), hear("failed"))
    assert ended.wait(60)
    [(kind, word, thread)] = heard
    assert thread is not threading.current_thread()
    assert kind == ("answer" if there else "failed")
    assert there or isinstance(word, EmbtieError)


def test_another_token_list_for_the_same_matrix_is_another_result(request_, files):
    first = ew.run(request_)
    lines = (files / "b.txt").read_text().splitlines()
    (files / "b.txt").write_text("\n".join(lines[::-1]) + "\n")
    again = ew.run(request_)
    assert not again.settings["cached"]
    assert again.rows_b.tolist() != first.rows_b.tolist()


def test_a_token_is_special_or_a_byte_where_one_of_the_two_models_says_so(request_, files):
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    rows = {"A": [*pieces, "<s>", "\u2581t", "y"], "B": ["\n", "<s>", " t", "y", "x"]}
    for name, tokens in rows.items():
        save_file({"weight": torch.randn(len(tokens), 4)}, files / f"{name}.safetensors")
        (files / f"{name}.json").write_text(json.dumps(tokens))
    a, b = (
        ew.ModelRef(str(files / f"{n}.safetensors"), tokens_file=str(files / f"{n}.json"))
        for n in rows
    )
    for one, other in ((a, b), (b, a)):
        pair = pairs.open_pair(dataclasses.replace(request_, a=one, b=other))
        kinds = dict(zip(pair.matched.keys, kind_names(pair.kinds), strict=True))
        assert kinds == {
            b"\n": "byte", b"x": "byte", b"<s>": "special", b" t": "word start",
            b"y": "continuation",
        }  # fmt: skip


def test_models_without_token_lists_have_no_kinds_and_no_groups(request_, files):
    a, b = (ew.ModelRef(str(files / f"{name}.safetensors")) for name in "eu")
    result = ew.run(ew.AlignRequest(a=a, b=b))
    assert (result.kinds, result.groups) == (None, ())
    assert "kind" not in result.to_frame()


def test_another_kind_for_the_same_token_is_another_result(request_, files):
    first = ew.run(request_)
    marked = {"model": {"type": "WordLevel", "vocab": {f"t{r}": r for r in range(ROWS)}},
              "added_tokens": [{"content": "t3", "id": 3, "special": True}]}  # fmt: skip
    (files / "a.json").write_text(json.dumps(marked))
    a = dataclasses.replace(request_.a, tokens_file=str(files / "a.json"))
    again = ew.run(dataclasses.replace(request_, a=a))
    assert first.tokens == again.tokens
    assert kind_names(again.kinds[:5]) == [*["continuation"] * 3, "special", "continuation"]
    assert (
        pairs.open_pair(request_).fingerprint["kinds"]
        != (pairs.open_pair(dataclasses.replace(request_, a=a)).fingerprint["kinds"])
    )


def test_zero_rows_and_a_ridge_pass_the_identity_check(tmp_path):
    for name in "xy":
        matrix = torch.randn(40, 30, generator=torch.Generator().manual_seed(ord(name)))
        matrix[:12] = 0
        save_file({"weight": matrix}, tmp_path / f"{name}.safetensors")
    a, b = (ew.ModelRef(str(tmp_path / f"{name}.safetensors")) for name in "xy")
    result = ew.run(ew.AlignRequest(a=a, b=b, ridge=1.0))
    assert np.isnan(result.comparisons["In->Tied"].cosine).sum() == 12
    assert any("12 rows have no value" in note for note in result.notes)


def test_vocabularies_without_a_common_token_are_refused_in_words(request_, files):
    (files / "b.txt").write_text("\n".join(f"other{row}" for row in range(ROWS + 4)) + "\n")
    with pytest.raises(EmbtieError, match="no token in common"):
        ew.run(request_)
