"""Gradient flow as a result: means over steps, the paper's share, tables."""

import numpy as np
import pytest

from embtie_widgets.results.gradient import FlowRun, GradientFlow, trailing_mean
from embtie_widgets.results.storage import from_bytes, to_bytes

NAN = float("nan")


def run(**curves: list[float]) -> FlowRun:
    return FlowRun({name: np.array(values, float) for name, values in curves.items()})


def test_a_trailing_mean_is_over_steps_and_not_over_rows() -> None:
    steps, values = np.array([1.0, 2, 10, 11]), np.array([1.0, 3, 5, 8])
    assert trailing_mean(steps, values, 2).tolist() == [1, 2, 5, 6.5]
    assert trailing_mean(steps, values, 1).tolist() == values.tolist()


def test_a_trailing_mean_passes_over_gaps() -> None:
    steps = np.arange(1.0, 6)
    found = trailing_mean(steps, np.array([NAN, 2, NAN, np.inf, 4]), 2)
    np.testing.assert_array_equal(found, [NAN, 2, 2, NAN, 4])


def test_the_papers_share_is_of_norms_that_are_averaged_first() -> None:
    one = run(step=[1, 2], proxy_norm=[1, 3], output_norm=[1, 1])
    assert one.paper_share().tolist() == [0.5, 0.25]
    assert one.paper_share(20).tolist() == pytest.approx([0.5, 1 / 3])


def test_a_curve_that_is_not_there_is_all_gaps_and_not_known() -> None:
    one = run(step=[1, 2], loss=[NAN, 2.0])
    assert np.isnan(one.curve("cosine")).all()
    assert (one.knows("loss"), one.knows("cosine")) == (True, False)
    assert np.isnan(one.paper_share()).all()


def test_means_are_over_the_steps_from_the_first_to_the_last() -> None:
    one = run(step=[1, 5, 6, 9], loss=[1, 2, NAN, 4])
    assert one.mean("loss", 1, 5) == 1.5
    assert one.mean("loss", 5, 9) == 3
    assert np.isnan(one.mean("loss", 6, 8))


def test_the_table_of_tokens_has_every_run_and_text_that_is_no_markup() -> None:
    rows = {"norm_share": np.array([0.25, 1.0])}
    flow = GradientFlow(
        runs={"tied": FlowRun({"step": np.array([1])}, rows=rows)},
        tokens=(b"<b>", None),
        token_counts=np.array([3, 0]),
        kinds=None,
        failed={},
        notes=(),
        settings={},
        hashes={},
        groups=({"group": "0 times"},),
    )
    frame = flow.token_frame()
    assert frame.columns.tolist() == ["row", "token", "bytes", "count", "tied norm_share"]
    assert frame["bytes"].tolist() == ["3c623e", ""]
    again = from_bytes(to_bytes(flow))
    assert again.groups == flow.groups
    assert again.tokens == flow.tokens
