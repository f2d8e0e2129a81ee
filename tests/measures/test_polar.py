"""The polar factor, by iteration and by SVD."""

import pytest
import torch

from embtie_widgets.measures import polar


def _svd_factor(matrix: torch.Tensor) -> torch.Tensor:
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    return left @ right


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
def test_the_iteration_finds_the_factor_of_the_svd(rotation, normal, monkeypatch, condition):
    monkeypatch.setattr(polar, "_NEWTON_FROM", 2)
    sigma = torch.logspace(0, -float(torch.tensor(condition).log10()), 60, dtype=torch.float64)
    matrix = rotation(60) @ torch.diag(sigma) @ rotation(60)
    found = polar.polar_factor(matrix)
    torch.testing.assert_close(found.factor, _svd_factor(matrix), atol=1e-9, rtol=0)
    torch.testing.assert_close(
        found.factor.T @ found.factor, torch.eye(60, dtype=torch.float64), atol=1e-13, rtol=0
    )
    torch.testing.assert_close(found.inverse, torch.linalg.inv(matrix), rtol=1e-6, atol=1e-6)


def test_the_quick_form_agrees_to_float32(rotation, monkeypatch):
    monkeypatch.setattr(polar, "_NEWTON_FROM", 2)
    matrix = rotation(200) @ torch.diag(torch.logspace(0, -3, 200).double()) @ rotation(200)
    found = polar.polar_factor(matrix, exact=False)
    torch.testing.assert_close(found.factor, _svd_factor(matrix), atol=2e-5, rtol=0)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (1, 1)])
def test_unequal_widths_give_a_partial_isometry(normal, shape):
    factor = polar.polar_factor(normal(*shape)).factor
    small = factor @ factor.T if shape[0] <= shape[1] else factor.T @ factor
    torch.testing.assert_close(small, torch.eye(min(shape), dtype=torch.float64))


def test_a_singular_matrix_still_gives_an_orthogonal_factor(normal, monkeypatch):
    monkeypatch.setattr(polar, "_NEWTON_FROM", 2)
    matrix = normal(6, 2) @ normal(2, 6)
    for given in (matrix, torch.zeros(4, 4, dtype=torch.float64)):
        factor = polar.polar_factor(given).factor
        torch.testing.assert_close(
            factor.T @ factor, torch.eye(len(given), dtype=torch.float64), atol=1e-10, rtol=0
        )
