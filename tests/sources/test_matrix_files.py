"""Matrices in .npy and .safetensors files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import embtie_widgets as ew
from tests.sources.models import llama, saved

E = np.random.default_rng(0).standard_normal((10, 4)).astype(np.float32)


def npy(path: Path, matrix: Any = E) -> Path:
    np.save(path, matrix)
    return path


def test_a_pair_of_files_is_untied_or_tied_by_its_values(tmp_path: Path) -> None:
    e, u, same = npy(tmp_path / "e.npy"), npy(tmp_path / "u.npy", E + 1), npy(tmp_path / "s.npy")
    loaded = ew.load((e, u))
    assert (loaded.tied, loaded.name) == ("untied", "e.npy + u.npy")
    assert loaded.output is not None
    assert np.array_equal(loaded.input, E)
    assert np.array_equal(loaded.output, E + 1)
    assert ew.load([str(e), str(same)]).tied == "tied"


def test_one_file_is_input_only_and_may_be_treated_as_tied(tmp_path: Path) -> None:
    path = npy(tmp_path / "e.npy")
    assert ew.load(path).tied == "input only"
    assert ew.load(ew.ModelRef(str(path), treat_as_tied=True)).tied == "tied"


def test_a_reference_names_all_three_files(tmp_path: Path) -> None:
    tokens = tmp_path / "t.txt"
    tokens.write_text("\n".join("abcdefgh"))
    e, u = npy(tmp_path / "e.npy"), npy(tmp_path / "u.npy", E + 1)
    loaded = ew.load(ew.ModelRef(str(e), output_file=str(u), tokens_file=str(tokens)))
    assert loaded.tokens == [*(c.encode() for c in "abcdefgh"), None, None]
    assert loaded.tokens == ew.load((e, u, tokens)).tokens
    assert loaded.padding.tolist() == [8, 9]


def test_halves_and_brain_floats_keep_their_dtype(tmp_path: Path) -> None:
    assert ew.load(npy(tmp_path / "h.npy", E.astype(np.float16))).input.dtype == torch.float16
    path = tmp_path / "b.safetensors"
    save_file({"anything": torch.from_numpy(E).bfloat16(), "bias": torch.ones(3)}, path)
    loaded = ew.load(path)
    assert loaded.input.dtype == torch.bfloat16
    assert loaded.tied == "input only"


def test_one_safetensors_file_may_hold_both(tmp_path: Path) -> None:
    path = tmp_path / "both.safetensors"
    save_file({"input": torch.from_numpy(E), "output": torch.from_numpy(E) + 1}, path)
    assert ew.load(path).tied == "untied"
    folder = saved(llama(), tmp_path / "m")
    alone = ew.load(folder / "model.safetensors")
    assert alone.hashes == ew.load(folder).hashes
    assert any("name its folder" in note for note in alone.notes)


@pytest.mark.parametrize("name", ["output", "lm_head.weight"])
def test_a_lone_output_matrix_is_not_an_input_matrix_too(tmp_path: Path, name: str) -> None:
    path = tmp_path / "u.safetensors"
    save_file({name: torch.from_numpy(E), "bias": torch.ones(3)}, path)
    for ref in (path, (path, path), ew.ModelRef(str(path), treat_as_tied=True)):
        with pytest.raises(ew.EmbtieError, match=f"no input matrix: its only matrix, {name}"):
            ew.load(ref)
    assert ew.load((npy(tmp_path / "e.npy", E + 1), path)).tied == "untied"


@pytest.mark.parametrize("name", ["a\0.npy", "~a\0.npy", "\ud800.npy"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    good = npy(tmp_path / "e.npy")
    with pytest.raises(ew.EmbtieError, match="NUL byte"):
        ew.load((name, good))
    with pytest.raises(ew.EmbtieError, match="NUL byte"):
        ew.load(good, tokens=name.replace(".npy", ".txt"))


def test_matrices_are_mapped_and_never_written_back(tmp_path: Path) -> None:
    path = npy(tmp_path / "e.npy")
    before = path.read_bytes()
    ew.load(path).input.zero_()
    assert path.read_bytes() == before


def test_foreign_byte_and_memory_order_are_read_right(tmp_path: Path) -> None:
    swapped = npy(tmp_path / "s.npy", E.astype(">f4"))
    fortran = npy(tmp_path / "f.npy", np.asfortranarray(E))
    for path in (swapped, fortran):
        assert np.array_equal(ew.load(path).input, E)
        assert ew.load(path).hashes == ew.load(npy(tmp_path / "e.npy")).hashes


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.arange(12).reshape(3, 4), "int64"),
        (np.ones(4), "shape 4"),
        (np.ones((2, 3, 4)), "2 x 3 x 4"),
        (np.ones((0, 4)), "0 x 4"),
        (np.array(1.0), "shape 1"),
        (np.array([[{}]], object), "Python objects"),
        (np.ones((2, 2), complex), "complex128"),
        (np.array([["a"]]), "<U1"),
    ],
)
def test_what_is_no_matrix_is_refused_with_what_it_is(
    tmp_path: Path, matrix: Any, words: str
) -> None:
    with pytest.raises(ew.EmbtieError, match=words) as caught:
        ew.load(npy(tmp_path / "e.npy", matrix))
    assert caught.value.hint


@pytest.mark.parametrize("keep", [3, 40, 200])
def test_a_cut_array_is_refused(tmp_path: Path, keep: int) -> None:
    path = npy(tmp_path / "e.npy")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ew.EmbtieError, match="cut short"):
        ew.load(path)


def test_several_matrices_without_known_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"a": torch.ones(3, 2), "b": torch.ones(4, 2)}, path)
    for ref in (path, (path, path)):
        with pytest.raises(ew.EmbtieError):
            ew.load(ref)


@pytest.mark.parametrize("name", ["e.csv", "e.bin", "e"])
def test_other_kinds_of_file_are_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("1,2,3")
    with pytest.raises(ew.EmbtieError, match="no file that embtie reads"):
        ew.load(path)
    with pytest.raises(ew.EmbtieError, match="no matrix file"):
        ew.load((path, path))
