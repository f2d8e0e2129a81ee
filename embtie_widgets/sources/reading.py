"""Opening files that others made: every fault becomes a sentence about the file."""

import json
import stat
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.header import (
    PREFIX,
    TORCH,
    Slot,
    dtype_name,
    header_length,
    parse_header,
    refuse_other,
)

_AGAIN = "Download it again."
_MOST_BYTES = 2**26  # parsed, a text of brackets takes twenty times as much


class TensorFile:
    """The tensors of one weights file: names and shapes from its header, values on demand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_start(path)
        self._tensors = _open_safetensors(path) if _is_safetensors(path) else _open_pickle(path)

    def names(self) -> list[str]:
        """Of all tensors."""
        return sorted(self._tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        """From the header alone."""
        return tuple(self._tensors[name][0])

    def dtype(self, name: str) -> str:
        """From the header alone, as torch calls it where it knows it: "bfloat16"."""
        return dtype_name(self._tensors[name][1].dtype)

    def read(self, name: str) -> torch.Tensor:
        """The tensor, a view of the mapped file where the format allows it."""
        value = self._tensors[name][1]
        if isinstance(value, torch.Tensor):
            return value.detach()
        if value.dtype not in TORCH:
            raise EmbtieError(
                f"{name} in {self.path.name} is stored in a form that is not read.",
                "Choose the checkpoint in float32, bfloat16 or float16.",
            )
        return _mapped(self.path, value)


def check_start(path: Path) -> None:
    """Refuse missing, empty and pointer files before a parser meets them."""
    with sentences(path):
        kind = path.stat().st_mode
        if not stat.S_ISREG(kind):
            what = "a folder" if stat.S_ISDIR(kind) else "a device or pipe"
            raise EmbtieError(f"{path.name} is {what}, not a file.", "Name a file.")
    refuse_other(_first(path, 64), path.name)


def _first(path: Path, count: int) -> bytes:
    with sentences(path), path.open("rb") as file:
        return file.read(count)


@contextmanager
def sentences(path: Path) -> Iterator[None]:
    """Faults of the operating system, as a sentence without the path."""
    try:
        yield
    except FileNotFoundError:
        raise EmbtieError(f"There is no file {path.name}.", "Check its name.") from None
    except IsADirectoryError:
        raise EmbtieError(f"{path.name} is a folder, not a file.", "Name a file in it.") from None
    except PermissionError:
        raise EmbtieError(f"{path.name} may not be read.", "Check its access rights.") from None
    except OSError:
        raise EmbtieError(f"{path.name} cannot be read.", "Check the disk it is on.") from None


def read_whole(path: Path) -> bytes:
    """All of a file that is not made of weights: configuration, index, tokens; an EmbtieError for
    one that is too large to be such."""
    check_start(path)
    with sentences(path):
        size = path.stat().st_size  # what is read takes its room at once, however small the file
    raw = _first(path, min(size, _MOST_BYTES) + 1)
    if len(raw) > _MOST_BYTES:
        raise EmbtieError(
            f"{path.name} is larger than {_MOST_BYTES >> 20} MB, which no such file is.", _AGAIN
        )
    return raw


def read_json(path: Path) -> Any:
    """The parsed file; an EmbtieError where it is no JSON."""
    raw = read_whole(path)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise EmbtieError(f"{path.name} is no valid JSON.", _AGAIN) from None


def _is_safetensors(path: Path) -> bool:
    return path.name.endswith(".safetensors")


def _open_safetensors(path: Path) -> Mapping[str, tuple[tuple[int, ...], Any]]:
    size = path.stat().st_size
    length = header_length(_first(path, PREFIX), path.name, size)
    slots, _ = parse_header(_first(path, PREFIX + length)[PREFIX:], path.name, size)
    return {name: (slot.shape, slot) for name, slot in slots.items()}


def _mapped(path: Path, slot: Slot) -> torch.Tensor:
    """The tensor's own bytes and no more: a whole file may be larger than what can be mapped."""
    dtype = TORCH[slot.dtype]
    if not slot.size:
        return torch.empty(slot.shape, dtype=dtype)
    try:
        with sentences(path):
            # Copy on write: torch wants writable memory, the file stays as it is.
            raw: Any = np.memmap(path, np.uint8, "c", slot.start, (slot.size,))
    except ValueError:
        raise EmbtieError(f"{path.name} was cut short while it was read.", _AGAIN) from None
    known = torch.from_numpy(raw)
    if slot.start % dtype.itemsize:
        known = known.clone()
    return known.view(dtype).reshape(slot.shape)


def _open_pickle(path: Path) -> Mapping[str, tuple[tuple[int, ...], Any]]:
    content = _load_pickle(path)
    for key in ("state_dict", "model", "module"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping):
        raise EmbtieError(f"{path.name} holds no named tensors.", "Choose a model checkpoint.")
    tensors = {k: v for k, v in content.items() if isinstance(v, torch.Tensor)}
    return {str(name): (tuple(value.shape), value) for name, value in tensors.items()}


def _load_pickle(path: Path) -> Any:
    # torch raises half a dozen exception types here, some of them bare RuntimeErrors.
    try:
        with warnings.catch_warnings():
            # Protocols above 2 are read all the same, or refused below.
            warnings.filterwarnings("ignore", message="Detected pickle protocol", module="torch")
            return torch.load(path, map_location="cpu", weights_only=True, mmap=_is_zip(path))
    except Exception as error:
        if "weights only" in str(error).lower() or "unsupported" in str(error).lower():
            raise EmbtieError(
                f"{path.name} holds more than tensors, or pickles them in a way that the safe "
                "reader does not know, so it is refused; nothing in it was run.",
                "Use a safetensors version of the checkpoint.",
            ) from None
        raise EmbtieError(f"{path.name} is cut short or no PyTorch checkpoint.", _AGAIN) from None


def _is_zip(path: Path) -> bool:
    return _first(path, 4) == b"PK\x03\x04"
