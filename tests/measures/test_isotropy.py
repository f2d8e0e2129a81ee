"""Isotropy against its definition, and what it must not depend on."""

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures import axes, isotropy


def expected(x):
    rows = x.double().numpy()
    along = rows @ np.linalg.eigh(rows.T @ rows)[1]
    sums = np.exp(np.concatenate([along, -along], 1)).sum(0)
    return sums.min() / sums.max()


@pytest.fixture(params=["small", "large"])
def size(request, monkeypatch):
    if request.param == "large":
        monkeypatch.setattr(axes, "_DIRECT_UP_TO", 0)
        monkeypatch.setattr(isotropy, "_EXACT_UP_TO", 0)


@pytest.mark.parametrize("shape", [(9000, 12), (8, 20), (1, 4)])
def test_it_is_the_smallest_over_the_largest_sum(spread, size, shape):
    x = (spread(*shape, 20.0) + 0.3).float()
    assert ew.isotropy(x).value == pytest.approx(expected(x), rel=1e-5)


def test_rotation_mirroring_and_order_change_nothing(spread, rotation):
    x = spread(300, 9, 10.0) + 0.2
    found = float(ew.isotropy(x))
    turned = (x @ rotation(9))[torch.randperm(300)]
    assert float(ew.isotropy(turned)) == pytest.approx(found)
    assert float(ew.isotropy(-x)) == pytest.approx(found)


def test_a_ball_is_isotropic_and_a_cone_is_not(normal):
    ball = normal(20_000, 6) * 0.1
    assert float(ew.isotropy(ball)) > 0.98
    cone = ball + torch.tensor([2.0, 0, 0, 0, 0, 0])
    assert float(ew.isotropy(cone)) == pytest.approx(np.exp(-4), rel=0.05)


def test_long_rows_do_not_overflow(normal):
    found = ew.isotropy(normal(50, 4) * 1e4)
    assert found.value == 0
    assert found.log_max > 1e4
    assert np.isfinite(found.log_min)
    tiny = ew.isotropy(normal(50, 4) * 1e-150)
    assert tiny.value == pytest.approx(1)


def test_rows_that_are_not_finite_change_nothing(normal):
    x = normal(200, 16) / 4
    keep = [i for i in range(200) if i not in (7, 9)]
    clean = ew.isotropy(x[keep])
    x[7, 3], x[9, 2] = torch.nan, torch.inf
    found = ew.isotropy(x)
    assert found.value == pytest.approx(clean.value, rel=1e-12)
    assert found.settings["rows_left_out"]["not finite"] == 2
    with pytest.raises(EmbtieError, match="None of the 3 rows"):
        ew.isotropy(torch.full((3, 2), torch.nan))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_types_give_what_their_values_give_in_float64(normal, dtype):
    x = (normal(300, 16) / 3).to(dtype)
    assert float(ew.isotropy(x)) == pytest.approx(expected(x), rel=1e-10)
    assert ew.isotropy(x).to_frame()["value"].item() == float(ew.isotropy(x))
