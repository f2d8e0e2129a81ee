"""Matrices with planted structure."""

from collections.abc import Callable

import numpy as np
import pytest
import torch


@pytest.fixture
def normal() -> Callable[..., torch.Tensor]:
    """Standard normal float64 matrices, the same in every run of a test."""
    generator = torch.Generator().manual_seed(7)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    return draw


@pytest.fixture
def rotation(normal) -> Callable[[int], torch.Tensor]:
    """A random orthogonal matrix, not symmetric."""
    return lambda width: torch.linalg.qr(normal(width, width))[0]


@pytest.fixture
def spread(normal, rotation) -> Callable[[int, int, float], torch.Tensor]:
    """Rows whose covariance has a geometric spectrum of that condition number."""

    def draw(rows: int, width: int, condition: float) -> torch.Tensor:
        scales = torch.logspace(0, -float(np.log10(condition)), width, dtype=torch.float64)
        return normal(rows, width) @ (scales[:, None] * rotation(width))

    return draw
