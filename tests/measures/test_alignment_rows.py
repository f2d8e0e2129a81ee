"""Rows that cannot be used: named, counted, left out, and without effect on the others."""

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError


@pytest.mark.parametrize("kind", ["identity", "orthogonal", "linear"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_rows_that_are_not_finite_have_no_value_and_change_no_other(normal, kind, dtype):
    x, y = normal(200, 16).to(dtype), normal(200, 16).to(dtype)
    clean = torch.ones(200, dtype=torch.bool)
    clean[[7, 9]] = False
    alone = ew.align(x[clean], y[clean], kind)
    x[7, 3], x[9, 1] = torch.nan, torch.inf
    found = ew.align(x, y, kind)
    assert np.flatnonzero(np.isnan(found.cosine)).tolist() == [7, 9]
    np.testing.assert_allclose(found.cosine[clean.numpy()], alone.cosine, atol=1e-12)
    assert found.mean == pytest.approx(alone.mean, abs=1e-12)
    assert found.heldout_mean == pytest.approx(alone.heldout_mean, abs=1e-12)
    assert found.settings["rows_left_out"]["not finite"] == 2


def test_zero_rows_of_either_side_have_no_value(normal):
    x, y = normal(60, 5), normal(60, 5)
    x[3], y[4] = 0, 0
    found = ew.align(x, y)
    assert np.flatnonzero(np.isnan(found.cosine)).tolist() == [3, 4]
    assert found.settings["rows_left_out"]["zero"] == 2


def test_rows_equal_to_the_mean_have_no_value_after_centring(normal):
    x, y = normal(60, 5), normal(60, 5)
    x[0] = x[1:].mean(0)
    found = ew.align(x, y, "orthogonal", holdout=0)
    assert np.flatnonzero(np.isnan(found.cosine)).tolist() == [0]
    assert found.settings["rows_left_out"]["equal to the mean"] == 1


def test_nothing_usable_is_a_plain_sentence(normal):
    with pytest.raises(EmbtieError, match="None of the 20 rows can be used: 20 are not finite"):
        ew.align(torch.full((20, 4), torch.nan), normal(20, 4))
    with pytest.raises(EmbtieError, match="equals the mean row"):
        ew.align(torch.ones(20, 4), normal(20, 4), "orthogonal")


def test_a_pair_leaves_a_bad_row_out_of_all_three(normal):
    e, u, w = normal(80, 4), normal(80, 4), normal(80, 4)
    w[5] = torch.nan
    for found in ew.align_pair(e, u, w).values():
        assert np.flatnonzero(np.isnan(found.cosine)).tolist() == [5]
