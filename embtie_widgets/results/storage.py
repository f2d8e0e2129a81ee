"""Results as bytes and back: numpy arrays and JSON in one checked archive, never a pickle."""

import io
import json
from dataclasses import fields
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.results.alignment import Alignment, PairAlignment, Vector

_FORMAT = 1
_KNOWN = {"Alignment": Alignment, "PairAlignment": PairAlignment}
_TUPLES = {"interval", "heldout_interval", "bands", "notes"}


def to_bytes(result: Alignment | PairAlignment) -> bytes:
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
    if type(value).__name__ in _KNOWN:
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
        kind = type(value).__name__
        return {"kind": kind, "parts": _dismantle(parts, place, arrays)}
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return {"kind": "array", "place": place}
    if place.endswith("/tokens"):
        _pack_tokens(value, place, arrays)
        return {"kind": "tokens", "place": place}
    if isinstance(value, dict):
        items = {k: _dismantle(v, f"{place}/{k}", arrays) for k, v in value.items()}
        return {"kind": "dict", "items": items}
    return value


def _assemble(value: Any, arrays: dict[str, Vector]) -> Any:
    if not isinstance(value, dict):
        return value
    kind = value["kind"]
    if kind == "dict":
        return {name: _assemble(item, arrays) for name, item in value["items"].items()}
    if kind == "array":
        return arrays[value["place"]]
    if kind == "tokens":
        return _unpack_tokens(value["place"], arrays)
    parts = _assemble(value["parts"], arrays)
    for name in _TUPLES & parts.keys():
        parts[name] = tuple(parts[name]) if parts[name] is not None else None
    return _KNOWN[kind](**parts)


def _pack_tokens(tokens: tuple[bytes | None, ...], place: str, arrays: dict[str, Vector]) -> None:
    lengths = [-1 if key is None else len(key) for key in tokens]
    arrays[f"{place}/lengths"] = np.array(lengths, np.int32)
    arrays[f"{place}/bytes"] = np.frombuffer(b"".join(key or b"" for key in tokens), np.uint8)


def _unpack_tokens(place: str, arrays: dict[str, Vector]) -> tuple[bytes | None, ...]:
    joined, start, tokens = arrays[f"{place}/bytes"].tobytes(), 0, []
    for length in arrays[f"{place}/lengths"].tolist():
        tokens.append(None if length < 0 else joined[start : start + length])
        start += max(length, 0)
    return tuple(tokens)
