"""ew.gradient_split: models by name or in memory, ids or strings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from tests.jobs.lens_models import words, write_model
from tests.sources.models import llama, saved
from tests.sources.tiny import tiny

TEXTS = [words(20, seed) for seed in range(3)]
IDS = [[3, 5, 7, 5, 9, 11], [4, 4, 4, 8, 30, 3]]


@pytest.fixture
def named(tmp_path: Path) -> str:
    return write_model(tmp_path / "model")


def test_a_model_and_a_batch_are_enough() -> None:
    model = llama(tied=True)
    split = ew.gradient_split(model, torch.tensor(IDS))
    assert split.input.shape == split.output.shape == split.total.shape == (32, 8)
    assert torch.equal(split.total, split.input + split.output)
    share = float((split.output * split.total).sum() / split.total.square().sum())
    assert split.output_share == pytest.approx(share, rel=1e-5)
    norms = [float(part.norm()) for part in (split.input, split.output)]
    assert split.norm_share == pytest.approx(norms[1] / sum(norms), rel=1e-5)
    inner = float((split.input * split.output).sum())
    assert split.cosine == pytest.approx(inner / norms[0] / norms[1], rel=1e-4)
    own = model(input_ids=torch.tensor(IDS), labels=torch.tensor(IDS)).loss.item()
    assert split.loss == pytest.approx(own, rel=1e-6)
    assert split.settings["tied"]
    assert set(split.hashes) == {"model", "text"}


@pytest.mark.parametrize("given", [IDS, tuple(map(tuple, IDS)), np.array(IDS, np.int32)])
def test_ids_come_as_lists_or_arrays(given: Any) -> None:
    model = llama(tied=True)
    wanted = ew.gradient_split(model, torch.tensor(IDS))
    split = ew.gradient_split(model, given, labels=given)
    assert torch.equal(split.total, wanted.total)
    assert split.hashes == wanted.hashes


def test_one_row_is_a_batch_of_one() -> None:
    model = llama(tied=True)
    split, wanted = (ew.gradient_split(model, ids) for ids in (IDS[0], IDS[:1]))
    assert torch.equal(split.total, wanted.total)


def test_a_folder_is_opened_and_its_tokenizer_cuts_strings(named: str) -> None:
    split = ew.gradient_split(named, TEXTS, length=16)
    assert split.settings["predicted"] == 3 * (20 - 2)  # each in two pieces
    alone = ew.gradient_split(named, TEXTS[0])
    assert alone.settings["sequences"] == 1
    assert alone.settings["predicted"] == 19
    assert alone.settings["text"]["positions"] == 20
    assert alone.to_frame().shape[0] == len(alone.total)


def test_the_frame_has_a_row_for_each_token() -> None:
    split = ew.gradient_split(llama(tied=True), IDS)
    frame = split.to_frame()
    assert list(frame) == ["row", "input", "output", "total", "output_share"]
    row = (split.output[5] @ split.total[5] / split.total[5].square().sum()).item()
    assert frame["output_share"][5] == pytest.approx(row, rel=1e-4)
    assert frame["output_share"][0] == pytest.approx(1)  # not in the text


def test_a_file_gives_what_its_model_gives(tmp_path: Path) -> None:
    model = llama(tied=True)
    one = ew.gradient_split(str(saved(model, tmp_path / "it")), IDS)
    assert torch.allclose(one.total, ew.gradient_split(model, IDS).total, atol=1e-6)


def test_the_bundled_twins_say_who_writes() -> None:
    text = "In the beginning God created the heaven and the earth. " * 4
    tied, untied = (ew.gradient_split(name, text) for name in ("nano-tied", "nano-untied"))
    assert (tied.settings["tied"], untied.settings["tied"]) == (True, False)
    assert 0 < tied.norm_share < 1
    rows = tied.input.any(dim=1)
    assert 0 < int(rows.sum()) < 20
    assert tied.output.any(dim=1).all()


def test_an_encoder_is_refused_in_the_same_words_by_every_door(tmp_path: Path) -> None:
    model, said = tiny("t5", True), set()
    for work in (
        lambda: ew.gradient_split(model, IDS),
        lambda: ew.lens(model, IDS),
        lambda: ew.gradient_split(str(saved(model, tmp_path / "t5")), IDS),
    ):
        with pytest.raises(EmbtieError, match="encoder-decoder") as caught:
            work()
        said.add(caught.value.message.split(" is ", 1)[1] + caught.value.hint)
    from embtie_widgets.measures.gradient_split import gradient_split

    with pytest.raises(EmbtieError, match="encoder-decoder") as caught:
        gradient_split(model, IDS)
    said.add(caught.value.message.split(" is ", 1)[1] + caught.value.hint)
    assert len(said) == 1


def test_what_does_not_go_together_is_said_in_words(named: str) -> None:
    for given, more, words_said in (
        (TEXTS, {"labels": IDS}, "labels were given for a text"),
        (TEXTS, {"length": 1}, "length is 1"),
        ([], {}, "no token"),
        (5, {}, "array"),
        (b"abc", {}, "bytes"),
        ("", {}, "no piece"),
    ):
        with pytest.raises(EmbtieError, match=words_said):
            ew.gradient_split(named, given, **more)
    with pytest.raises(EmbtieError, match="no tokenizer"):
        ew.gradient_split(llama(tied=True), "some text")
    with pytest.raises(EmbtieError):
        ew.gradient_split(torch.nn.Linear(2, 2), IDS)
