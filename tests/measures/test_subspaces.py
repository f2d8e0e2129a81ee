"""Subspace overlap against scipy's principal angles, and planted shared directions."""

import numpy as np
import pytest
import scipy.linalg
import torch

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures import axes, matrices
from embtie_widgets.measures.subspaces import subspace_overlap


def leading(x, k, side, center=False):
    rows = x.double().numpy()
    left, _, right = np.linalg.svd(rows - rows.mean(0) * center, full_matrices=False)
    return left[:, :k] if side == "tokens" else right[:k].T


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("side", ["tokens", "width"])
def test_correlations_are_the_cosines_of_the_principal_angles(
    monkeypatch, spread, side, center, direct
):
    if not direct:
        monkeypatch.setattr(axes, "_DIRECT_UP_TO", 0)
    x, y = spread(500, 20, 30.0) + 0.1, spread(500, 20, 30.0)
    y[:, :5] += x[:, :5]
    found = subspace_overlap(x, y, 6, side, center)
    angles = scipy.linalg.subspace_angles(leading(x, 6, side, center), leading(y, 6, side, center))
    np.testing.assert_allclose(found.correlations, np.sort(np.cos(angles))[::-1], atol=1e-9)
    assert found.mean == pytest.approx(np.cos(angles).mean())


def test_it_is_one_for_the_tokens_of_a_turned_matrix_but_not_for_its_width(spread, rotation):
    x = spread(400, 20, 50.0)
    turned = 9 * (x @ rotation(20))
    np.testing.assert_allclose(subspace_overlap(x, turned, 7).correlations, 1, atol=1e-9)
    np.testing.assert_allclose(subspace_overlap(x, x, 7, "width").correlations, 1, atol=1e-9)
    assert subspace_overlap(x, turned, 7, "width").mean < 0.9


def test_a_planted_subspace_is_found_among_unequal_widths(normal):
    shared = 30 * normal(600, 4)
    x = shared @ normal(4, 25) + normal(600, 25)
    y = shared @ normal(4, 60) + normal(600, 60)
    found = subspace_overlap(x, y, 8)
    assert (found.correlations[:4] > 0.99).all()
    assert (found.correlations[4:] < 0.4).all()
    assert found.floor < 0.2


@pytest.mark.parametrize("side", ["tokens", "width"])
def test_unrelated_matrices_come_to_the_floor(normal, side):
    found = subspace_overlap(normal(900, 120), normal(900, 120), 40, side)
    assert found.floor == pytest.approx(found.mean, abs=0.03)
    again = subspace_overlap(normal(900, 120), normal(900, 120), 40, side)
    assert again.floor == pytest.approx(found.floor, abs=0.03)


def test_a_mean_row_is_a_direction_that_chance_shares_too(normal):
    x, y = normal(400, 20) + 5, normal(400, 20) + 5
    raw, centred = subspace_overlap(x, y, 3), subspace_overlap(x, y, 3, center=True)
    assert raw.correlations[0] > 0.99
    assert raw.chance[0] > 0.99
    assert centred.correlations[0] < 0.3


def test_the_mean_is_that_of_float64_even_where_a_large_matrix_is_read_in_float32(
    monkeypatch, normal
):
    x, y = ((normal(3000, 6) / 1000 + 1000).float() for _ in range(2))
    exact = subspace_overlap(x, y, 3, center=True).correlations
    monkeypatch.setattr(matrices, "_EXACT_UP_TO", 0)
    found = subspace_overlap(x, y, 3, center=True).correlations
    np.testing.assert_allclose(found, exact, atol=1e-6)


def test_k_is_cut_to_the_smaller_rank(normal):
    x, y = normal(100, 3) @ normal(3, 10), normal(100, 10)
    found = subspace_overlap(x, y, 50)
    assert found.settings["k"] == len(found.correlations) == len(found.chance) == 3
    flat = subspace_overlap(torch.full((100, 4), 0.1), y, center=True)
    assert np.isnan([flat.mean, flat.floor]).all()


def test_rows_that_are_not_finite_change_nothing(normal):
    x, y = normal(200, 16), normal(200, 16)
    keep = [i for i in range(200) if i not in (7, 9)]
    clean = subspace_overlap(x[keep], y[keep], 5)
    x[7, 3], y[9, 2] = torch.nan, torch.inf
    found = subspace_overlap(x, y, 5)
    np.testing.assert_allclose(found.correlations, clean.correlations, atol=1e-12)
    assert found.settings["rows_left_out"]["not finite"] == 2


def test_what_has_no_meaning_is_refused_in_words(normal):
    for k in (0, 2.5, True):
        with pytest.raises(EmbtieError, match="whole number from 1"):
            subspace_overlap(normal(9, 4), normal(9, 4), k)
    with pytest.raises(EmbtieError, match="'tokens' or 'width'"):
        subspace_overlap(normal(9, 4), normal(9, 4), 2, "rows")
    with pytest.raises(EmbtieError, match="these are 4 and 5"):
        subspace_overlap(normal(9, 4), normal(9, 5), 2, "width")


def test_the_nano_pair_agrees_with_scipy(shared):
    model = ew.load(shared / "models" / "nano-untied")
    for side in ("tokens", "width"):
        found = ew.subspace_overlap(model.input, model.output, 20, side)
        bases = (leading(x, 20, side) for x in (model.input, model.output))
        wanted = np.sort(np.cos(scipy.linalg.subspace_angles(*bases)))[::-1]
        np.testing.assert_allclose(found.correlations, wanted, atol=1e-7)
        assert list(found.to_frame()["direction"]) == list(range(1, 21))
