"""Waves over an order-1 signature, against plain numpy."""

import numpy as np
import pytest

from embtie_widgets.measures.frequencies import frequency_correlations
from embtie_widgets.measures.signatures import cosines, gram, signature

N = 12
PAIRS = np.array([(a, b) for a in range(N) for b in range(N)])


def test_rows_made_of_one_wave_are_found_at_its_frequency():
    table = signature(PAIRS, PAIRS.sum(1) % N, 1).values
    planted = table @ np.cos(2 * np.pi * 3 * np.arange(N) / N)
    found = frequency_correlations(table, cosines(gram(planted))[None], np.arange(N), N)
    assert found.shape == (1, N // 2 + 1)
    assert np.nanargmax(found[0]) == 3
    assert found[0, 3] == pytest.approx(1)


def test_frequency_zero_is_order_zero_and_constant_for_a_dividing_modulus():
    noise = cosines(gram(np.random.default_rng(0).normal(size=(2, N, 5))))
    for labels, constant in ((PAIRS.sum(1), False), (PAIRS.sum(1) % N, True)):
        found = frequency_correlations(signature(PAIRS, labels, 1).values, noise, np.arange(N), N)
        zero = signature(PAIRS, labels, 0).values
        unit = zero / np.linalg.norm(zero, axis=1, keepdims=True)
        upper = np.triu_indices(N, 1)
        if constant:
            assert np.isnan(found[:, 0]).all()
        else:
            expected = [np.corrcoef((unit @ unit.T)[upper], one[upper])[0, 1] for one in noise]
            np.testing.assert_allclose(found[:, 0], expected)
