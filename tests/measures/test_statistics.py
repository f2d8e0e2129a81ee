"""Intervals and bands."""

import numpy as np
import pytest

from embtie_widgets.measures.statistics import bands, bootstrap_interval


def test_the_bootstrap_interval_is_that_of_the_normal_law_for_many_tokens():
    values = np.random.default_rng(0).normal(0.3, 0.1, 5000)
    low, high = bootstrap_interval(values, seed=1)
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert low == pytest.approx(values.mean() - half, abs=half / 5)
    assert high == pytest.approx(values.mean() + half, abs=half / 5)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = sum(
        low <= 0.3 <= high
        for low, high in (
            bootstrap_interval(rng.normal(0.3, 0.1, 100), seed, resamples=200)
            for seed in range(200)
        )
    )
    assert 178 <= hits <= 200


def test_the_interval_is_repeatable_and_empty_for_nothing():
    values = np.arange(10.0)
    assert bootstrap_interval(values, 3) == bootstrap_interval(values, 3)
    assert np.isnan(bootstrap_interval(np.zeros(0), 0)).all()


def test_bands_hold_every_token_once_and_their_own_means():
    counts = np.array([0, 1, 9, 10, 99, 100, 5_000, 12_345])
    scores = {"a": np.arange(8.0), "b": np.array([np.nan, 1, np.nan, 3, 4, 5, 6, 7])}
    found = bands(counts, scores)
    assert [row["tokens"] for row in found] == [1, 2, 2, 1, 1, 1]
    assert sum(row["tokens"] for row in found) == len(counts)
    assert found[1]["band"] == "1 to 9"
    assert found[1]["a"] == pytest.approx(1.5)
    assert found[1]["b"] == pytest.approx(1.0)
    assert np.isnan(found[0]["b"])
    assert found[-1]["band"] == "10,000 and more"
