"""Where the files of a checkpoint come from, whatever lies behind: a folder or the hub."""

from pathlib import Path
from typing import Any, Protocol

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.reading import TensorFile, read_json


class OneFile(Protocol):
    """The tensors of one weights file: names and shapes from its header, values on demand."""

    def names(self) -> list[str]:
        """Of all tensors."""

    def shape(self, name: str) -> tuple[int, ...]:
        """From the header alone."""

    def dtype(self, name: str) -> str:
        """From the header alone, as torch calls it where it knows it: "bfloat16"."""

    def read(self, name: str) -> torch.Tensor:
        """The tensor as stored, mapped where it can be."""


class Files(Protocol):
    """Named files of one checkpoint; names never hold a folder."""

    @property
    def name(self) -> str:
        """How the checkpoint is called in messages."""

    @property
    def notes(self) -> list[str]:
        """What was unusual about getting the files, so far."""

    def names(self) -> frozenset[str]:
        """All file names."""

    def path(self, name: str) -> Path:
        """A local path of that file; an EmbtieError where it cannot be had."""

    def tensors(self, name: str) -> OneFile:
        """The tensors of that weights file; no more of it is fetched than is asked for."""


class FolderFiles:
    """The files of a local folder."""

    def __init__(self, folder: Path, name: str | None = None) -> None:
        self.folder = folder
        self.name = name or folder.resolve().name
        self.notes: list[str] = []

    def names(self) -> frozenset[str]:
        """All file names."""
        try:
            return frozenset(entry.name for entry in self.folder.iterdir() if entry.is_file())
        except OSError:
            raise EmbtieError(
                f"The folder '{self.name}' cannot be read.", "Check its access rights."
            ) from None

    def path(self, name: str) -> Path:
        """The file's path; an EmbtieError where it is missing or its name leaves the folder."""
        if not is_plain_name(name):
            raise EmbtieError(
                f"'{self.name}' refers to a file outside its own folder.",
                "Download the checkpoint again from a source you trust.",
            )
        path = self.folder / name
        if not path.is_file():
            raise EmbtieError(
                f"'{self.name}' lacks the file {name}.",
                "Download it again: the download was probably interrupted.",
            )
        return path

    def tensors(self, name: str) -> TensorFile:
        """The tensors of that weights file, mapped."""
        return TensorFile(self.path(name))


def is_plain_name(name: Any) -> bool:
    """Whether a file name from an index stays inside its folder."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0")


def optional_json(files: Files, name: str) -> Any:
    """The parsed JSON file, or None where the checkpoint has none."""
    return read_json(files.path(name)) if name in files.names() else None
