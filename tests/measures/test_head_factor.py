"""What a head lets through, against projectors of V x V made in float64."""

import pytest
import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.head_factor import (
    HeadFactor,
    bottleneck_numbers,
    ratios,
    squared_length,
)


def projector(U: Tensor) -> Tensor:
    """(V, V) onto the columns of U, in float64."""
    basis, sizes, _ = torch.linalg.svd(U.double(), full_matrices=False)
    kept = basis[:, sizes > 1e-6 * sizes[0]]
    return kept @ kept.T


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(40, 6), (40, 39), (9, 1)])
def test_what_is_kept_is_what_the_projector_keeps(normal, shape, dtype) -> None:
    U, G = normal(*shape).to(dtype), normal(5, shape[0])
    factor, P = HeadFactor.of(U), projector(U)
    assert torch.allclose(factor.kept(G @ U.double()), (G @ P).square().sum(-1), rtol=1e-9)
    assert torch.allclose(factor.visible(U), P.diagonal(), rtol=1e-8)
    assert torch.allclose(factor.combination(G @ U.double()) @ U.double().T, G @ P, atol=1e-8)
    assert factor.rank == shape[1]
    assert not factor.whole


def test_a_factorised_head_has_the_rank_of_its_factors(normal) -> None:
    U, G = (normal(50, 3) @ normal(3, 8)).float(), normal(4, 50)
    factor, P = HeadFactor.of(U), projector(U)
    assert factor.rank == 3
    assert torch.allclose(factor.kept(G @ U.double()), (G @ P).square().sum(-1), rtol=1e-5)
    assert float(factor.visible(U).sum()) == pytest.approx(3, abs=1e-5)
    assert factor.line == pytest.approx((1 - 3 / 50) ** 0.5)


def test_columns_far_apart_in_length_all_count(normal) -> None:
    U, G = normal(30, 4) * torch.tensor([1e8, 1.0, 1e-9, 0.0]), normal(4, 30)
    P = projector(U[:, :3] / U[:, :3].norm(dim=0))
    factor = HeadFactor.of(U)
    assert factor.rank == 3
    assert torch.allclose(factor.kept(G @ U), (G @ P).square().sum(-1), rtol=1e-9)


def test_columns_that_are_nearly_the_same_are_told_apart_as_far_as_float64_can(normal) -> None:
    base, G = normal(60, 2), normal(4, 60)
    U = torch.stack([base[:, 0], base[:, 0] + 1e-4 * base[:, 1]], 1)
    factor = HeadFactor.of(U)
    assert factor.rank == 2
    kept = factor.kept(G @ U)
    assert torch.allclose(kept, (G @ projector(U)).square().sum(-1), rtol=1e-6)


@pytest.mark.parametrize("width", [7, 12])
def test_a_head_as_wide_as_its_vocabulary_lets_all_through(normal, width) -> None:
    U, G = normal(7, width).float(), normal(3, 7)
    factor, squared = HeadFactor.of(U), G.square().sum(-1)
    assert factor.whole
    assert torch.equal(factor.transmitted(G @ U.double(), squared), squared)
    assert bottleneck_numbers(factor.transmitted(G @ U.double(), squared), squared) == {
        "destroyed": 0.0,
        "visible_cosine": 1.0,
        "kept_energy": 1.0,
    }
    assert factor.line == 0
    assert torch.equal(factor.visible(U), torch.ones(7, dtype=torch.float64))


def test_a_head_of_zeros_lets_nothing_through(normal) -> None:
    factor = HeadFactor.of(torch.zeros(6, 2))
    assert factor.rank == 0
    assert factor.kept(normal(3, 2)).tolist() == [0, 0, 0]
    assert factor.line == 1


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(EmbtieError, match="not finite"):
        HeadFactor.of(torch.tensor([[1.0, float("nan")], [2.0, 3.0], [1.0, 1.0]]))


def test_the_length_is_that_of_the_gradient_itself(normal) -> None:
    p, y = (5 * normal(6, 20)).softmax(-1), torch.arange(6)
    G = p - torch.nn.functional.one_hot(y, 20)
    assert torch.allclose(squared_length(p, y), G.square().sum(-1), rtol=1e-12)


def test_both_ratios_square_to_one_and_are_nan_without_a_gradient() -> None:
    kept, squared = torch.tensor([0.1, 2.0, 0.0]).double(), torch.tensor([4.0, 2.0, 0.0]).double()
    destroyed, cosine = ratios(kept, squared)
    assert (destroyed**2 + cosine**2)[:2].tolist() == pytest.approx([1, 1])
    assert destroyed[1] == 0
    assert bool(destroyed[2].isnan())
