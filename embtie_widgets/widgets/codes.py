"""How points and selections travel: 16-bit codes within a range, one bit per selected point."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
TOP = 65534
NO_VALUE = 65535


def value_range(values: Array, margin: float = 0.03) -> tuple[float, float]:
    """The range that holds all finite values with some air; never of width zero."""
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    if finite.size == 0:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    air = (high - low) * margin or max(abs(low) * 0.5, 0.5)
    return low - air, high + air


def encode(values: Array, limits: tuple[float, float]) -> bytes:
    """(n,) numbers as n little-endian codes; off by at most half of (high - low) / 65534.

    What is not finite gets a code of its own; what lies outside of the range is put at its end.
    """
    low, high = limits
    numbers = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(numbers)
    scaled = np.clip((np.where(finite, numbers, low) - low) / (high - low), 0.0, 1.0) * TOP
    return np.where(finite, np.rint(scaled), NO_VALUE).astype("<u2").tobytes()


def decode(codes: bytes, limits: tuple[float, float]) -> Array:
    """The numbers that the browser sees, NaN where there is none."""
    low, high = limits
    steps = np.frombuffer(codes, dtype="<u2")
    return np.where(steps == NO_VALUE, np.nan, low + steps / TOP * (high - low))


def pack_selection(places: Array, n: int) -> bytes:
    """Which of n points are selected, one bit each, lowest bit first; no bytes for none."""
    if len(places) == 0:
        return b""
    flags = np.zeros(n, dtype=bool)
    flags[places] = True
    return np.packbits(flags, bitorder="little").tobytes()


def unpack_selection(bits: bytes, n: int) -> Array:
    """The places (rising) of the selected points."""
    if not bits:
        return np.empty(0, dtype=np.int64)
    flags = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=n, bitorder="little")
    return np.flatnonzero(flags)
