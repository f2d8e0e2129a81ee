"""Results of the training lab: printed in a few lines, and exported with how far they have come."""

import pytest

from tests import sample_drift, sample_flow, sample_scaling

WHOLE = {
    "flow": sample_flow.flow,
    "scaling": sample_scaling.report,
    "drift": sample_drift.drift_report,
}
GROWING = {"flow": sample_flow.growing, "scaling": sample_scaling.growing}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_printed_result_is_a_few_short_lines(kind: str) -> None:
    said = repr(WHOLE[kind]())
    assert len(said) < 600
    assert "array(" not in said
    assert len(said.split("\n")) > 1


@pytest.mark.parametrize("kind", GROWING)
def test_exports_say_whether_the_result_is_whole(kind: str) -> None:
    growing = GROWING[kind]()
    assert WHOLE[kind]().facts()["progress"] == "whole"
    assert growing.progress
    assert growing.facts()["progress"] == growing.progress
