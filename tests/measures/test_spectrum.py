"""Spectra against numpy's SVD by every route, and the laws that they keep."""

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.measures import axes, matrices
from embtie_widgets.measures.spectra import cloud_of, selected_spectrum


def expected(x, center=False):
    rows = x.double().numpy()
    return np.linalg.svd(rows - rows.mean(0) * center, compute_uv=False)


@pytest.fixture(params=["svd", "large"])
def route(request, monkeypatch):
    """Small matrices as they are, and as if they were large."""
    if request.param == "large":
        monkeypatch.setattr(axes, "_DIRECT_UP_TO", 0)
    return request.param


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(9000, 24), (24, 60), (1, 5), (24, 24)])
def test_every_value_is_that_of_the_svd(normal, route, shape, center):
    x = normal(*shape) + 3
    found = ew.spectrum(x, center).singular_values
    assert found.shape == (min(shape),)
    np.testing.assert_allclose(found, expected(x, center), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("condition", [1e3, 1e5, 1e9])
def test_small_values_do_not_drown(spread, route, condition):
    x = spread(5000, 30, condition)
    found = ew.spectrum(x)
    np.testing.assert_allclose(found.singular_values, expected(x), rtol=1e-6)
    assert found.condition == pytest.approx(np.linalg.cond(x.numpy()), rel=1e-5)


@pytest.mark.parametrize("condition", [1e3, 1e9])
def test_nor_those_of_fewer_rows_than_columns(spread, route, condition):
    x = spread(80, 30, condition).T
    np.testing.assert_allclose(ew.spectrum(x).singular_values, expected(x), rtol=1e-6)


def test_the_mean_is_that_of_float64_even_where_a_large_matrix_is_read_in_float32(
    monkeypatch, normal, route
):
    monkeypatch.setattr(matrices, "_EXACT_UP_TO", 0)
    x = (normal(3000, 6) / 1000 + 1000).float()
    np.testing.assert_allclose(ew.spectrum(x, True).singular_values, expected(x, True), rtol=1e-9)


def test_large_ill_conditioned_matrices_take_the_way_that_does_not_square(monkeypatch, spread):
    monkeypatch.setattr(axes, "_DIRECT_UP_TO", 0)
    routes = [ew.spectrum(spread(600, 20, c)).settings["route"] for c in (1e2, 1e8)]
    assert routes == ["gram", "qr"]


@pytest.mark.parametrize("center", [True, False])
def test_the_axes_are_those_of_the_svd(normal, route, center):
    for shape in ((800, 12), (12, 30)):
        x = normal(*shape) @ torch.diag(torch.linspace(1, 5, shape[1], dtype=torch.float64)) + 1
        cloud, _ = cloud_of(x, center)
        found = axes.find_axes(cloud).vectors
        k = min(shape)
        torch.testing.assert_close(found.T @ found, torch.eye(k, dtype=torch.float64))
        rows = x - x.mean(0) * center
        along = torch.linalg.vector_norm(rows @ found, dim=0).numpy()
        np.testing.assert_allclose(along, expected(x, center), atol=1e-9)


def test_equal_values_have_their_number_as_effective_rank(normal, rotation, route):
    left = torch.linalg.qr(normal(300, 7)).Q
    found = ew.spectrum(left @ rotation(20)[:7] * 5)
    assert found.rank == 7
    assert found.effective_rank == pytest.approx(7)
    assert found.participation_ratio == pytest.approx(7)
    assert found.top_share == pytest.approx(1 / 7)
    assert found.condition == np.inf
    assert found.frobenius == pytest.approx(5 * 7**0.5)


def test_the_numbers_are_those_of_their_definitions(spread):
    x = spread(400, 9, 50.0)
    found, sigma = ew.spectrum(x), expected(x)
    share = sigma / sigma.sum()
    assert found.effective_rank == pytest.approx(np.exp(-(share * np.log(share)).sum()))
    energy = sigma**2
    assert found.participation_ratio == pytest.approx(energy.sum() ** 2 / (energy**2).sum())
    assert found.top_share == pytest.approx(energy[0] / energy.sum())


def test_a_matrix_stacked_on_itself_has_the_same_normalised_spectrum(normal, route):
    x = normal(70, 12) + 1
    for center in (True, False):
        once, thrice = ew.spectrum(x, center), ew.spectrum(torch.cat([x, x, x]), center)
        np.testing.assert_allclose(thrice.normalised, once.normalised, rtol=1e-10)
        np.testing.assert_allclose(thrice.singular_values, 3**0.5 * once.singular_values)
        assert thrice.effective_rank == pytest.approx(once.effective_rank)
        assert thrice.participation_ratio == pytest.approx(once.participation_ratio)


def test_rotation_and_order_change_nothing_and_scale_scales(normal, rotation):
    x = normal(90, 8)
    turned = ew.spectrum((x @ rotation(8))[torch.randperm(90)] * 2.5)
    np.testing.assert_allclose(turned.singular_values, 2.5 * ew.spectrum(x).singular_values)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_squares_that_leave_the_range_do_no_harm(normal, route, size):
    x = normal(40, 6)
    found = ew.spectrum(x * size).singular_values
    np.testing.assert_allclose(found, expected(x) * size, rtol=1e-9)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_narrow_types_give_what_their_values_give_in_float64(normal, dtype):
    x = (normal(300, 16) * 3e3).to(dtype)
    np.testing.assert_allclose(
        ew.spectrum(x).singular_values, ew.spectrum(x.double()).singular_values, rtol=1e-12
    )


def test_rows_that_are_not_finite_are_counted_and_change_nothing(normal, route):
    x = normal(200, 16)
    keep = [i for i in range(200) if i not in (7, 9, 11)]
    clean = ew.spectrum(x[keep], center=True)
    x[7, 3], x[9, 2], x[11] = torch.nan, torch.inf, 0
    found = ew.spectrum(x, center=True)
    np.testing.assert_allclose(found.singular_values, clean.singular_values, rtol=1e-12)
    assert found.rows == 197
    assert found.settings["rows_left_out"] == {"not finite": 2, "zero": 1}


def test_a_matrix_without_spread_has_no_number_but_its_rank(route):
    found = ew.spectrum(torch.full((50, 7), 0.1), center=True)
    assert found.rank == 0
    assert not found.singular_values.any()
    assert np.isnan([found.effective_rank, found.participation_ratio, found.condition]).all()
    assert ew.spectrum(torch.full((50, 7), 0.1)).rank == 1
    assert ew.spectrum(torch.ones(1, 7), center=True).rank == 0


def test_what_cannot_be_measured_is_refused_in_words(normal):
    with pytest.raises(EmbtieError, match="None of the 3 rows can be used: 3 are not finite"):
        ew.spectrum(torch.full((3, 2), torch.nan))
    with pytest.raises(EmbtieError, match="center is 'yes'"):
        ew.spectrum(normal(4, 2), "yes")
    for rows in ([], [-1], [9]):
        with pytest.raises(EmbtieError, match="among the 9 rows"):
            selected_spectrum(normal(9, 2), rows)


def test_a_selection_has_the_spectrum_of_its_rows_alone(normal):
    x = normal(500, 10) + 1
    for rows in ([3], [5, 499, 0], np.arange(500), np.arange(0, 500, 3)):
        for center in (True, False):
            found = selected_spectrum(x, rows, center)
            wanted = expected(x[torch.as_tensor(rows)], center) / len(rows) ** 0.5
            np.testing.assert_allclose(found.normalised, wanted, atol=1e-12)
    whole = selected_spectrum(x, range(500))
    np.testing.assert_allclose(whole.normalised, ew.spectrum(x).normalised)


def test_a_real_model_has_the_spectrum_of_numpy(smollm2):
    x = ew.load(smollm2).input[::7]
    found = ew.spectrum(x, center=True)
    assert found.settings["route"] == "gram"
    np.testing.assert_allclose(found.singular_values, expected(x, True), rtol=1e-6)


def test_it_stops_when_it_is_told_to(normal, route):
    def stop(stage, done, total):
        raise Cancelled

    with pytest.raises(Cancelled):
        ew.spectrum(normal(50, 4), progress=stop)


def test_the_frame_holds_both_scales(normal):
    found = ew.spectrum(normal(30, 4))
    frame = found.to_frame()
    assert frame["rank"].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(frame["normalised"] * 30**0.5, frame["singular value"])
    assert "rank 4" in repr(found)
