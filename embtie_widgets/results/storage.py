"""Results as bytes and back: numpy arrays and JSON in one checked archive, never a pickle."""

import io
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from embtie_widgets.errors import EmbtieError

Vector = np.ndarray[Any, np.dtype[Any]]
Class = TypeVar("Class", bound=type)
_FORMAT = 2
_KNOWN: dict[str, type] = {}


def storable(kind: Class) -> Class:
    """Class decorator: results of this dataclass can be stored and read again."""
    _KNOWN[kind.__name__] = kind
    return kind


def to_bytes(result: Any) -> bytes:
    """The whole result; `from_bytes` gives an equal one."""
    arrays: dict[str, Vector] = {}
    plain = {"format": _FORMAT, "result": _dismantle(result, "", arrays)}
    arrays["plain"] = np.frombuffer(json.dumps(plain).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def from_bytes(data: bytes) -> Any:
    """The result that these bytes hold; an EmbtieError where they are damaged or of another kind.

    The archive's own checksums tell a changed byte.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        plain = json.loads(arrays.pop("plain").tobytes())
        if plain["format"] != _FORMAT:
            raise ValueError("another format")
        return _assemble(plain["result"], arrays)
    except Exception as error:
        # A damaged archive makes its readers raise almost anything.
        raise EmbtieError("The stored result is damaged.", "Run the request again.") from error


def _dismantle(value: Any, place: str, arrays: dict[str, Vector]) -> Any:
    """A JSON value; arrays and token lists go into `arrays` under the place where they stood."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        if _KNOWN.get(kind) is not type(value):
            raise TypeError(f"{kind} is no storable result")
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
        return {"kind": kind, "parts": _dismantle(parts, place, arrays)}
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return {"kind": "array", "place": place}
    if place.endswith("/tokens") and isinstance(value, tuple):
        pack_tokens(value, place, arrays)
        return {"kind": "tokens", "place": place}
    if isinstance(value, Mapping):
        items = {k: _dismantle(v, f"{place}/{k}", arrays) for k, v in value.items()}
        return {"kind": "dict", "items": items}
    if isinstance(value, tuple | list):
        listed = [_dismantle(v, f"{place}/{i}", arrays) for i, v in enumerate(value)]
        return {"kind": "tuple", "items": listed} if isinstance(value, tuple) else listed
    return value


def _assemble(value: Any, arrays: dict[str, Vector]) -> Any:
    if isinstance(value, list):
        return [_assemble(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value["kind"]
    if kind == "dict":
        return {name: _assemble(item, arrays) for name, item in value["items"].items()}
    if kind == "tuple":
        return tuple(_assemble(item, arrays) for item in value["items"])
    if kind == "array":
        return arrays[value["place"]]
    if kind == "tokens":
        return unpack_tokens(value["place"], arrays)
    return _KNOWN[kind](**_assemble(value["parts"], arrays))


def pack_tokens(tokens: tuple[bytes | None, ...], place: str, arrays: dict[str, Vector]) -> None:
    """Byte keys of tokens as two arrays under `place`."""
    lengths = [-1 if key is None else len(key) for key in tokens]
    arrays[f"{place}/lengths"] = np.array(lengths, np.int32)
    arrays[f"{place}/bytes"] = np.frombuffer(b"".join(key or b"" for key in tokens), np.uint8)


def unpack_tokens(place: str, arrays: Mapping[str, Vector]) -> tuple[bytes | None, ...]:
    """What `pack_tokens` packed."""
    return _tokens_of(arrays[f"{place}/bytes"].tobytes(), arrays[f"{place}/lengths"].tobytes())


@lru_cache(maxsize=1)
def _tokens_of(joined: bytes, lengths: bytes) -> tuple[bytes | None, ...]:
    """The tokens; results of the same pair share them, which saves their time and memory."""
    start, tokens = 0, []
    for length in np.frombuffer(lengths, np.int32).tolist():
        tokens.append(None if length < 0 else joined[start : start + length])
        start += max(length, 0)
    return tuple(tokens)
