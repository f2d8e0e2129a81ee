"""How points and selections travel."""

import numpy as np
import pytest

from embtie_widgets.widgets.codes import (
    decode,
    encode,
    pack_selection,
    unpack_selection,
    value_range,
)


def test_a_value_comes_back_within_half_a_step() -> None:
    values = np.random.default_rng(0).normal(size=5000)
    limits = value_range(values)
    step = (limits[1] - limits[0]) / 65534
    assert np.abs(decode(encode(values, limits), limits) - values).max() <= step / 2 * (1 + 1e-9)


def test_a_value_costs_two_bytes() -> None:
    assert len(encode(np.zeros(50_304), (-1, 1))) == 100_608


def test_what_is_not_finite_comes_back_as_nan() -> None:
    back = decode(encode(np.array([np.nan, np.inf, -np.inf, 0.5]), (0, 1)), (0, 1))
    assert np.isnan(back).tolist() == [True, True, True, False]


def test_a_value_outside_of_the_range_is_put_at_its_end() -> None:
    assert decode(encode(np.array([-5.0, 5.0]), (0, 1)), (0, 1)).tolist() == [0, 1]


@pytest.mark.parametrize("values", [[1.0, 1.0], [0.0], [-3.0], [], [np.nan, np.inf]])
def test_a_range_always_has_a_width_and_holds_its_values(values: list[float]) -> None:
    low, high = value_range(np.array(values))
    assert low < high
    assert all(low <= v <= high for v in values if np.isfinite(v))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 50_304])
def test_a_selection_comes_back_and_costs_a_bit_a_point(n: int) -> None:
    places = np.flatnonzero(np.random.default_rng(n).random(n) < 0.5)
    bits = pack_selection(places, n)
    assert len(bits) in (0, (n + 7) // 8)
    assert unpack_selection(bits, n).tolist() == places.tolist()


def test_the_lowest_bit_is_the_first_point() -> None:
    assert pack_selection(np.array([0, 9]), 10) == b"\x01\x02"
