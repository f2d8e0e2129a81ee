"""CKA against kernels written out in full, and its floor against all permutations there are."""

import itertools

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.measures import cka as module
from embtie_widgets.measures.cka import cka


def expected(x, y, debiased=False):
    """From n x n kernels: Gretton's estimator of HSIC, or Song's, with the diagonals at zero."""
    estimator = song if debiased else gretton
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    return estimator(x, y) / np.sqrt(estimator(x, x) * estimator(y, y))


def gretton(x, y):
    n = len(x)
    centring = np.eye(n) - 1 / n
    return np.trace(x @ x.T @ centring @ (y @ y.T) @ centring)


def song(x, y):
    n, one = len(x), np.ones(len(x))
    K, L = x @ x.T, y @ y.T
    np.fill_diagonal(K, 0)
    np.fill_diagonal(L, 0)
    both = one @ K @ one * (one @ L @ one) / ((n - 1) * (n - 2))
    return np.trace(K @ L) + both - 2 / (n - 2) * (one @ K @ L @ one)


both_variants = pytest.mark.parametrize("debiased", [False, True])


@both_variants
@pytest.mark.parametrize("widths", [(7, 7), (3, 40), (90, 20)])
def test_it_is_the_ratio_of_full_kernels(normal, debiased, widths):
    x, z = normal(60, widths[0]) + 2, normal(60, 5)
    y = normal(60, widths[1])
    x[:, :3] += z[:, :3]
    y[:, :3] += 3 * z[:, 1:4]
    assert cka(x, y, debiased).value == pytest.approx(expected(x, y, debiased), abs=1e-12)


@both_variants
def test_the_floor_is_the_mean_over_all_permutations(normal, debiased):
    x = normal(7, 3) + 1
    y = normal(7, 4) * torch.tensor([1.0, 2, 3, 9], dtype=torch.float64) + x[:, :1]
    found = cka(x, y, debiased)
    values = [expected(x, y[list(order)], debiased) for order in itertools.permutations(range(7))]
    assert found.floor == pytest.approx(np.mean(values), abs=1e-12)
    assert found.floor_spread == pytest.approx(np.std(values), abs=1e-12)


@both_variants
def test_it_is_one_for_a_matrix_turned_moved_and_scaled(normal, rotation, debiased):
    x = normal(200, 12) @ torch.diag(torch.linspace(1, 4, 12, dtype=torch.float64))
    assert cka(x, x, debiased).value == pytest.approx(1, abs=1e-12)
    assert cka(x, -3e5 * (x @ rotation(12)) + 7, debiased).value == pytest.approx(1, abs=1e-9)


@both_variants
def test_it_is_symmetric_and_the_order_of_rows_does_not_matter(normal, debiased):
    x, y, order = normal(80, 6), normal(80, 9), torch.randperm(80)
    found = cka(x, y, debiased).value
    assert cka(y, x, debiased).value == pytest.approx(found, abs=1e-12)
    assert cka(x[order], y[order], debiased).value == pytest.approx(found, abs=1e-12)
    assert cka(x, y[order], debiased).value != pytest.approx(found, abs=1e-6)


def test_unrelated_rows_come_to_the_floor(normal):
    x, y = normal(400, 150), normal(400, 250)
    plain, debiased = cka(x, y), cka(x, y, debiased=True)
    assert plain.value > 0.25
    assert abs(plain.value - plain.floor) < 4 * plain.floor_spread
    assert abs(debiased.value) < 4 * debiased.floor_spread
    assert debiased.floor == 0
    assert debiased.floor_spread == pytest.approx((2 / (400 * 397)) ** 0.5)


@both_variants
def test_the_float32_products_of_large_work_are_as_good(monkeypatch, normal, debiased):
    x, y = (normal(9000, 20) + 40).float(), (normal(9000, 30) - 40).float()
    y[:, :20] += x
    exact = expected_by_features(x, y, debiased)
    monkeypatch.setattr(module, "_EXACT_UP_TO", 0)
    found = cka(x, y, debiased)
    assert found.settings["arithmetic"] == "float32"
    assert found.value == pytest.approx(exact, abs=1e-7)


def expected_by_features(x, y, debiased):
    return cka(x.double(), y.double(), debiased).value


@both_variants
def test_stored_types_may_be_mixed(normal, debiased):
    x, y = normal(300, 16), normal(300, 16)
    y += x
    for types in ((torch.float16, torch.float32), (torch.bfloat16, torch.bfloat16)):
        a, b = x.to(types[0]), y.to(types[1])
        wanted = expected(a.double(), b.double(), debiased)
        assert cka(a, b, debiased).value == pytest.approx(wanted, abs=1e-10)


@both_variants
def test_rows_that_are_not_finite_are_counted_and_change_nothing(normal, debiased):
    x, y = normal(200, 16), normal(200, 16)
    keep = [i for i in range(200) if i not in (7, 9, 11)]
    clean = cka(x[keep], y[keep], debiased)
    x[7, 3], y[9, 2], y[11] = torch.nan, torch.inf, 0
    found = cka(x, y, debiased)
    assert found.value == pytest.approx(clean.value, abs=1e-12)
    assert found.floor == pytest.approx(clean.floor, abs=1e-12)
    assert found.settings["rows_left_out"] == {"not finite": 2, "zero": 1}
    assert found.settings["rows_used"] == 197


@both_variants
def test_without_a_value_it_says_why(normal, debiased):
    flat = cka(torch.full((9, 3), 0.1), normal(9, 3), debiased)
    assert np.isnan(flat.value)
    assert flat.settings["notes"] == [
        "There is no value: all rows of one of the matrices are equal."
    ]
    few = cka(normal(1, 3), normal(1, 3), debiased)
    assert np.isnan(few.value)
    assert cka(normal(3, 3), normal(3, 3), True).settings["notes"] == [
        "There is no value: 3 rows are too few."
    ]


def test_what_cannot_be_compared_is_refused_in_words(normal):
    with pytest.raises(EmbtieError, match="None of the 4 rows can be used"):
        cka(torch.full((4, 2), torch.nan), normal(4, 2))
    with pytest.raises(EmbtieError, match=r"different numbers of rows: x 4, y 5"):
        cka(normal(4, 2), normal(5, 2))


def test_it_stops_when_it_is_told_to(normal):
    def stop(stage, done, total):
        if stage == "multiplying":
            raise Cancelled

    with pytest.raises(Cancelled):
        cka(normal(50, 4), normal(50, 4), progress=stop)


def test_the_nano_pair_agrees_with_full_kernels(shared):
    tied = ew.load(shared / "models" / "nano-tied").input[::4]
    output = ew.load(shared / "models" / "nano-untied").output[::4]
    for debiased in (False, True):
        found = ew.cka(tied, output, debiased)
        assert found.value == pytest.approx(expected(tied, output, debiased), abs=1e-9)
        assert set(found.hashes) == {"x", "y"}
