"""A pair before and after its output matrices are centred, on models written for the purpose."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled
from embtie_widgets.hashing import tensor_hash
from embtie_widgets.jobs.exports import summary
from embtie_widgets.jobs.geometry_lookup import neighbours_card
from embtie_widgets.jobs.lookup import token_card
from embtie_widgets.jobs.pairs import open_pair
from embtie_widgets.progress import silent
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.link import decode, encode

ROWS, WIDTH, ZERO = 120, 6, 3
Make = Callable[..., Any]


@pytest.fixture
def matrices() -> dict[str, torch.Tensor]:
    """Input, output and tied matrix, the last two with a mean; the tied one ends in zeros."""
    generator = torch.Generator().manual_seed(5)
    e, u, w = torch.randn(3, ROWS, WIDTH, generator=generator)
    return {"e": e, "u": u + 2.0, "w": torch.cat([w - 1.5, torch.zeros(ZERO, WIDTH)])}


@pytest.fixture
def ask(tmp_path: Path, matrices: dict[str, torch.Tensor]) -> Make:
    """A request of a kind on these files; B lists the tokens of A backwards, then others."""
    for name, matrix in matrices.items():
        save_file({"weight": matrix.contiguous()}, tmp_path / f"{name}.safetensors")
    tokens = [f"t{row}" for row in range(ROWS)]
    (tmp_path / "a.txt").write_text("\n".join(tokens) + "\n")
    (tmp_path / "b.txt").write_text("\n".join([*tokens[::-1], "x", "y", "z"]) + "\n")
    a = ew.ModelRef(
        str(tmp_path / "e.safetensors"),
        output_file=str(tmp_path / "u.safetensors"),
        tokens_file=str(tmp_path / "a.txt"),
    )
    b = ew.ModelRef(
        str(tmp_path / "w.safetensors"), tokens_file=str(tmp_path / "b.txt"), treat_as_tied=True
    )
    return lambda kind, **fields: kind(**{"a": a, "b": b, "mu_centered": True} | fields)


def both(request: Any) -> tuple[Any, Any]:
    return ew.run(request.other_side), ew.run(request)


def means(result: Any) -> dict[str, float]:
    return {name: one.mean for name, one in result.comparisons.items()}


def test_what_is_compared_is_what_the_face_centres(ask: Make, matrices: Any) -> None:
    found = open_pair(ask(ew.AlignRequest)).roles.values()
    assert torch.equal(found["In"], matrices["e"])
    assert torch.equal(found["Out"], ew.center(matrices["u"]))
    assert torch.equal(found["Tied"], ew.center(matrices["w"])[:ROWS].flip(0))
    assert found["Out"].mean(0).abs().max() < 1e-6


def test_rows_without_token_take_no_part_in_the_mean_and_stay(
    tmp_path: Path, matrices: Any
) -> None:
    """C014: a model has more rows than its tokenizer has tokens, and they are not of zeros."""
    real = 100
    for name in ("e", "u"):
        save_file({"weight": matrices[name]}, tmp_path / f"{name}.safetensors")
    (tmp_path / "tokens.txt").write_text("".join(f"t{row}\n" for row in range(real)))
    model = ew.ModelRef(
        str(tmp_path / "e.safetensors"),
        output_file=str(tmp_path / "u.safetensors"),
        tokens_file=str(tmp_path / "tokens.txt"),
    )
    request = ew.AlignRequest(model, model, role_b="output", mu_centered=True)
    out = open_pair(request).roles.matrices()["Out"]
    mean = matrices["u"][:real].double().mean(0)
    torch.testing.assert_close(out[:real].double(), matrices["u"][:real].double() - mean)
    assert torch.equal(out[real:], matrices["u"][real:])
    result = ew.run(request)
    facts = result.settings["mean rows taken off"]["Out"]
    assert (facts["rows"], facts["without token"]) == (real, ROWS - real)
    assert any(f"{ROWS - real} rows without token stay" in note for note in result.notes)


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_is_not_rounded_anew(
    tmp_path: Path, matrices: Any, half: torch.dtype
) -> None:
    """C020: as the stored values in float64 would be, within 1e-6."""
    stored = {name: matrices[name].to(half) for name in ("e", "u")}
    for name, matrix in stored.items():
        save_file({"weight": matrix}, tmp_path / f"{name}.safetensors")
    model = ew.ModelRef(
        str(tmp_path / "e.safetensors"), output_file=str(tmp_path / "u.safetensors")
    )
    roles = open_pair(ew.AlignRequest(model, model, role_b="output", mu_centered=True)).roles
    needed = roles.copied(gathered=False)
    out, exact = roles.matrices()["Out"], stored["u"].double()
    torch.testing.assert_close(out.double(), exact - exact.mean(0), rtol=1e-6, atol=1e-6)
    assert needed == out.nbytes + roles.matrices()["Tied"].nbytes


def test_the_loaded_matrices_stay_as_they_are(ask: Make) -> None:
    request = ask(ew.AlignRequest, center=False)
    pair = open_pair(request.other_side)
    loaded = (pair.a.input, pair.a.output, pair.b.input)
    before = [tensor_hash(matrix) for matrix in loaded]
    result = ew.run(request)
    assert open_pair(request.other_side) is pair
    assert [tensor_hash(matrix) for matrix in loaded] == before
    assert list(result.hashes.values()) == before


def test_every_result_says_what_was_taken_off(ask: Make, matrices: Any) -> None:
    result = ew.run(ask(ew.AlignRequest))
    taken = result.settings["mean rows taken off"]
    assert list(taken) == ["Out", "Tied"]
    assert taken["Out"]["length"] == pytest.approx(float(matrices["u"].mean(0).norm()), rel=1e-5)
    assert taken["Out"]["sha256"] == tensor_hash(ew.center(matrices["u"]))
    assert (taken["Tied"]["rows"], taken["Tied"]["zero"]) == (ROWS, ZERO)
    assert taken["Tied"]["bound_ratio"] == pytest.approx(ew.bound_ratio(matrices["w"]))
    told = summary(ask(ew.AlignRequest), result)
    assert json.loads(json.dumps(told))["settings"]["mean rows taken off"] == taken
    assert not any("centred" in note for note in ew.run(ask(ew.AlignRequest).other_side).notes)


def test_a_tied_model_is_said_to_move_its_input_and_an_untied_one_not(ask: Make) -> None:
    out, tied = (n for n in ew.run(ask(ew.AlignRequest)).notes if "is centred: " in n)
    assert "is untied: its input stays, and so does its softmax over these rows" in out
    assert "is tied: its input rows have moved by as much" in tied
    assert f"{ZERO} rows of zeros stay" in tied


def test_of_a_model_that_caps_its_logits_no_more_is_claimed(tmp_path: Path) -> None:
    made = {"A": torch.randn(40, 4), "B": torch.randn(40, 4)}
    model, other = tmp_path / "capped", tmp_path / "plain"
    for folder in (model, other):
        folder.mkdir()
        save_file({"model.embed_tokens.weight": made["A"], "lm_head.weight": made["B"]},
                  folder / "model.safetensors")  # fmt: skip
    config = {"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "hidden_size": 4,
              "vocab_size": 40, "tie_word_embeddings": False}  # fmt: skip
    (model / "config.json").write_text(json.dumps(config | {"final_logit_softcapping": 30.0}))
    (other / "config.json").write_text(json.dumps(config | {"final_logit_softcapping": None}))
    request = ew.AlignRequest(
        a=str(model), b=str(other), role_b="output", map="identity", mu_centered=True
    )
    capped, plain = (note for note in ew.run(request).notes if "is centred: " in note)
    assert "it caps its logits, which the mean row shifts" in capped
    assert "so does its softmax" in plain


def test_an_input_matrix_that_stands_for_tied_is_not_centred(ask: Make, matrices: Any) -> None:
    asked = ask(ew.AlignRequest)
    request = dataclasses.replace(asked, b=asked.a, role_b="input")
    assert torch.equal(open_pair(request).roles.values()["Tied"], matrices["e"])
    result = ew.run(request)
    assert list(result.settings["mean rows taken off"]) == ["Out"]
    assert any(note.startswith("Tied is not centred") for note in result.notes)
    other = ew.run(dataclasses.replace(request, role_b="output"))
    assert list(other.settings["mean rows taken off"]) == ["Out", "Tied"]


def test_the_input_of_a_tied_first_model_is_the_centred_matrix_too(ask: Make) -> None:
    asked = ask(ew.AlignRequest)
    request = dataclasses.replace(asked, a=asked.b)
    roles = open_pair(request).roles
    assert roles.matrices()["In"] is roles.matrices()["Out"]
    assert list(ew.run(request).settings["mean rows taken off"]) == ["In", "Out", "Tied"]


def test_without_any_output_matrix_nothing_is_centred_and_that_is_said(ask: Make) -> None:
    asked = ask(ew.AlignRequest)
    bare = dataclasses.replace(asked.a, output_file=None)
    before, after = both(dataclasses.replace(asked, a=bare, b=bare, role_b="input", center=False))
    assert means(before) == means(after)
    assert after.settings["mean rows taken off"] == {}
    assert any("none was centred" in note for note in after.notes)


@pytest.mark.parametrize("kind", ["identity", "orthogonal", "linear"])
def test_an_alignment_of_centred_columns_cannot_change_and_one_of_others_does(
    ask: Make, kind: str
) -> None:
    before, after = both(ask(ew.AlignRequest, map=kind))
    for name, one in before.comparisons.items():
        np.testing.assert_allclose(one.cosine, after.comparisons[name].cosine, atol=1e-5)
        assert one.heldout_mean == pytest.approx(after.comparisons[name].heldout_mean, abs=1e-5)
    before, after = both(ask(ew.AlignRequest, map=kind, center=False))
    assert all(abs(means(after)[n] - value) > 0.01 for n, value in means(before).items())
    np.testing.assert_array_equal(before.norms["In"], after.norms["In"])
    assert after.norms["Out"].mean() < before.norms["Out"].mean() - 1


def shares(result: Any) -> dict[str, float]:
    return {name: one.mean for name, one in result.overlaps.items()}


def test_neighbours_by_cosine_change_and_those_by_distance_or_of_centred_columns_do_not(
    ask: Make,
) -> None:
    quick = {"k": 5, "spectral": False, "spaces": False}
    before, after = both(ask(ew.GeometryRequest, **quick))
    assert all(shares(after)[name] != value for name, value in shares(before).items())
    for how in ({"metric": "euclidean"}, {"center": True}):
        before, after = both(ask(ew.GeometryRequest, **quick, **how))
        assert shares(before) == shares(after)


def test_parts_that_are_kept_are_not_taken_for_those_of_the_other_side(
    ask: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ask(ew.GeometryRequest, k=5, spectral_k=8, components=4, top=2)
    plain = both(request)
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    kept = both(request)
    assert [one.summary() for one in kept] == [one.summary() for one in plain]
    assert kept[0].summary() != kept[1].summary()
    assert [one.settings["cached"] for one in both(request)] == [True, True]


def test_the_means_are_gone_and_cka_is_as_before(ask: Make) -> None:
    before, after = both(ask(ew.GeometryRequest, k=5, spectral=False, top=2))
    for name in ("Out", "Tied"):
        assert before.matrices[name].mean.value > 0.5
        assert after.matrices[name].mean.value < 1e-6
    assert after.matrices["In"].mean == before.matrices["In"].mean
    for name, space in before.spaces.items():
        assert after.spaces[name].cka.value == pytest.approx(space.cka.value, abs=1e-6)


def test_norms_are_those_of_the_centred_rows_and_those_of_in_stay(ask: Make, matrices: Any) -> None:
    counts = Path(ask(ew.AlignRequest).a.ref).with_name("counts.npy")
    np.save(counts, np.arange(ROWS)[::-1])
    request = ask(ew.NormFrequencyRequest, corpus=str(counts))
    before, after = both(request)
    centred = ew.center(matrices["u"]).double().norm(dim=1)
    np.testing.assert_allclose(after.matrices["Out"].norm, centred, rtol=1e-6)
    np.testing.assert_array_equal(before.matrices["In"].norm, after.matrices["In"].norm)
    assert after.frobenius["Out"] == pytest.approx(float(centred.square().sum().sqrt()))


def test_the_card_of_a_token_is_of_the_matrices_that_are_shown(ask: Make) -> None:
    geometry = ask(ew.GeometryRequest, k=5)
    for find in (token_card, neighbours_card):
        before, after = find(geometry.other_side, 7), find(geometry, 7)
        assert before.neighbours["In"] == after.neighbours["In"]
        assert before.neighbours["Out"] != after.neighbours["Out"]


def test_link_and_code_carry_it_and_old_links_mean_as_stored() -> None:
    asked = ew.AlignRequest(mu_centered=True)
    assert "mu_centered=true" in encode(asked)
    assert decode(encode(asked)).request == asked
    assert "mu_centered=True" in to_code(asked)
    assert not decode("embtie=1&kind=align&map=identity").request.mu_centered
    assert "mu_centered" not in encode(ew.AlignRequest(map="identity"))


def test_each_copy_is_made_once_counted_beforehand_and_only_when_it_is_needed(ask: Make) -> None:
    roles = open_pair(ask(ew.AlignRequest)).roles
    needed = sum(roles.stored[name].nbytes for name in ("Out", "Tied"))
    assert roles.copied(gathered=False) == needed
    assert roles.centring.facts == {}
    assert roles.matrices()["Out"] is roles.matrices()["Out"]
    assert roles.copied(gathered=False) == 0


def test_centring_that_is_cancelled_leaves_nothing_half_made(ask: Make) -> None:
    roles = open_pair(ask(ew.AlignRequest)).roles

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "taking the mean row off":
            raise Cancelled

    with pytest.raises(Cancelled):
        roles.matrices(stop)
    assert roles.centring.facts == {}
    assert roles.matrices(silent).keys() == {"In", "Out", "Tied"}
