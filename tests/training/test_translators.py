import copy
import json
import os
import pickle
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from tuned_lens.nn.lenses import TunedLens

from embtie_widgets.errors import EmbtieError
from embtie_widgets.training.lens import train_translators
from embtie_widgets.training.translators import (
    Translators,
    column_lengths,
    load_lens,
    read_lens,
)
from tests.training.lens_text import PIECES, model


@pytest.fixture(scope="module")
def lens() -> Translators:
    return train_translators(model(), PIECES, 4)


def with_other_head() -> Any:
    other = copy.deepcopy(model())
    with torch.no_grad():
        other.get_output_embeddings().weight.mul_(3)
    return other


def test_a_saved_lens_comes_back_bit_for_bit_with_all_that_belongs_to_it(
    lens: Translators, tmp_path: Path
) -> None:
    again = load_lens(lens.save(tmp_path / "new" / "lens.safetensors"), model())
    assert torch.equal(again.weights, lens.weights)
    assert torch.equal(again.biases, lens.biases)
    assert again.hashes == lens.hashes
    assert again.settings["steps"] == 4
    assert again.settings["curve"]["step"] == [0, 1, 2, 3, 4]
    assert len(again) == 2
    assert os.listdir(tmp_path / "new") == ["lens.safetensors"]


def test_a_lens_that_cannot_be_written_is_said_to_be_and_leaves_nothing(
    lens: Translators, tmp_path: Path
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "file").touch()
    for path in (tmp_path / "taken", tmp_path / "file" / "lens.safetensors"):
        with pytest.raises(EmbtieError, match="cannot be written"):
            lens.save(path)
    assert sorted(os.listdir(tmp_path)) == ["file", "taken"]


def test_translators_are_applied_residually(lens: Translators) -> None:
    x = torch.randn(5, 8)
    expected = x + x @ lens.weights[1].T + lens.biases[1]
    torch.testing.assert_close(lens.apply(1, x), expected)


def test_a_lens_of_the_package_is_read_and_says_the_same(tmp_path: Path) -> None:
    theirs = TunedLens.from_model(model())
    for parameter in theirs.layer_translators.parameters():
        torch.nn.init.normal_(parameter)
    theirs.save(tmp_path)
    ours, x = load_lens(tmp_path, model()), torch.randn(7, 8)
    for layer in range(2):
        torch.testing.assert_close(ours.apply(layer, x), theirs.transform_hidden(x, layer))


def test_a_lens_of_the_package_for_another_matrix_is_refused(tmp_path: Path) -> None:
    TunedLens.from_model(model()).save(tmp_path)
    with pytest.raises(EmbtieError, match="another output matrix"):
        load_lens(tmp_path, with_other_head())


def _each(change: Any) -> dict[str, Any]:
    return {f"{i}.weight": change(torch.zeros(8, 8)) for i in (0, 1)}


def _to_meta(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to("meta")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda folder: (folder / "config.json").write_text("{"), "damaged"),
        (lambda folder: (folder / "config.json").write_text("[1]"), "damaged"),
        (lambda folder: (folder / "params.pt").write_bytes(b"no zip"), "damaged"),
        (lambda folder: (folder / "params.pt").unlink(), "holds no lens"),
        (
            lambda folder: torch.save({"0.weight": torch.ones(8, 8)}, folder / "params.pt"),
            "damaged",
        ),
        (lambda folder: torch.save([1], folder / "params.pt"), "damaged"),
        (lambda folder: (folder / "params.pt").write_bytes(b"\x80\x02."), "damaged"),
        (lambda folder: (folder / "params.pt").write_bytes(b"\x80\x02K\x01Q."), "damaged"),
        (lambda folder: torch.save(_each(torch.Tensor.to_sparse), folder / "params.pt"), "fit"),
        (lambda folder: torch.save(_each(_to_meta), folder / "params.pt"), "fit"),
        (
            lambda folder: torch.save(
                {f"{i}.weight": torch.full((8, 8), float("nan")) for i in (0, 1)},
                folder / "params.pt",
            ),
            "not finite",
        ),
    ],
)
def test_a_damaged_lens_of_the_package_is_refused(damage: Any, says: str, tmp_path: Path) -> None:
    TunedLens.from_model(model()).save(tmp_path)
    damage(tmp_path)
    with pytest.raises(EmbtieError, match=says) as caught:
        load_lens(tmp_path)
    assert str(tmp_path) not in str(caught.value)


class _Hostile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("write", [torch.save, lambda v, p: p.write_bytes(pickle.dumps(v))])
def test_no_code_in_a_lens_is_run(write: Any, tmp_path: Path) -> None:
    TunedLens.from_model(model()).save(tmp_path)
    write({"0.weight": _Hostile(tmp_path / "run")}, tmp_path / "params.pt")
    with pytest.raises(EmbtieError, match="damaged"):
        load_lens(tmp_path)
    assert not (tmp_path / "run").exists()


def _header(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"12345",
        _header("{"),
        _header("[" * 5000),
        _header("{}"),
        _header('{"__metadata__": {"embtie": "[]"}}'),
        _header('{"__metadata__": {"embtie": "{\\"format\\": \\"embtie translators 1\\"}"}}'),
        struct.pack("<Q", 2**63) + b"{}",
    ],
)
def test_a_damaged_file_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(EmbtieError, match=r"no lens that embtie saved|lacks"):
        read_lens(data, "given")


def test_every_cut_of_a_file_is_refused(lens: Translators) -> None:
    data = lens.to_bytes()
    for end in range(0, len(data), 97):
        with pytest.raises(EmbtieError):
            read_lens(data[:end])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weights": torch.zeros(2, 8, 7)}, "fit together"),
        ({"biases": torch.zeros(3, 8)}, "fit together"),
        ({"weights": torch.zeros(2, 8, 8, dtype=torch.int32)}, "fit together"),
        ({"biases": torch.full((2, 8), float("inf"))}, "not finite"),
        ({"more": torch.zeros(1)}, "lacks its translators"),
    ],
)
def test_translators_that_do_not_fit_together_are_refused(
    lens: Translators, change: Any, says: str, tmp_path: Path
) -> None:
    about = {"format": "embtie translators 1", "settings": {}, "hashes": {}}
    tensors = {"weights": lens.weights, "biases": lens.biases} | change
    save_file(tensors, tmp_path / "x.safetensors", {"embtie": json.dumps(about)})
    with pytest.raises(EmbtieError, match=says):
        load_lens(tmp_path / "x.safetensors")


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float16, torch.float64])
def test_a_file_in_another_float_type_is_read_as_float32(lens: Translators, dtype: Any) -> None:
    columns = column_lengths(with_other_head().get_output_embeddings().weight)
    changed = replace(lens, weights=lens.weights.to(dtype), hashes={}, columns=columns.to(dtype))
    found = read_lens(changed.to_bytes())
    assert found.weights.dtype == torch.float32
    assert "another output matrix" in str(found.fits(model()))


def test_a_lens_says_why_it_does_not_fit_a_model(lens: Translators) -> None:
    assert lens.fits(model()) is None
    assert "another output matrix" in str(lens.fits(with_other_head()))
    short = Translators(lens.weights[:1], lens.biases[:1])
    assert "1 translators of width 8" in str(short.fits(model()))


def test_a_lens_fits_the_same_model_in_a_coarser_type(lens: Translators) -> None:
    half = type(model())(model().config)
    half.load_state_dict(model().state_dict())
    assert lens.fits(half.to(torch.bfloat16)) is None


def test_a_lens_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(EmbtieError, match="no saved lens 'none'"):
        load_lens(tmp_path / "none")
