"""The header of a safetensors file, judged as strictly as the format's own library does.

That library maps whole files, and only those that are on this machine; this says where in a file,
here or elsewhere, one tensor lies, and finds the words for what it refuses.
"""

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from embtie_widgets.errors import EmbtieError

PREFIX = 8
_AGAIN = "Download it again."
# What the safetensors library takes, in bytes.
_LONGEST = 2**25
_METADATA = "__metadata__"
_BITS = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I8", "U8", "BOOL"), 8),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    "F4": 4,
}
TORCH = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def dtype_name(dtype: Any) -> str:
    """What torch calls a dtype of its own or of the format; the format's name where it has none."""
    return str(TORCH.get(dtype, dtype)).removeprefix("torch.")


@dataclass(frozen=True)
class Slot:
    """Where one tensor lies: its bytes are [start, end) of the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def size(self) -> int:
        """In bytes."""
        return self.end - self.start


def refuse_other(start: bytes, name: str) -> None:
    """Refuse, by its first bytes, what stands where a file should be and is none."""
    if not start:
        raise EmbtieError(f"{name} is empty.", _AGAIN)
    if _begins(start, b"version https://git-lfs"):
        raise EmbtieError(
            f"{name} is a Git LFS pointer, not the weights.",
            "Run 'git lfs pull' in that folder, or download the file itself.",
        )
    page = start.lstrip().lower()
    if _begins(page, b"<!doctype") or _begins(page, b"<html"):
        raise EmbtieError(f"{name} is a web page, not the weights.", _AGAIN)


def _begins(start: bytes, with_: bytes) -> bool:
    """Whether it begins so, as far as it goes."""
    seen = min(len(start), len(with_))
    return seen >= min(PREFIX, len(with_)) and start[:seen] == with_[:seen]


def header_length(start: bytes, name: str, size: int | None) -> int:
    """How long the header is, from the first bytes of a file of `size` bytes."""
    refuse_other(start, name)
    if len(start) < PREFIX:
        raise EmbtieError(f"{name} is cut short.", _AGAIN)
    length = int(struct.unpack("<Q", start[:PREFIX])[0])
    if length > _LONGEST:
        raise damaged(name)
    if size is not None and PREFIX + length > size:
        raise EmbtieError(f"{name} is cut short.", _AGAIN)
    return length


def parse_header(header: bytes, name: str, size: int | None) -> tuple[dict[str, Slot], Any]:
    """The tensors by name, and the metadata; an EmbtieError unless they fill the file exactly.

    `header` is what lies between the first 8 bytes and the data, `size` the whole file's in
    bytes, None where that is not known.
    """
    try:
        entries = json.loads(header.decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise damaged(name) from None
    if not header.startswith(b"{"):
        raise damaged(name)
    metadata = entries.pop(_METADATA, None)
    if metadata is not None and not _are_texts(metadata):
        raise damaged(name)
    begin = PREFIX + len(header)
    slots = {key: _slot(value, begin, name) for key, value in entries.items() if _is_text(key)}
    if len(slots) != len(entries):
        raise damaged(name)
    _check_filled(slots, begin, size, name)
    return slots, metadata


def damaged(name: str) -> EmbtieError:
    """The fault of a file that cannot be what it is called."""
    return EmbtieError(f"{name} is no safetensors file, or damaged.", _AGAIN)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different: of two entries with one name none can be trusted."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _is_text(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def _are_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _slot(value: Any, begin: int, name: str) -> Slot:
    fields = value if isinstance(value, Mapping) else {}
    dtype: Any = fields.get("dtype")
    shape: Any = fields.get("shape")
    offsets: Any = fields.get("data_offsets")
    if not (isinstance(dtype, str) and _are_counts(shape) and _are_counts(offsets)):
        raise damaged(name)
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        raise damaged(name)
    slot = Slot(dtype, tuple(shape), begin + offsets[0], begin + offsets[1])
    if dtype not in _BITS or math.prod(shape) * _BITS[dtype] != 8 * slot.size:
        raise damaged(name)
    return slot


def _are_counts(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n < 2**63 for n in value)


def _check_filled(slots: Mapping[str, Slot], begin: int, size: int | None, name: str) -> None:
    """No hole, no overlap, and the end where the file ends."""
    at = begin
    for slot in sorted(slots.values(), key=lambda slot: (slot.start, slot.end)):
        if slot.start != at:
            raise damaged(name)
        at = slot.end
    if size is not None and size < at:
        raise EmbtieError(f"{name} is cut short.", _AGAIN)
    if size is not None and size > at:
        raise EmbtieError(
            f"{name} is longer than its header says, so it is damaged.", "Download it again."
        )
