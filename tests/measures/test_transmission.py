"""Sums over positions of a step, against projectors of V x V made in float64."""

import math

import pytest
import torch
from torch import Tensor

from embtie_widgets.measures.head_factor import HeadFactor
from embtie_widgets.measures.transmission import MOST, NAMES, Passed, add_passed, passed_numbers
from embtie_widgets.results.bottleneck import CURVES


def gradient(normal, positions: int, rows: int, sharp: float = 1.0) -> tuple[Tensor, Tensor]:
    """p - e_y, and y, each of which comes up to three times."""
    targets = torch.arange(positions) // 3 * 7 % rows
    likely = (sharp * normal(positions, rows)).softmax(-1)
    return likely - torch.nn.functional.one_hot(targets, rows), targets


def numbers(G: Tensor, U: Tensor, most: int = MOST) -> dict[str, float]:
    total = Passed.none(U)
    add_passed(total, G, U, most)
    return passed_numbers(total, U)


def test_names_are_those_of_the_results() -> None:
    assert set(NAMES) == set(CURVES) - {"step", "loss", "lr"}


@pytest.mark.parametrize("rank", [6, 3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_numbers_are_those_of_the_projector(normal, dtype, rank) -> None:
    U = (normal(40, rank) @ normal(rank, 6)).to(torch.float32 if rank == 3 else dtype)
    G, targets = gradient(normal, 20, 40)
    basis = torch.linalg.svd(U.double(), full_matrices=False).U
    P = basis[:, :rank] @ basis[:, :rank].T
    found = numbers(G.to(dtype).reshape(4, 5, 40), U)
    close = {torch.float64: 1e-7, torch.float32: 1e-5, torch.bfloat16: 0.01}[dtype]
    assert found["destroyed"] == pytest.approx(float((G - G @ P).norm() / G.norm()), rel=close)
    assert found["visible_cosine"] == pytest.approx(float((G @ P).norm() / G.norm()), rel=close)
    assert found["target_kept"] == pytest.approx(float(P.diagonal()[targets].mean()), rel=close)
    assert found["line"] == pytest.approx(math.sqrt(1 - rank / 40))
    assert found["destroyed"] ** 2 + found["visible_cosine"] ** 2 == pytest.approx(1)


def test_sums_of_several_batches_are_those_of_all_together_whatever_the_loss_is_times(
    normal,
) -> None:
    U, (G, _) = normal(30, 4), gradient(normal, 12, 30)
    total = Passed.none(U)
    for part in G.split(5):
        add_passed(total, 1e-4 * part, U)
    assert passed_numbers(total, U) == pytest.approx(numbers(G, U))


def test_of_many_positions_some_are_drawn_and_always_the_same(normal) -> None:
    U, (G, _) = normal(50, 8), gradient(normal, 4_000, 50, sharp=3.0)
    some, every = numbers(G, U, 400), numbers(G, U, 4_000)
    assert some == numbers(G, U, 400)
    assert some["destroyed"] != every["destroyed"]
    assert some["destroyed"] == pytest.approx(every["destroyed"], abs=0.01)
    total = Passed.none(U)
    add_passed(total, G, U, 400)
    assert float(total.targets.sum()) == 400


def test_positions_that_are_not_predicted_count_for_nothing(normal) -> None:
    U, (G, _) = normal(30, 4), gradient(normal, 6, 30)
    padded = torch.cat([G, torch.zeros(9, 30)])
    assert numbers(padded, U) == pytest.approx(numbers(G, U))


def test_a_head_as_wide_as_its_vocabulary_transmits_all(normal) -> None:
    G, _ = gradient(normal, 5, 7)
    found = numbers(G, normal(7, 9))
    assert (found["destroyed"], found["visible_cosine"], found["line"]) == (0.0, 1.0, 0.0)
    assert found["target_kept"] == 1.0


@pytest.mark.parametrize("value", [0.0, math.nan, math.inf])
def test_without_a_gradient_that_is_one_nothing_is_known(normal, value) -> None:
    found = numbers(torch.full((3, 30), value), normal(30, 4))
    assert list(found) == list(NAMES)
    assert all(math.isnan(number) for number in found.values())


def test_it_takes_as_many_positions_as_it_is_told_and_holds_no_table_of_them(normal) -> None:
    U, (G, _) = normal(64, 4), gradient(normal, 10, 64)
    held = [part.numel() for part in Passed.none(U).parts()]
    assert held == [16, 1, 64]
    total = Passed.none(U)
    add_passed(total, G, U)
    factor = HeadFactor.of(U)
    assert float((factor.whiten.T @ total.outer @ factor.whiten).trace()) == pytest.approx(
        float(factor.kept(G @ U).sum())
    )
