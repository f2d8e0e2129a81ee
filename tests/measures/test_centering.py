"""Cap, penalties, and what one subtraction changes: closed forms, C037 and C038."""

import math

import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.hashing import tensor_hash
from embtie_widgets.measures import centering
from embtie_widgets.measures.centering import effect_of_centering, mu_loss, soft_cap
from embtie_widgets.measures.means import mean_row

C037 = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 5.0]])


def test_a_cap_keeps_small_logits_and_bounds_large_ones() -> None:
    logits = torch.tensor([-1e9, -0.01, 0.0, 0.01, 3.0, 1e9], dtype=torch.float64)
    wanted = [-5.0, -0.01, 0.0, 0.01, 5 * math.tanh(0.6), 5.0]
    assert soft_cap(logits, 5.0).tolist() == pytest.approx(wanted, rel=1e-5)
    assert soft_cap(logits.bfloat16(), 5.0).dtype == torch.bfloat16


def test_the_z_loss_is_the_mean_of_squares_and_not_the_square_of_the_mean() -> None:
    assert float(ew.z_loss(C037)) == pytest.approx(15.0748, abs=5e-5)
    assert float(C037.logsumexp(-1).mean().square()) == pytest.approx(13.1513, abs=5e-5)


def test_an_ignored_position_changes_nothing() -> None:
    logits = torch.cat([C037, torch.tensor([[9.0, -3.0, 40.0]])])
    for index in (-100, 7):
        labels = torch.tensor([0, 2, index])
        assert float(ew.z_loss(logits, labels, index)) == pytest.approx(15.0748, abs=5e-5)
    batched = ew.z_loss(logits[None], torch.tensor([[0, 2, -100]]))
    assert float(batched) == pytest.approx(15.0748, abs=5e-5)
    assert torch.isnan(ew.z_loss(logits, torch.full((3,), -100)))


def test_the_z_loss_of_capped_logits_is_another() -> None:
    wanted = (soft_cap(C037.double(), 2.0).exp().sum(-1).log() ** 2).mean()
    assert float(ew.z_loss(soft_cap(C037, 2.0))) == pytest.approx(float(wanted))
    assert float(wanted) < 10


def test_half_precision_is_widened_before_the_sum() -> None:
    logits = (100 + torch.randn(4, 50)).bfloat16()
    wanted = logits.double().logsumexp(-1).square().mean()
    assert float(ew.z_loss(logits)) == pytest.approx(float(wanted), rel=1e-6)


def test_labels_of_another_shape_are_refused() -> None:
    with pytest.raises(EmbtieError, match="one label for each position"):
        ew.z_loss(C037, torch.tensor([[0, 1], [1, 1]]))


@pytest.mark.parametrize("given", [([[1.0, 2.0]],), (torch.zeros(1, 2), [0])])
def test_what_is_no_tensor_is_refused(given) -> None:
    with pytest.raises(EmbtieError, match="no tensor"):
        ew.z_loss(*given)


@pytest.mark.parametrize("rows", [None, 7])
def test_the_gradient_of_the_mu_loss_is_that_of_the_closed_form(normal, rows) -> None:
    matrix = (normal(10, 4) + 1).requires_grad_()
    mu_loss(matrix, rows).backward()
    counted = rows or 10
    wanted = torch.zeros(10, 4, dtype=torch.float64)
    wanted[:counted] = 2 * matrix[:counted].mean(0) / counted
    torch.testing.assert_close(matrix.grad, wanted.detach(), rtol=1e-12, atol=1e-14)


def test_rows_of_zeros_at_the_end_shorten_the_mean_unless_they_are_left_out(normal) -> None:
    output = normal(10, 4) + 2
    padded = torch.cat([output, torch.zeros(6, 4, dtype=torch.float64)])
    length = ew.mean_share(output).length
    assert float(mean_row(padded).norm()) == pytest.approx(0.625 * length)
    assert float(mean_row(padded, 10).norm()) == pytest.approx(length)


@pytest.fixture
def planted(normal):
    """C038: rows about 2, and what a head may read."""
    return normal(10, 4) + 2, normal(6, 4)


def test_one_subtraction_leaves_a_softmax_without_cap(planted) -> None:
    output, hidden = planted
    found = effect_of_centering(output, hidden)
    assert found["softmax"] == found["fixed_hidden"] < 1e-12
    shifts = hidden @ output.mean(0)
    assert found["logit_shift"] == pytest.approx(float(shifts.abs().max()))
    moved = hidden @ output.T - hidden @ (output - output.mean(0)).T
    torch.testing.assert_close(moved, shifts[:, None].expand(6, 10))


def test_under_a_cap_it_changes_the_softmax(planted) -> None:
    output, hidden = planted
    found = effect_of_centering(output, hidden, cap=5.0)
    before, after = (
        torch.softmax(5 * torch.tanh(hidden @ u.T / 5), -1)
        for u in (output, output - output.mean(0))
    )
    assert found["softmax"] == pytest.approx(float((before - after).abs().max()))
    assert found["softmax"] > 1e-2
    assert found["fixed_hidden"] < 1e-12


def test_of_a_tied_matrix_it_changes_what_the_head_reads(planted, normal) -> None:
    output, hidden = planted
    moved = hidden + 0.1 * normal(6, 4)
    found = effect_of_centering(output, hidden, moved=moved)
    assert found["softmax"] > 1e-3
    assert found["fixed_hidden"] < 1e-12
    wanted = hidden @ output.T - moved @ (output - output.mean(0)).T
    assert found["logit_shift"] == pytest.approx(float(wanted.abs().max()))


def test_the_mean_may_be_that_of_the_first_rows_and_still_nothing_changes(planted) -> None:
    output, hidden = planted
    found = effect_of_centering(output, hidden, rows=3)
    assert found["softmax"] < 1e-12
    shift = float((hidden @ output[:3].mean(0)).abs().max())
    assert found["logit_shift"] == pytest.approx(shift)


def test_neither_matrix_is_changed_and_half_precision_is_enough(planted) -> None:
    output, hidden = (each.bfloat16() for each in planted)
    before = tensor_hash(output), tensor_hash(hidden)
    assert effect_of_centering(output, hidden)["softmax"] < 1e-12
    assert (tensor_hash(output), tensor_hash(hidden)) == before


def test_positions_are_compared_in_blocks_of_any_shape(planted, monkeypatch) -> None:
    output, hidden = planted
    whole = effect_of_centering(output, hidden, cap=3.0)
    monkeypatch.setattr(centering, "_ENTRIES", 20)
    told: list[tuple[int, int]] = []
    blocks = effect_of_centering(
        output, hidden.reshape(2, 3, 4), cap=3.0,
        progress=lambda stage, done, total: told.append((done, total)),
    )  # fmt: skip
    assert blocks == pytest.approx(whole, rel=1e-12)
    assert told == [(0, 3), (1, 3), (2, 3)]
