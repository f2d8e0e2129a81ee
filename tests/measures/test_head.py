"""From a state to logits: by the model's own norm, projection, matrix, bias, factors and cap."""

import pytest
import torch
import transformers as hf

import embtie_widgets as ew
from embtie_widgets.measures.head import Head
from embtie_widgets.measures.states import states_of
from tests.measures.lens_models import FAMILIES, PIECES, narrow_opt
from tests.sources.models import llama
from tests.sources.tiny import tiny


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_last_state_gives_the_models_own_logits(kind: str) -> None:
    model = tiny(kind, kind in ("gpt2", "llama", "gemma2"))
    head = Head.of(model)
    for block in states_of(model, PIECES):
        scale = float(block.own.abs().max())
        assert torch.allclose(head.logits(block.states[-1]), block.own, atol=1e-5 * scale)


def test_a_narrow_head_without_norm_is_reached_through_the_projection() -> None:
    model = narrow_opt()
    head = Head.of(model)
    block = next(states_of(model, PIECES))
    assert {state.shape[1] for state in block.states} == {8}
    assert head.weight.shape == (32, 4)
    assert torch.equal(head.norm_only(block.states[1]), block.states[1])
    assert torch.allclose(head.logits(block.states[-1]), block.own, rtol=1e-5)


@pytest.mark.parametrize("kind", ["gptj", "phi"])
def test_a_bias_in_the_head_counts(kind: str) -> None:
    head = Head.of(tiny(kind, False))
    zero = torch.zeros(1, head.norm.normalized_shape[0])
    without = head.logits(zero) - head.bias
    assert head.bias.std() > 0.5
    assert torch.allclose(without[0], head.weight @ head.normed(zero)[0], atol=1e-4)


def test_every_state_is_normed_by_its_own_length() -> None:
    head, states = Head.of(llama()), torch.randn(6, 8)
    assert torch.allclose(head.logits(100 * states), head.logits(states), atol=1e-4)


def test_gradients_reach_the_states_and_nothing_else() -> None:
    model = llama()
    states = torch.randn(3, 8, requires_grad=True)
    Head.of(model).logits(states).square().sum().backward()
    assert states.grad is not None
    assert states.grad.abs().min() > 0
    assert all(parameter.grad is None for parameter in model.parameters())


def test_float32_matrices_are_shared_and_others_copied() -> None:
    model = llama()
    assert Head.of(model).weight.data_ptr() == model.lm_head.weight.data_ptr()
    half = Head.of(llama().to(torch.bfloat16))
    assert half.weight.dtype == half.norm.weight.dtype == torch.float32
    assert half.precision == torch.bfloat16


def test_hooks_on_the_models_norm_are_not_called_by_the_lens() -> None:
    model, calls = llama(), []
    model.model.norm.register_forward_hook(lambda *_: calls.append(1))
    head = Head.of(model)
    calls.clear()
    head.logits(torch.randn(2, 8))
    assert not calls


def test_models_with_an_encoder_or_without_a_head_are_refused_in_words() -> None:
    with pytest.raises(ew.EmbtieError, match="encoder") as caught:
        Head.of(tiny("t5", True))
    assert "decoder" in caught.value.hint
    with pytest.raises(ew.EmbtieError, match="no output matrix"):
        Head.of(hf.LlamaModel(llama().config))


@pytest.mark.parametrize("kind", ["eurobert", "paligemma"])
def test_models_that_look_ahead_are_refused_in_words(kind: str) -> None:
    with pytest.raises(ew.EmbtieError, match="looks ahead") as caught:
        Head.of(tiny(kind, False))
    assert "decoder" in caught.value.hint
