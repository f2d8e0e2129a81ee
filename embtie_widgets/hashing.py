"""The hash of a matrix: the same for a matrix read from files and for one that is handed over."""

import hashlib
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from embtie_widgets.progress import Progress, silent

_HASH_ROWS = 4096


def tensor_hash(matrix: torch.Tensor, progress: Progress = silent) -> str:
    """sha256 over dtype, shape and the stored bytes, read in blocks."""
    digest = hashlib.sha256(f"{matrix.dtype} {tuple(matrix.shape)} ".encode())
    for number, block in enumerate(matrix.detach().split(_HASH_ROWS)):
        progress("hashing", number * _HASH_ROWS, len(matrix))
        digest.update(raw_bytes(block).cpu().numpy().data)
    return digest.hexdigest()


def raw_bytes(matrix: torch.Tensor) -> torch.Tensor:
    """The stored bytes of a matrix of any dtype, (V, d * itemsize) uint8."""
    return matrix.contiguous().view(torch.uint8)


class LazyHashes(Mapping[str, str]):
    """Hashes of somebody's matrices by role, read when they are first asked for.

    No matrix is kept alive for it, and none is trusted to be as it was: a role whose matrix is
    gone by then, or of which `same(role, matrix)` is not true any more, is left out.
    `read(value, role)` gives the matrix of what was handed over.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        read: Callable[[Any, str], torch.Tensor],
        same: Callable[[str, torch.Tensor], bool],
    ) -> None:
        self._read, self._same = read, same
        self._values: dict[str, weakref.ref[Any]] = {}
        self._found: dict[str, str] | None = None
        for name, value in values.items():
            try:
                self._values[name] = weakref.ref(value)
            except TypeError:  # a plain list, say: nobody can watch it
                continue

    def _known(self) -> dict[str, str]:
        if self._found is None:
            self._found = dict(self._hashed())
            self._values = {}
        return self._found

    def _hashed(self) -> Iterator[tuple[str, str]]:
        for name, there in self._values.items():
            value = there()
            if value is None:
                continue
            matrix = self._read(value, name)
            if self._same(name, matrix):
                yield name, tensor_hash(matrix)

    def __getitem__(self, name: str) -> str:
        return self._known()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def __repr__(self) -> str:
        return "LazyHashes()" if self._found is None else repr(self._found)

    def __reduce__(self) -> tuple[type[dict[str, str]], tuple[dict[str, str]]]:
        return dict, (self._known(),)
