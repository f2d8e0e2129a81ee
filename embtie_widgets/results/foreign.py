"""Stored results that come from elsewhere: read with distrust, value by value.

What a file claims to be is held against the dataclass that it names: every field must be of the
kind that its annotation says.  Text in it can never begin a tag of markup.
"""

import io
import re
import types
import zipfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.results.storage import from_bytes

_MOST_ARRAYS = 20_000
_NUMBERS = "biuf"
_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
_ALIKE = "\u2039"  # looks like it
_UNIONS = (Union, types.UnionType)


def from_foreign_bytes(data: bytes, expected: type) -> Any:
    """The result of this class that the bytes hold; an EmbtieError where they hold anything else.

    In its texts a "<" that would begin a tag is another sign, which looks like it.
    """
    _check_archive(data)
    result = from_bytes(data)
    if not isinstance(result, expected):
        raise _forged(f"a {type(result).__name__}, not a {expected.__name__}")
    try:
        return _checked(result, expected, expected.__name__)
    except RecursionError:
        raise _forged("values inside values without end") from None


def _check_archive(data: bytes) -> None:
    """What is packed must take no more room than it has: results are stored as they are."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        raise _forged("no archive") from None
    packed = any(one.compress_type != zipfile.ZIP_STORED for one in entries)
    if packed or len(entries) > _MOST_ARRAYS or sum(one.file_size for one in entries) > len(data):
        raise _forged("an archive that would unpack to more than it is")


def _forged(what: str) -> EmbtieError:
    return EmbtieError(
        f"The stored result is not one that embtie has written: it holds {what}.",
        "Ask for the file again where it came from, or run its request.",
    )


def _checked(value: Any, hint: Any, place: str) -> Any:
    """The value, if the hint allows it; texts made harmless."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in _UNIONS:
        return _one_of(value, inside, place)
    if hint is Any:
        return _plain(value, place)
    if is_dataclass(hint):
        return _dataclass(value, hint, place)
    if origin is np.ndarray or hint is np.ndarray:
        return _array(value, place)
    if origin is tuple and isinstance(value, tuple):
        hints = [inside[0]] * len(value) if inside[-1] is Ellipsis else list(inside)
        if len(hints) == len(value):
            return tuple(_checked(one, h, place) for one, h in zip(value, hints, strict=True))
    if origin is list and isinstance(value, list):
        return [_checked(one, inside[0], place) for one in value]
    if origin in (dict, Mapping) and isinstance(value, dict):
        return {
            _checked(name, inside[0], place): _checked(one, inside[1], place)
            for name, one in value.items()
        }
    if hint in (str, bytes, bool, int, float, type(None)):
        return _single(value, hint, place)
    raise _forged(f"something else than expected at {place}")


def _one_of(value: Any, hints: tuple[Any, ...], place: str) -> Any:
    for hint in hints:
        try:
            return _checked(value, hint, place)
        except EmbtieError:
            continue
    raise _forged(f"something else than expected at {place}")


def _single(value: Any, hint: type, place: str) -> Any:
    whole = hint is float and type(value) is int
    if type(value) is not hint and not whole:
        raise _forged(f"something else than expected at {place}")
    return _harmless(value) if isinstance(value, str) else value


def _dataclass(value: Any, hint: Any, place: str) -> Any:
    if not isinstance(value, hint):
        raise _forged(f"something else than expected at {place}")
    for name, known in _fields(type(value)).items():
        fixed = _checked(getattr(value, name), known, f"{place}.{name}")
        object.__setattr__(value, name, fixed)
    return value


def _fields(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}


def _array(value: Any, place: str) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in _NUMBERS:
        raise _forged(f"no numbers at {place}")
    return value


def _plain(value: Any, place: str) -> Any:
    """A value of which nothing is known but that it is plain."""
    if isinstance(value, str):
        return _harmless(value)
    if value is None or isinstance(value, bool | int | float | bytes):
        return value
    if isinstance(value, tuple | list):
        return type(value)(_plain(one, place) for one in value)
    if isinstance(value, dict):
        return {_plain(name, place): _plain(one, place) for name, one in value.items()}
    if is_dataclass(value):
        return _dataclass(value, type(value), place)
    return _array(value, place)


def _harmless(text: str) -> str:
    return _TAG.sub(_ALIKE, text)
