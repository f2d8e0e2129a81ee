"""Means over positions and their intervals."""

import numpy as np
import pytest

from embtie_widgets.measures.lens_means import finite_mean, intervals

RNG = np.random.default_rng(0)


def test_the_mean_leaves_out_what_is_not_finite() -> None:
    found = finite_mean(np.array([[1.0, np.nan, 3.0], [np.nan] * 3, [np.inf, 1, 1]]))
    assert np.array_equal(found, [2, np.nan, 1], equal_nan=True)


def test_of_independent_positions_it_is_the_interval_of_the_normal_law() -> None:
    values = RNG.normal(5, 2, (2, 4000))
    found, drawn = intervals(values, np.zeros(4000, int), seed=1)
    half = 1.96 * values.std(axis=1) / np.sqrt(4000)
    assert drawn == "positions"
    assert found[:, 0] == pytest.approx(values.mean(1) - half, abs=0.1 * half.max())
    assert found[:, 1] == pytest.approx(values.mean(1) + half, abs=0.1 * half.max())


def test_positions_of_a_piece_that_are_alike_count_as_one() -> None:
    pieces = np.repeat(np.arange(100), 50)
    values = RNG.normal(0, 1, 100)[pieces][None]
    found, drawn = intervals(values, pieces, seed=1)
    alone, _ = intervals(values, np.zeros(5000, int), seed=1)
    assert drawn == "pieces"
    assert np.ptp(found) == pytest.approx(np.ptp(alone) * np.sqrt(50), rel=0.2)


def test_the_same_seed_gives_the_same_interval() -> None:
    values, pieces = RNG.normal(size=(3, 200)), np.repeat(np.arange(20), 10)
    first, again, other = (intervals(values, pieces, seed)[0] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_row_without_a_finite_value_has_no_interval() -> None:
    found, _ = intervals(np.array([[np.nan] * 5, [1.0] * 5]), np.zeros(5, int), seed=0)
    assert np.isnan(found[0]).all()
    assert found[1].tolist() == [1, 1]
