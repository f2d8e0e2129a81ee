"""What follows from recorded norms, and the shares of the paper's log over its ranges."""

import numpy as np
import pytest
import torch

from embtie_widgets.measures.gradient import flow_numbers, row_products
from embtie_widgets.measures.recorded import filled, share_of, shares_of
from embtie_widgets.results.gradient import FlowRun

NAN = float("nan")


@pytest.mark.parametrize("known", ["cosine", "total_norm"])
def test_what_norms_and_angle_leave_open_is_what_the_matrices_give(known: str) -> None:
    torch.manual_seed(0)
    steps = [flow_numbers(row_products(*torch.randn(2, 30, 4)), 2.5) for _ in range(5)]
    given = ("input_norm", "output_norm", "proxy_norm", known)
    found = filled({name: np.array([step[name] for step in steps]) for name in given})
    for name in steps[0]:
        assert found[name] == pytest.approx([step[name] for step in steps], rel=1e-5), name


def test_norms_alone_give_the_norm_share_and_what_is_recorded_stays() -> None:
    found = filled({"input_norm": np.array([1.0, 0]), "output_norm": np.array([3.0, 0])})
    np.testing.assert_array_equal(found["norm_share"], [0.75, NAN])
    assert "output_share" not in found
    kept = filled({"input_norm": np.ones(1), "output_norm": np.ones(1), "norm_share": np.zeros(1)})
    assert kept["norm_share"].tolist() == [0]
    assert set(filled({"loss": np.ones(1)})) == {"loss"}


def test_a_range_begins_after_its_first_step_and_passes_over_gaps() -> None:
    curves = {
        "step": np.array([1, 2, 3, 4]),
        "input_norm": np.array([1.0, NAN, 1, 1]),
        "output_norm": np.array([9.0, 9, 3, 1]),
    }
    share = share_of(FlowRun(curves), 1, 4)
    assert (share.steps, share.proxy) == (2, False)
    assert share.share == pytest.approx((0.75 + 0.5) / 2)
    assert (share.ratio, share.median_ratio) == (2, 2)
    assert share.smoothed == pytest.approx(np.mean([9 / 10, 7 / 8, 5.5 / 6.5]))
    nothing = share_of(FlowRun(curves), 10, 20)
    assert nothing.steps == 0
    assert np.isnan([nothing.share, nothing.ratio, nothing.median_ratio, nothing.smoothed]).all()
    assert [one.last for one in shares_of(FlowRun(curves))] == [50, 100, 1_000]
