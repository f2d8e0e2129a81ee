"""The lens without requests: models in memory or named, strings or token ids."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from tests.jobs.lens_models import words, write_model
from tests.sources.models import llama

TEXTS = [words(120, seed) for seed in range(4)]


@pytest.fixture
def named(tmp_path: Path) -> str:
    return write_model(tmp_path / "model")


@pytest.fixture
def ids() -> Any:
    return np.random.default_rng(0).integers(0, 32, (6, 12))


def test_a_model_in_memory_and_its_token_ids_are_enough(ids: Any) -> None:
    model = llama()
    result = ew.lens(model, ids)
    assert result.kl_bits.shape == (3,)
    assert result.per_token.shape == (3, 72)
    assert result.kl_bits[-1] == pytest.approx(0, abs=1e-6)
    assert result.ids.tolist() == ids.reshape(-1).tolist()
    assert result.floor is None
    assert (result.settings["lens"], result.settings["mode"]) == ("logit", "corrected")
    given = ew.lens(model, torch.from_numpy(ids))
    assert np.array_equal(given.per_token, result.per_token)
    assert given.hashes == result.hashes


def test_pieces_go_through_the_model_alone(ids: Any) -> None:
    model = llama()
    whole = ew.lens(model, ids)
    one = ew.lens(model, ids[2:3])
    assert np.allclose(whole.per_token[:, 24:36], one.per_token, atol=1e-4)


def test_strings_are_cut_by_the_models_own_tokenizer(named: str) -> None:
    result = ew.lens(named, TEXTS, length=16, floor=True)
    assert len(result.ids) == 4 * 120
    assert result.place.max() == 15
    assert result.tokens[0] == TEXTS[0].split()[0].encode()
    assert result.floor is not None
    alone = ew.lens(named, TEXTS[0], length=16)
    assert np.allclose(alone.per_token, result.per_token[:, :120], atol=1e-4)


def test_pieces_are_no_longer_than_the_model_takes(named: str) -> None:
    result = ew.lens(named, TEXTS)  # 120 words each, for a model of 32 places
    assert (result.place.max(), len(result.ids)) == (31, 480)


def test_a_model_in_memory_needs_a_tokenizer_for_strings(named: str) -> None:
    from embtie_widgets.requests import ModelRef
    from embtie_widgets.sources.tokenizing import tokenizer_of

    model = llama(vocab_size=41, hidden_size=16)
    with pytest.raises(EmbtieError, match="no tokenizer"):
        ew.lens(model, TEXTS)
    result = ew.lens(model, TEXTS, tokenizer=tokenizer_of(ModelRef(named)), length=16)
    assert len(result.ids) == 480


def test_translators_are_trained_saved_and_loaded_for_a_tuned_lens(
    named: str, tmp_path: Path
) -> None:
    trained = ew.train_lens(named, TEXTS, 10, length=16)
    assert len(trained) == 2
    path = tmp_path / "mine.safetensors"
    trained.save(path)
    tuned = ew.lens(named, TEXTS, "tuned", translators=trained, length=16)
    for given in (path, str(path), ew.load_lens(path)):
        again = ew.lens(named, TEXTS, "tuned", translators=given, length=16)
        assert np.array_equal(again.per_token, tuned.per_token)
    logit = ew.lens(named, TEXTS, length=16)
    assert (tuned.kl_bits[:-1] < logit.kl_bits[:-1]).all()
    assert tuned.settings["lens"] == "tuned"


def test_no_steps_from_zero_are_the_logit_lens(named: str) -> None:
    nothing = ew.train_lens(named, TEXTS, 0, length=16, start="zero")
    tuned = ew.lens(named, TEXTS, "tuned", translators=nothing, length=16)
    assert np.allclose(tuned.per_token, ew.lens(named, TEXTS, length=16).per_token, atol=1e-6)


def test_paper_mode_differs_from_the_logit_lens_at_the_last_point_alone(named: str) -> None:
    corrected, paper = (ew.lens(named, TEXTS, mode=m, length=16) for m in ("corrected", "paper"))
    assert np.allclose(corrected.kl_bits[:-1], paper.kl_bits[:-1], atol=1e-6)
    assert paper.kl_bits[-1] > 1e-3


def test_what_does_not_go_together_is_said_in_words(named: str, ids: Any) -> None:
    trained = ew.train_lens(named, TEXTS, 1, length=16)
    for wrong, said in (
        ({"kind": "tuned"}, "none ship with"),
        ({"translators": trained}, "for a logit lens"),
        ({"kind": "prism"}, "kind is 'prism'"),
        ({"mode": "both"}, "mode is 'both'"),
        ({"kind": "tuned", "translators": "gone.safetensors"}, "no saved lens"),
        ({"kind": "tuned", "translators": 5}, "translators is a int"),
        ({"length": "16"}, "length is '16'"),
        ({"seed": -1}, "seed is -1"),
    ):
        with pytest.raises(EmbtieError, match=said):
            ew.lens(named, TEXTS, **{"length": 16, **wrong})
    with pytest.raises(EmbtieError, match="seed is 'x'"):
        ew.train_lens(named, TEXTS, 1, seed="x")
    with pytest.raises(EmbtieError, match="layers of width"):
        ew.lens(llama(), ids, "tuned", translators=trained)
    with pytest.raises(EmbtieError, match="rows"):
        ew.lens(llama(), ids + 30)


def test_a_bundled_model_brings_its_own_tuned_lens() -> None:
    from embtie_widgets.jobs.lens_sides import bundled_lens
    from embtie_widgets.requests import ModelRef

    assert bundled_lens(ModelRef("nano-tied")) is not None
    assert bundled_lens(ModelRef("nano-tied", revision="step0")) is None
    text = "In the beginning God created the heaven and the earth. " * 4
    tuned = ew.lens("nano-tied", [text], "tuned")
    logit = ew.lens("nano-tied", [text])
    assert tuned.kl_bits[0] < logit.kl_bits[0]


@pytest.mark.parametrize("name", ["nano-tied", "nano-untied"])
def test_the_tuned_lens_that_ships_is_not_below_the_floor(name: str) -> None:
    text = "In the beginning God created the heaven and the earth; and the earth was void. " * 12
    floor = ew.lens(name, [text, text[200:]], "tuned", length=64, floor=True).floor
    assert floor is not None
    assert 0 < floor.bits <= floor.lens_bits
    assert floor.positions + floor.left_out > floor.positions > 0
