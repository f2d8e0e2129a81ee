"""Rows that were added to a finished model as the mean of its own."""

import numpy as np
import pytest
import torch

from embtie_widgets.measures.mean_copies import mean_copies


def drawn(rows: int = 200, width: int = 24) -> torch.Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(1)) + 0.3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_planted_copies_are_found_and_nothing_else(dtype: torch.dtype) -> None:
    matrix = drawn()
    assert len(mean_copies(matrix.to(dtype))) == 0
    noise = 1e-5 * torch.randn(8, 24, generator=torch.Generator().manual_seed(2))
    grown = torch.cat([matrix, matrix.mean(0) + noise]).to(dtype)
    assert mean_copies(grown).tolist() == list(range(200, 208))
    assert mean_copies(grown.flip(0)).tolist() == list(range(8))


def test_what_agrees_in_the_first_columns_alone_is_none() -> None:
    matrix = drawn()
    matrix[3, :16] = matrix[:, :16].mean(0)
    assert 3 not in mean_copies(matrix)


def test_zeros_and_what_is_not_finite_are_none() -> None:
    matrix = drawn()
    matrix -= matrix.mean(0)
    matrix[:4] = 0
    matrix[4, 0] = torch.nan
    assert mean_copies(matrix).size == 0
    assert mean_copies(torch.ones(5, 3)).size == 0
    assert mean_copies(torch.zeros(0, 3)).dtype == np.int64
