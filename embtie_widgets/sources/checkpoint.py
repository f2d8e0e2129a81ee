"""A checkpoint as named tensors, over one file or many; files are opened only when asked for."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.sources.files import Files, OneFile, is_plain_name
from embtie_widgets.sources.reading import TensorFile, read_json

_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_SINGLES = ("model.safetensors", "pytorch_model.bin")

_UNREAD = (".h5", ".msgpack", ".pth", ".pt", ".ckpt", ".onnx", ".npz", ".ot")
_EXPECTED = "Expected model.safetensors, a sharded checkpoint with its index, or pytorch_model.bin."


class Tensors(Mapping[str, "tuple[int, ...] | None"]):
    """Named tensors: their shapes as a mapping, their values on demand."""

    notes: list[str]

    @abstractmethod
    def dtype(self, name: str) -> str:
        """From the header, as torch calls it where it knows it: "bfloat16"."""

    @abstractmethod
    def read(self, name: str) -> torch.Tensor:
        """The tensor as stored, mapped where the format allows it."""

    def take_unlisted(self, name: str) -> frozenset[str]:
        """Take in what the file of this tensor holds beyond an index; the names of that."""
        return frozenset()


class SingleFile(Tensors):
    """The tensors of one weights file on its own."""

    def __init__(self, path: Path) -> None:
        self._file = TensorFile(path)
        self.notes = []

    def __getitem__(self, name: str) -> tuple[int, ...]:
        return self._file.shape(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._file.names())

    def __len__(self) -> int:
        return len(self._file.names())

    def dtype(self, name: str) -> str:
        """From the header, as torch calls it where it knows it: "bfloat16"."""
        return self._file.dtype(name)

    def read(self, name: str) -> torch.Tensor:
        """The tensor as stored, mapped where the format allows it."""
        return self._file.read(name)


class Checkpoint(Tensors):
    """Tensor names to shapes, None where the tensor's file cannot be read.

    With an index only the files that hold a tensor asked for are opened; files that the index
    does not list are never read.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._opened: dict[str, OneFile] = {}
        self.notes = []
        self._where = self._locate()

    def __getitem__(self, name: str) -> tuple[int, ...] | None:
        self._where[name]
        try:
            return self._holder(name).shape(name)
        except Interrupted:
            raise
        except EmbtieError:
            return None

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)

    def dtype(self, name: str) -> str:
        """From the header, as torch calls it where it knows it: "bfloat16"."""
        return self._holder(name).dtype(name)

    def read(self, name: str) -> torch.Tensor:
        """The tensor as stored, mapped where the format allows it."""
        return self._holder(name).read(name)

    def take_unlisted(self, name: str) -> frozenset[str]:
        """Take in what the file of this tensor holds beyond an index; the names of that."""
        file = self.file_of(name)
        unlisted = frozenset(self._open(file).names()) - self._where.keys()
        self._where |= dict.fromkeys(unlisted, file)
        return unlisted

    def file_of(self, name: str) -> str:
        """The file that holds the tensor, or should."""
        return self._where[name]

    def files(self) -> list[str]:
        """All weights files, by name."""
        return sorted(set(self._where.values()))

    def _holder(self, name: str) -> OneFile:
        file = self.file_of(name)
        holder = self._open(file)
        if name not in holder.names():
            raise EmbtieError(
                f"{file} lacks the tensor {name} that the index lists in it.",
                "Download that file again.",
            )
        return holder

    def _open(self, file: str) -> OneFile:
        if file not in self._opened:
            self._opened[file] = self._files.tensors(file)
        return self._opened[file]

    def _locate(self) -> dict[str, str]:
        present = self._files.names()
        single = lone_file(self._files)
        if single is not None:
            return dict.fromkeys(self._open(single).names(), single)
        return self._from_index(next(index for index in _INDEXES if index in present), present)

    def _from_index(self, index: str, present: frozenset[str]) -> dict[str, str]:
        content = read_json(self._files.path(index))
        where = content.get("weight_map") if isinstance(content, Mapping) else None
        if not isinstance(where, Mapping) or not all(map(is_plain_name, where.values())):
            raise EmbtieError(
                f"{index} does not say which file of its folder holds which tensor.",
                "Download it again from a source you trust.",
            )
        stray = sorted(set(_SINGLES) & present - set(where.values()))
        if stray and stray[0].endswith(index.split(".")[1]):
            self.notes.append(f"{stray[0]} is not listed in the index and was not read.")
        return {str(name): str(file) for name, file in where.items()}


def lone_file(files: Files) -> str | None:
    """The one file that holds all tensors, None where an index lists several.

    Safetensors go before pickles, and an index before a file that it may not list.
    """
    present = files.names()
    for index, single in zip(_INDEXES, _SINGLES, strict=True):
        if index in present:
            return None
        if single in present:
            return single
    return _other_name(files.name, present)


def _other_name(name: str, present: frozenset[str]) -> str:
    weights = sorted(n for n in present if n.endswith((".safetensors", ".bin")))
    if weights and all(file.startswith("adapter_") for file in weights):
        raise EmbtieError(
            f"'{name}' holds an adapter, not a model.",
            "Name the model that it was trained on, or merge it first.",
        )
    if any("-of-" in file for file in weights):
        raise EmbtieError(
            f"'{name}' holds parts of a checkpoint but no index that lists them.",
            "Download model.safetensors.index.json and every part it names.",
        )
    if not weights:
        raise _no_weights(name, present)
    if len(weights) != 1:
        raise EmbtieError(
            f"'{name}' holds several weights files: {', '.join(weights[:5])}.",
            _EXPECTED,
        )
    return weights[0]


def _no_weights(name: str, present: frozenset[str]) -> EmbtieError:
    """The refusal, with what is there instead."""
    other = sorted(file for file in present if file.endswith((".gguf", *_UNREAD)))
    if not other:
        return EmbtieError(f"'{name}' holds no weights files.", _EXPECTED)
    listed = ", ".join(other[:5])
    if other[0].endswith(".gguf"):
        return EmbtieError(
            f"'{name}' holds GGUF files: {listed}.",
            "Name one of these files itself, downloaded to this machine.",
        )
    return EmbtieError(
        f"'{name}' holds weights only in a form that is not read: {listed}.",
        f"{_EXPECTED} transformers can convert some of the others.",
    )
