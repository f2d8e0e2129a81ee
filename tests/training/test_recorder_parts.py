"""The parts that the hooks catch, against a model with two copies of the matrix."""

import copy
from typing import Any

import pytest
import torch

from embtie_widgets.measures.gradient_split import gradient_split
from embtie_widgets.training.recorder_hooks import StepCapture, find_matrices
from tests.training.recorder_models import (
    FAMILIES,
    caught_parts,
    expected,
    ids_of,
    loss_of,
    model_of,
)

EXACT = {"rtol": 1e-9, "atol": 1e-12}


def once(ids: Any) -> Any:
    return lambda model: loss_of(model, ids).backward()


def assert_parts(model: Any, backward: Any, ids: Any, **options: Any) -> None:
    wanted = expected(model, ids)
    *parts, check = caught_parts(model, backward, **options)
    for part, right in zip(parts, wanted, strict=True):
        torch.testing.assert_close(part, right, **EXACT)
    assert check < 1e-12


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_are_the_gradients_of_two_copies(family: str) -> None:
    ids = ids_of()
    assert_parts(model_of(family, dtype=torch.float64), once(ids), ids)


@pytest.mark.parametrize("family", ["llama", "gemma2"])
def test_parts_of_an_untied_model_are_its_two_gradients(family: str) -> None:
    model, ids = model_of(family, tied=False, dtype=torch.float64), ids_of()
    own, other, check = caught_parts(model, once(ids))
    assert torch.equal(own, model.get_input_embeddings().weight.grad)
    assert torch.equal(other, model.get_output_embeddings().weight.grad)
    assert check < 1e-12


def test_a_token_that_is_not_in_the_batch_gets_exactly_nothing_by_the_input() -> None:
    ids = ids_of()
    own, _, _ = caught_parts(model_of(), once(ids))
    absent = torch.ones(len(own), dtype=torch.bool)
    absent[ids] = False
    assert absent.any()
    assert not own[absent].any()
    assert own[ids[:, :-1]].any(dim=-1).all()  # what stands last alone is never read from


def test_micro_batches_add_up_to_one_large_batch() -> None:
    ids = ids_of(rows=8)

    def backward(model: Any) -> None:
        for part in ids.split(2):
            (loss_of(model, part) / 4).backward()

    assert_parts(model_of(dtype=torch.float64), backward, ids)


@pytest.mark.parametrize("together", [True, False])
def test_calling_the_model_twice_in_a_step_counts_both(together: bool) -> None:
    ids = ids_of(rows=4)

    def backward(model: Any) -> None:
        losses = [loss_of(model, part) / 2 for part in ids.split(2)]
        for loss in [sum(losses)] if together else losses:
            loss.backward()

    assert_parts(model_of(dtype=torch.float64), backward, ids)


def test_evaluating_in_the_middle_of_a_step_counts_nothing() -> None:
    ids = ids_of()

    def backward(model: Any) -> None:
        first = loss_of(model, ids)
        with torch.no_grad():
            loss_of(model.eval(), ids_of(seed=9))
        with torch.inference_mode():
            loss_of(model, ids_of(seed=8))
        loss_of(model.train(), ids_of(seed=7))  # its graph is dropped
        first.backward()

    assert_parts(model_of("llama", dtype=torch.float64), backward, ids)


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradient_checkpointing_counts_each_use_once(reentrant: bool) -> None:
    model, ids = model_of("llama", dtype=torch.float64), ids_of()
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    assert_parts(model, once(ids), ids)


def test_what_a_grad_scaler_multiplied_is_taken_out() -> None:
    ids = ids_of()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    model = model_of(dtype=torch.float64)
    assert_parts(model, lambda m: scaler.scale(loss_of(m, ids)).backward(), ids, scaler=scaler)
    scaled = model.get_input_embeddings().weight.grad
    assert scaled.norm() > 100 * sum(part.norm() for part in expected(model, ids))


def test_mixed_precision_gives_the_parts_to_its_own_precision() -> None:
    model, ids = model_of("llama"), ids_of()
    wanted = expected(model, ids)

    def backward(model: Any) -> None:
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(model, ids)
        loss.backward()

    *parts, check = caught_parts(model, backward)
    for part, right in zip(parts, wanted, strict=True):
        assert (part - right).norm() < 0.05 * right.norm()
    assert 1e-6 < check < 0.05


def test_a_model_in_half_precision_is_added_up_in_single() -> None:
    model, ids = model_of("llama", dtype=torch.bfloat16), ids_of()
    wanted = expected(copy.deepcopy(model).float(), ids)
    *parts, check = caught_parts(model, once(ids))
    for part, right in zip(parts, wanted, strict=True):
        assert part.dtype == torch.float32
        assert (part - right).norm() < 0.1 * right.norm()
    assert check < 0.05


def test_noise_on_the_embeddings_changes_nothing_about_who_is_credited() -> None:
    model, ids = model_of(dtype=torch.float64), ids_of()
    noise = torch.randn(4, 9, 16, generator=torch.Generator().manual_seed(3)).double()
    embedding = model.get_input_embeddings()
    handle = embedding.register_forward_hook(lambda m, a, out: out + 0.1 * noise)
    assert_parts(model, once(ids), ids)
    handle.remove()


def test_labels_that_are_left_out_and_padding_are_the_models_own() -> None:
    ids = ids_of()
    ids[:, -2:] = 1  # the padding row of opt
    model = model_of("opt", dtype=torch.float64)
    assert_parts(model, once(ids), ids)
    own, other, _ = caught_parts(model_of("opt", dtype=torch.float64), once(ids))
    assert not own[1].any()
    assert other[1].any()


def test_the_split_of_a_loaded_model_says_the_same() -> None:
    ids = ids_of()
    model = model_of("olmo")
    split = gradient_split(model, ids)
    own, other, _ = caught_parts(model, once(ids))
    torch.testing.assert_close(own, split.input, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(other, split.output, rtol=1e-4, atol=1e-6)


def test_a_third_use_of_the_matrix_shows_in_the_check() -> None:
    ids = ids_of()

    def backward(model: Any) -> None:
        weight = model.get_input_embeddings().weight
        (loss_of(model, ids) + 0.1 * weight.mean(0).square().sum()).backward()

    *_, check = caught_parts(model_of(), backward)
    assert check > 1e-3


def test_the_logged_loss_is_the_one_whose_gradient_it_is() -> None:
    model, ids = model_of(), ids_of()
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    caught = StepCapture(find_matrices(model), 1, scaler)
    caught.arm(model)
    for part in ids.split(1):
        loss = loss_of(model, part)
        loss *= 0.25  # in place, as Trainer does
        scaler.scale(loss).backward()
    caught.disarm()
    mean = torch.stack([loss_of(model, part) for part in ids.split(1)]).mean()
    assert caught.loss.item() / caught.scale == pytest.approx(mean.item(), rel=1e-6)


def test_an_embedding_that_looks_nothing_up_is_said_to_be_out_of_reach() -> None:
    model = model_of()
    caught = StepCapture(find_matrices(model), 1)
    caught.arm(model)
    model.get_input_embeddings().forward = lambda ids: torch.ones(*ids.shape, 16).requires_grad_()
    loss_of(model, ids_of()).backward()
    caught.disarm()
    assert "lookup is not found" in str(caught.error)
