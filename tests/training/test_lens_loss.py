import numpy as np
import pytest
import torch
from torch.nn.functional import kl_div

from embtie_widgets.measures.head import Head
from embtie_widgets.measures.states import Block, states_of
from embtie_widgets.training.lens_loss import Divergence
from embtie_widgets.training.lens_steps import Vocabulary
from tests.measures.lens_models import narrow_opt
from tests.sources.tiny import tiny
from tests.training.lens_text import PIECES

# Scales, caps, biases in and behind the head, a projection, no final norm.
KINDS = ["llama", "gpt2", "gptj", "cohere", "gemma2", "granite", "phi"]


def parts(model: object) -> tuple[Divergence, Block]:
    return Divergence(Head.of(model)), next(iter(states_of(model, PIECES[:5])))


def plainly(loss: Divergence, own: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    log_q = loss.head.logits(y).log_softmax(-1)
    return kl_div(log_q, own.log_softmax(-1), log_target=True, reduction="none").sum(-1)


@pytest.mark.parametrize("kind", [*KINDS, "narrow"])
def test_kl_and_its_gradient_are_those_of_torch(kind: str) -> None:
    loss, block = parts(narrow_opt() if kind == "narrow" else tiny(kind, False))
    target, total = loss.target(block.own, block.states[-1])
    y = block.states[0].clone().requires_grad_()
    kl, gradient = loss(y, target, gradient=True)
    expected = plainly(loss, block.own, y)
    (right,) = torch.autograd.grad(expected.sum(), y)
    torch.testing.assert_close(kl, expected.detach(), rtol=1e-4, atol=2e-5)
    torch.testing.assert_close(gradient, right, rtol=1e-3, atol=1e-4 * float(right.abs().max()))
    torch.testing.assert_close(total, block.own.softmax(-1).sum(0), rtol=1e-5, atol=1e-6)


def test_kl_does_not_depend_on_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    loss, block = parts(tiny("llama", False))
    target, _ = loss.target(block.own, block.states[-1])
    whole = loss(block.states[1], target)[0]
    monkeypatch.setattr(loss, "chunk", lambda rows: 7)
    again, _ = loss.target(block.own, block.states[-1])
    torch.testing.assert_close(loss(block.states[1], again)[0], whole, rtol=1e-4, atol=1e-5)


def test_the_models_own_last_state_has_no_divergence() -> None:
    loss, block = parts(tiny("gemma2", False))
    target, _ = loss.target(block.own, block.states[-1])
    assert float(loss(block.states[-1], target)[0].abs().max()) < 1e-4


def test_sampled_words_stand_for_the_whole_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_WHOLE", 10), ("_TOP", 8), ("_DRAWN", 16)):
        monkeypatch.setattr(f"embtie_widgets.training.lens_steps.{name}", value)
    loss, block = parts(tiny("llama", False))
    target, total = loss.target(block.own, block.states[-1])
    vocabulary = Vocabulary(loss, total / len(target), seed=0)
    exact, gradient = loss(block.states[0], target, gradient=True)
    draws = [loss(block.states[0], target, vocabulary.draw(), gradient=True) for _ in range(300)]
    summed = torch.stack([kl.exp() for kl, _ in draws]).mean(0)
    # The sum over the vocabulary is estimated without bias; its logarithm nearly so.
    torch.testing.assert_close(summed, exact.exp(), rtol=0.1, atol=0)
    mean = torch.stack([g for _, g in draws if g is not None]).mean(0)
    assert gradient is not None
    assert np.corrcoef(mean.flatten(), gradient.flatten())[0, 1] > 0.97
