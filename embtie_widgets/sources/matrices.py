"""Matrices in files of their own: .npy or .safetensors, one or a pair."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.architecture import resolve
from embtie_widgets.sources.checkpoint import SingleFile
from embtie_widgets.sources.folder import read_tensors
from embtie_widgets.sources.reading import check_start, sentences
from embtie_widgets.sources.sourced import Sourced, checked
from embtie_widgets.sources.status import Found

SUFFIXES = (".npy", ".safetensors")
_SAVE = "Save the matrix with numpy.save as plain numbers."


def read_pair(input_file: Path, output_file: Path | None) -> Sourced:
    """One or two matrix files; a single .safetensors may hold both under known names."""
    if output_file is None and input_file.suffix == ".safetensors":
        return _from_safetensors(input_file)
    E = read_matrix(input_file, "input")
    U = None if output_file is None else read_matrix(output_file, "output")
    names = {"input": input_file.name}
    if output_file is not None:
        names["output"] = output_file.name
    found = Found(input=E, output=U, family=f"'{input_file.name}'")
    return Sourced("files", " + ".join(names.values()), found, names=names)


def read_matrix(path: Path, role: str) -> torch.Tensor:
    """The (V, d) matrix of a file, mapped."""
    if path.suffix == ".npy":
        return checked(_read_npy(path), path.name, role)
    if path.suffix != ".safetensors":
        raise EmbtieError(
            f"'{path.name}' is no matrix file.", f"Expected one of {', '.join(SUFFIXES)}."
        )
    tensors = SingleFile(path)
    flat = [name for name in tensors if len(tensors[name] or ()) == 2]
    name = role if role in flat else flat[0] if len(flat) == 1 else None
    if name is None:
        name = getattr(resolve({}, tensors), role)
    elif role == "input" and _is_head(name, tensors):
        raise EmbtieError(
            f"'{path.name}' holds no input matrix: its only matrix, {name}, is an output matrix.",
            "Give a pair of files, the input matrix first and this one second.",
        )
    if name is None:
        raise EmbtieError(
            f"'{path.name}' holds {len(flat)} matrices and none is named '{role}'.",
            f"Save the one you mean alone, or under the name '{role}'.",
        )
    return checked(tensors.read(name), name, role)


def _is_head(name: str, tensors: SingleFile) -> bool:
    """Whether a matrix on its own goes by a name that only output matrices have."""
    try:
        layout = resolve({}, {name: tensors[name]})
    except EmbtieError:
        return False
    return layout.input is None and layout.output == name


def _from_safetensors(path: Path) -> Sourced:
    tensors = SingleFile(path)
    flat = [name for name in tensors if len(tensors[name] or ()) == 2]
    if len(flat) == 1 or "input" in flat:
        E = read_matrix(path, "input")
        U = checked(tensors.read("output"), "output", "output") if "output" in flat else None
        names = {"input": path.name} | ({"output": path.name} if U is not None else {})
        return Sourced("files", path.name, Found(E, U, family=f"'{path.name}'"), names=names)
    sourced = read_tensors(tensors, {}, "files", path.name)
    return replace(
        sourced,
        notes=[f"{path.name} was read alone; name its folder to use configuration and tokenizer."],
    )


def _read_npy(path: Path) -> torch.Tensor:
    check_start(path)
    with sentences(path), path.open("rb") as file:
        known = file.read(6) == b"\x93NUMPY"
    if not known:
        raise EmbtieError(f"{path.name} is cut short or no .npy file.", _SAVE)
    try:
        with sentences(path):
            # Copy on write: torch wants writable memory, the file stays as it is.
            array: Any = np.load(path, mmap_mode="c", allow_pickle=False)
    except (ValueError, EOFError) as error:
        pickled = "Python objects" in str(error)
        what = "holds Python objects, so it is refused" if pickled else "is cut short or damaged"
        raise EmbtieError(f"{path.name} {what}.", _SAVE) from None
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise EmbtieError(
            f"{path.name} holds {array.dtype}; expected float16, float32 or float64.",
            "Save it in one of these.",
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return torch.from_numpy(np.ascontiguousarray(array))
