"""Intervals."""

import numpy as np
import pytest

from embtie_widgets.measures.statistics import bootstrap_interval


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
