"""The eigenpairs of largest magnitude, on matrices whose eigenvalues are known."""

import pytest
import torch

from embtie_widgets.measures import eigen
from embtie_widgets.measures.eigen import largest_pairs

SIZE = 2000


def diagonal(leading):
    """Products with a diagonal matrix of these values and, below them, a spread around zero."""
    values = torch.linspace(-1, 1, SIZE, dtype=torch.float64)
    values[: len(leading)] = torch.tensor(leading, dtype=torch.float64)
    return lambda block: values.to(block.dtype)[:, None] * block


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_the_largest_of_both_signs_are_found(kind, monkeypatch):
    monkeypatch.setattr(eigen, "_EXACT_UP_TO", 0 if kind == "float32" else 1e12)
    leading = [(-1) ** number * (10 - number / 4) for number in range(20)]
    found = largest_pairs(diagonal(leading), SIZE, 20)
    assert found.arithmetic == kind
    assert found.values.tolist() == pytest.approx(leading, abs=1e-6)
    assert found.residual < 1e-4
    square = found.vectors.T @ found.vectors
    torch.testing.assert_close(square, torch.eye(20, dtype=torch.float64), atol=1e-9, rtol=0)


def test_more_equal_values_than_a_block_has_columns_are_all_found():
    found = largest_pairs(diagonal([5.0] * 40 + [3.0, -3.5]), SIZE, 42)
    assert found.values.tolist() == pytest.approx([5.0] * 40 + [-3.5, 3.0], abs=1e-6)


def test_what_equals_the_last_wanted_value_comes_along():
    found = largest_pairs(diagonal([5.0, 4.0, 3.0, -3.0, 3.0, 2.0]), SIZE, 3)
    assert found.settled
    assert sorted(found.values.tolist()) == pytest.approx([-3.0, 3.0, 3.0, 4.0, 5.0], abs=1e-6)


def test_too_many_equal_values_to_follow_are_said_to_be_unsettled():
    assert not largest_pairs(diagonal([5.0] * 100), SIZE, 3).settled


def test_copies_that_the_first_block_could_not_hold_are_looked_for():
    leading = [3.0] * 20 + [2.9 - number / 20 for number in range(12)]
    found = largest_pairs(diagonal(leading), SIZE, 24)
    assert found.values.tolist() == pytest.approx(leading[:24], abs=1e-6)
