from typing import Any

import pytest
import torch
from torch import Tensor
from torch.optim import Optimizer

from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run, build_model
from embtie_widgets.training.interventions import Intervention, Step


def run_with(
    plug: Intervention, recipe: TrainingConfig, corpus: Corpus, *, tied: bool = True
) -> Run:
    run = Run(recipe, build_model(recipe, tied=tied, seed=1), corpus, "tied", [plug])
    run.train()
    return run


class Diary(Intervention):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def on_build(self, model: Any, run: str) -> None:
        self.calls = [f"build {run}"]

    def on_optimiser(self, optimiser: Optimizer) -> Optimizer:
        self.calls.append("optimiser")
        return optimiser

    def on_embeddings(self, embeddings: Tensor, step: Step) -> Tensor:
        assert embeddings.shape == (*step.input_ids.shape, 12)
        self.calls.append("embeddings")
        return embeddings

    def on_logits(self, logits: Tensor, step: Step) -> Tensor:
        assert logits.shape == (*step.targets.shape, 48)
        self.calls.append("logits")
        return logits

    def on_loss(self, loss: Tensor, logits: Tensor, step: Step) -> Tensor:
        self.calls.append("loss")
        return loss

    def on_gradients(self, step: Step) -> None:
        assert step.model.get_input_embeddings().weight.grad is not None
        self.calls.append("gradients")

    def after_step(self, step: Step) -> None:
        self.calls.append("after")


def test_hooks_are_called_once_a_step_in_their_order(recipe_of: Any, corpus: Corpus) -> None:
    diary = Diary()
    run_with(diary, recipe_of(steps=2), corpus)
    each = ["embeddings", "logits", "loss", "gradients", "after"]
    assert diary.calls == ["build tied", "optimiser", *each, *each]


def test_a_plug_in_that_does_nothing_changes_no_bit(recipe: TrainingConfig, corpus: Corpus) -> None:
    plain = Run(recipe, build_model(recipe, tied=True, seed=1), corpus, "tied")
    plain.train()
    assert run_with(Diary(), recipe, corpus).metrics == plain.metrics


class MuCentering(Intervention):
    def after_step(self, step: Step) -> None:
        with torch.no_grad():
            rows = step.model.get_output_embeddings().weight
            rows -= rows.mean(0)


def test_a_plug_in_can_centre_the_output_matrix_after_each_step(
    recipe: TrainingConfig, corpus: Corpus
) -> None:
    run = run_with(MuCentering(), recipe, corpus, tied=False)
    matrix = run.checkpoints[-1].output
    assert matrix.mean(0).norm() < 1e-6
    assert run.checkpoints[-1].input.mean(0).norm() > 1e-4


class SoftCap(Intervention):
    def on_logits(self, logits: Tensor, step: Step) -> Tensor:
        step.metrics["largest"] = logits.detach().abs().max()
        return 1e-3 * torch.tanh(logits / 1e-3)


def test_capped_logits_keep_the_loss_at_that_of_a_guess(recipe_of: Any, corpus: Corpus) -> None:
    rows = run_with(SoftCap(), recipe_of(steps=20), corpus).metrics
    assert rows[-1]["loss"] == pytest.approx(3.871, abs=2e-3)
    assert rows[-1]["largest"] > 1e-3


class MuLoss(Intervention):
    def on_loss(self, loss: Tensor, logits: Tensor, step: Step) -> Tensor:
        mean = step.model.get_output_embeddings().weight.mean(0)
        return loss + 1e3 * mean.square().sum()


def test_a_penalty_is_minimised_and_the_logged_loss_stays_plain(
    recipe: TrainingConfig, corpus: Corpus
) -> None:
    run = run_with(MuLoss(), recipe, corpus)
    assert run.metrics[0]["loss"] == pytest.approx(3.87, abs=0.2)
    plain = run_with(Intervention(), recipe, corpus)
    assert run.checkpoints[-1].output.mean(0).norm() < plain.checkpoints[-1].output.mean(0).norm()


class InputScaling(Intervention):
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def on_embeddings(self, embeddings: Tensor, step: Step) -> Tensor:
        embeddings.register_hook(lambda gradient: self.factor * gradient)
        return embeddings

    def on_gradients(self, step: Step) -> None:
        self.gradient = step.model.get_input_embeddings().weight.grad.clone()


def input_and_output_part(run: Run, recipe: TrainingConfig) -> tuple[Tensor, Tensor]:
    """By autograd on an untied copy of the tied model, whose two matrices are equal."""
    tied = build_model(recipe, tied=True, seed=1)
    copy = build_model(recipe, tied=False, seed=2)
    copy.load_state_dict(tied.state_dict())
    window = run.batches[1]
    logits = copy(input_ids=window[:, :-1]).logits
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten()).backward()
    return copy.get_input_embeddings().weight.grad, copy.get_output_embeddings().weight.grad


@pytest.mark.parametrize("factor", [0.0, 1.0, 5.0])
def test_scaling_the_input_path_gives_s_times_its_part_plus_the_output_part(
    recipe_of: Any, corpus: Corpus, factor: float
) -> None:
    recipe, plug = recipe_of(steps=1), InputScaling(factor)
    run = run_with(plug, recipe, corpus)
    into, out = input_and_output_part(run, recipe)
    assert into.norm() > 1e-3
    torch.testing.assert_close(plug.gradient, factor * into + out, rtol=1e-5, atol=1e-7)


class Freeze(Intervention):
    def on_gradients(self, step: Step) -> None:
        step.model.get_input_embeddings().weight.grad.zero_()

    def on_optimiser(self, optimiser: Optimizer) -> Optimizer:
        return torch.optim.SGD(optimiser.param_groups[0]["params"], lr=0.1)


def test_gradients_and_optimiser_can_be_replaced(recipe: TrainingConfig, corpus: Corpus) -> None:
    run = run_with(Freeze(), recipe, corpus, tied=False)
    first, last = run.checkpoints[0], run.checkpoints[-1]
    assert torch.equal(first.input, last.input)
    assert not torch.equal(first.output, last.output)
