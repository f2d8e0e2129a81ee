"""The mean row: centring, its share of a matrix, and the bound ratio of the centering paper."""

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.hashing import tensor_hash
from embtie_widgets.measures.means import is_rounding


def expected_ratio(x):
    rows = x.double().numpy()
    mu = rows.mean(0)
    return np.abs((rows - mu) @ mu).max() / np.abs(rows @ mu).max()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_centred_copy_is_that_of_float64_rounded_once(normal, dtype):
    x = (normal(5000, 6) + 20).to(dtype)
    found, before = ew.center(x), x.clone()
    assert found.dtype == dtype
    torch.testing.assert_close(found, (x.double() - x.double().mean(0)).to(dtype))
    assert torch.equal(x, before)


def test_an_array_stays_an_array(normal):
    x = normal(20, 3).numpy().astype(np.float32) + 1
    found = ew.center(x)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-6)


def test_centring_keeps_the_softmax_of_the_logits(normal):
    output, hidden = normal(50, 8) + 3, normal(4, 8)
    before, after = (torch.softmax(hidden @ u.T, 1) for u in (output, ew.center(output)))
    torch.testing.assert_close(before, after)


def test_rows_that_are_not_finite_and_padding_take_no_part_and_stay_as_they_are(normal):
    x = normal(100, 4) + 1
    x[80:90], x[90:], x[95, 1] = 0, torch.inf, torch.nan
    clean = x[:80].clone()
    found = ew.center(x)
    torch.testing.assert_close(found[:80], clean - clean.mean(0))
    assert (found[80:90] == 0).all()
    assert torch.isinf(found[90]).all()
    assert ew.bound_ratio(x) == pytest.approx(expected_ratio(clean))
    assert ew.mean_share(x).settings["rows_left_out"] == {"not finite": 10, "zero": 10}


def test_all_stored_rows_count_where_that_is_asked_for_as_the_paper_does(normal):
    x = torch.cat([normal(10, 4) + 2, torch.zeros(6, 4)])
    torch.testing.assert_close(ew.center(x, rows="all"), x - x.mean(0))
    assert ew.bound_ratio(x, rows="all") == pytest.approx(expected_ratio(x))
    one, all_rows = (ew.mean_share(x, rows=rows).length for rows in ("tokens", "all"))
    assert all_rows / one == pytest.approx(0.625)
    with pytest.raises(EmbtieError, match="'tokens', 'all'"):
        ew.center(x, rows="some")


def test_centring_moves_every_logit_of_a_position_alike_but_not_behind_a_soft_cap(normal):
    U, h = normal(10, 4) + 2, normal(3, 4)
    U, h = U.double(), h.double()
    before, moved = tensor_hash(U), h @ ew.center(U).T - h @ U.T
    assert (moved - moved[:, :1]).abs().max() < 1e-12
    assert moved.abs().max() > 0.1

    def distribution(matrix, cap):
        scores = h @ matrix.T
        return torch.softmax(scores if cap is None else cap * torch.tanh(scores / cap), 1)

    for cap, same in ((None, True), (5.0, False)):
        change = (distribution(U, cap) - distribution(ew.center(U), cap)).abs().max()
        assert bool(change < 1e-12) is same
    padded = torch.cat([U, torch.zeros(6, 4, dtype=torch.float64)])
    torch.testing.assert_close(ew.center(padded)[:10], ew.center(U), rtol=0, atol=1e-15)
    assert tensor_hash(U) == before


def test_the_bound_ratio_is_that_of_both_its_forms(normal):
    x = normal(300, 7) + 0.4
    rows, mu = x.numpy(), x.numpy().mean(0)
    upper = (rows @ mu).max() - mu @ mu
    lower = mu @ mu - (rows @ mu).min()
    ratio = max(upper, lower) / max(upper + mu @ mu, lower - mu @ mu)
    assert ew.bound_ratio(x) == pytest.approx(ratio)
    assert ew.bound_ratio(x) == pytest.approx(expected_ratio(x))
    assert ew.bound_ratio(1e140 * x) == pytest.approx(ratio)


def test_it_is_below_one_for_a_large_mean_and_above_for_rows_skewed_against_it(normal):
    assert ew.bound_ratio(normal(300, 7) + 9) < 0.6
    skewed = torch.ones(100, 1).double()
    skewed[0] = -20
    assert ew.bound_ratio(skewed) > 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_matrix_without_mean_has_no_bound_ratio(normal, dtype):
    x = normal(5000, 16)
    assert np.isfinite(ew.bound_ratio(x.to(dtype)))
    for matrix in (x, x + 30, torch.full((50, 7), 0.1)):
        assert np.isnan(ew.bound_ratio(ew.center(matrix.to(dtype))))
    assert np.isnan(ew.bound_ratio(torch.zeros(5, 3, dtype=dtype)))
    assert np.isnan(ew.bound_ratio(torch.cat([x, -x]).to(dtype)))


def test_the_mean_that_centring_within_a_training_leaves_is_none():
    """It comes to a quarter of the type's precision, times the length of a row."""
    eps = torch.finfo(torch.float32).eps
    assert is_rounding(0.26 * eps * 12.5, 12.5, torch.float32)
    assert not is_rounding(eps * 12.5, 12.5, torch.float32)


def test_shares_are_those_of_their_definitions(normal):
    x = normal(400, 5) + torch.tensor([3.0, 0, 0, 0, 0])
    rows = x.numpy()
    lengths, mu = np.linalg.norm(rows, axis=1), np.linalg.norm(rows.mean(0))
    found = ew.mean_share(x)
    assert found.value == float(found) == pytest.approx(mu / lengths.mean())
    assert found.energy == pytest.approx(mu**2 / (lengths**2).mean())
    assert found.length == pytest.approx(mu)


def test_a_planted_mean_is_all_or_nothing_of_the_matrix(normal):
    row = normal(1, 6)
    assert float(ew.mean_share(row.expand(40, 6))) == pytest.approx(1)
    assert float(ew.mean_share(ew.center(normal(40, 6)))) < 1e-12
    assert np.isnan(float(ew.mean_share(torch.zeros(4, 2))))


def test_nothing_finite_is_refused_in_words():
    for call in (ew.center, ew.bound_ratio, ew.mean_share):
        with pytest.raises(EmbtieError, match="None of the 3 rows is finite"):
            call(torch.full((3, 2), torch.nan))
