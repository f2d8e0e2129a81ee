"""Against independent float64: every map, raw and centred, all storage types, hard spectra."""

import json

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.measures import plan, polar
from tests.measures.oracle import cosines

MAPS = ("identity", "orthogonal", "linear")
NAMES = {"In->Out": "input->output", "Out->Tied": "output->tied", "In->Tied": "input->tied"}


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kind", MAPS)
def test_cosines_are_those_of_numpy_and_scipy(normal, kind, center):
    x = normal(300, 10) + 0.5
    y = x @ normal(10, 10) + normal(300, 10)
    found = ew.align(x, y, kind, center)
    np.testing.assert_allclose(found.cosine, cosines(x, y, kind, center), atol=1e-10)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kind", MAPS)
def test_the_hold_out_is_a_fit_on_the_others_with_their_own_mean(normal, kind, center):
    x = normal(100, 6) + 0.5
    y = x @ normal(6, 6) + normal(100, 6)
    found = ew.align(x, y, kind, center, holdout=0.3, seed=4)
    order = torch.randperm(100, generator=torch.Generator().manual_seed(4)).numpy()
    expected = cosines(x, y, kind, center, np.sort(order[30:]), np.sort(order[:30]))
    assert found.heldout_mean == pytest.approx(expected.mean(), abs=1e-10)


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("types", [("bfloat16",) * 2, ("float16",) * 2, ("float16", "float32")])
def test_half_precision_is_measured_as_its_stored_values_in_float64(normal, kind, types):
    x, y = (normal(200, 8).to(getattr(torch, name)) for name in types)
    found = ew.align(x, y, kind)
    np.testing.assert_allclose(found.cosine, cosines(x.double(), y.double(), kind), atol=1e-6)


def test_large_half_precision_values_do_not_overflow(normal):
    x = (3e4 * normal(100, 8).sign()).half()
    assert ew.align(x, x, "orthogonal").mean == pytest.approx(1.0)


@pytest.mark.parametrize("condition", [1e3, 1e6, 1e8, 1e10])
def test_ill_conditioned_fits_are_those_of_least_squares(normal, spread, condition):
    x = spread(800, 20, condition)
    y = x @ normal(20, 20) + 0.1 * normal(800, 20)
    found = ew.align(x, y, "linear")
    np.testing.assert_allclose(found.cosine, cosines(x, y, "linear"), atol=1e-5)
    assert found.description["condition"] == pytest.approx(condition, rel=0.2)


def test_a_rank_deficient_fit_is_the_one_of_minimum_norm(normal):
    x, y = normal(300, 20), normal(300, 20)
    x[:, 5], x[:, 6] = x[:, 4], 0
    found = ew.align(x, y, "linear")
    assert found.description["rank"] == 18
    np.testing.assert_allclose(found.cosine, cosines(x, y, "linear"), atol=1e-10)


@pytest.fixture
def float32_products(monkeypatch):
    """Small work in the arithmetic of large work."""
    monkeypatch.setattr(plan, "_EXACT_UP_TO", 0)
    monkeypatch.setattr(polar, "_NEWTON_FROM", 64)


@pytest.mark.usefixtures("float32_products")
@pytest.mark.parametrize("kind", ["orthogonal", "linear"])
@pytest.mark.parametrize("condition", [10, 1e3, 1e6])
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_float32_products_keep_to_1e5_or_give_way_to_float64(
    normal, spread, kind, condition, offset
):
    x = spread(1200, 128, condition).float() + offset
    y = (x @ normal(128, 128).float() / 11 + spread(1200, 128, 30).float()).float()
    found = ew.align(x, y, kind, holdout=0, floor=False)
    np.testing.assert_allclose(found.cosine, cosines(x, y, kind), atol=1e-5)


@pytest.mark.usefixtures("float32_products")
def test_a_few_rows_in_weak_directions_are_enough_for_float64(normal, rotation):
    scales = torch.ones(128, dtype=torch.float64)
    scales[8:] = 1e-3
    x = normal(1200, 128) * scales
    y = x + 0.3 * normal(1200, 128) * scales
    x[100:140, :8], y[100:140, :8] = 0, 0
    x, y = ((matrix @ rotation(128)).float() for matrix in (x, y))
    found = ew.align(x, y, "orthogonal", holdout=0, floor=False)
    np.testing.assert_allclose(found.cosine, cosines(x, y, "orthogonal"), atol=1e-5)
    assert found.settings["arithmetic"] == "float64"


@pytest.mark.usefixtures("float32_products")
@pytest.mark.parametrize("factor", [1e-30, 1e20])
def test_float32_at_the_ends_of_its_range_is_measured_like_any_other(normal, factor):
    x, y = normal(900, 64).float(), normal(900, 64).float()
    found = ew.align(x * factor, y, "linear")
    np.testing.assert_allclose(found.cosine, cosines(x, y, "linear"), atol=1e-5)


@pytest.mark.usefixtures("float32_products")
def test_a_common_mean_far_larger_than_the_rows_hides_none_of_them(normal):
    x, y = (normal(900, 64) + 1e6).float(), normal(900, 64).float()
    found = ew.align(x, y, "orthogonal", holdout=0)
    np.testing.assert_allclose(found.cosine, cosines(x, y, "orthogonal"), atol=1e-5)


@pytest.mark.parametrize("ridge", [1e-14, 1e-10, 1e-4])
def test_a_small_ridge_on_an_ill_conditioned_matrix_is_not_lost(normal, ridge):
    x = normal(200, 16) * torch.logspace(0, -7, 16, dtype=torch.float64)
    y = normal(200, 16)
    found = ew.align(x, y, "linear", ridge=ridge, holdout=0)
    xc, yc = (x - x.mean(0)).numpy(), (y - y.mean(0)).numpy()
    stacked = np.vstack([xc, np.sqrt(ridge) * np.eye(16)])
    mapping = np.linalg.lstsq(stacked, np.vstack([yc, np.zeros((16, 16))]), rcond=None)[0]
    expected = torch.cosine_similarity(torch.from_numpy(xc @ mapping), torch.from_numpy(yc))
    np.testing.assert_allclose(found.cosine, expected, atol=1e-5)


@pytest.mark.usefixtures("float32_products")
def test_harmless_float32_products_are_used(normal):
    found = ew.align(normal(1200, 128).float(), normal(1200, 128).float(), "orthogonal")
    assert found.settings["arithmetic"] == "float32"


def test_a_lowered_matmul_precision_of_the_user_is_overruled_and_restored(normal, monkeypatch):
    monkeypatch.setattr(plan, "_EXACT_UP_TO", 0)
    x, y = normal(2000, 64).float(), normal(2000, 64).float()
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        found = ew.align(x, y, "orthogonal")
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
    np.testing.assert_allclose(found.cosine, cosines(x, y, "orthogonal"), atol=1e-5)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("tied", ["nano-tied", "nano-tied-x5"])
def test_the_reference_values_of_the_nano_models_are_met(shared, tied, kind, center):
    values = json.loads((shared / "data" / "nano_reference_values.json").read_text())
    untied = ew.load(shared / "models" / "nano-untied")
    matrix = ew.load(shared / "models" / tied).input
    found = ew.align_pair(untied.input, untied.output, matrix, kind, center)
    for name, title in NAMES.items():
        expected = values[f"{tied} | {title}"][f"{kind} {'centred' if center else 'raw'}"]
        assert found[name].mean == pytest.approx(expected, abs=1e-5)
