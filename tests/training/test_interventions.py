from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from embtie_widgets.errors import EmbtieError
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run, build_model
from embtie_widgets.training.interventions import (
    INTERVENTIONS,
    InputScaling,
    Intervention,
    Step,
    intervention_of,
)
from tests.training.running import finish, trained


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
    trained(recipe_of(steps=2), corpus, [diary])
    each = ["embeddings", "logits", "loss", "gradients", "after"]
    assert diary.calls == ["build tied", "optimiser", *each, *each]


def test_a_plug_in_that_does_nothing_changes_no_bit(recipe: TrainingConfig, corpus: Corpus) -> None:
    assert trained(recipe, corpus, [Diary()]).rows == trained(recipe, corpus).rows


class Seen(Intervention):
    """What the steps of a split run hand out."""

    splits = True

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.gradients: list[Tensor] = []
        self.clips: list[float] = []

    def on_gradients(self, step: Step) -> None:
        self.steps.append(step)
        self.gradients.append(step.model.get_input_embeddings().weight.grad.clone())

    def after_step(self, step: Step) -> None:
        self.clips.append(float(step.clip))


def parts_by_two_copies(run: Run, step: int = 1) -> tuple[Tensor, Tensor]:
    """By autograd on an untied copy of the fresh tied model, whose two matrices are equal."""
    tied = build_model(run.config, tied=True, seed=1)
    copy = build_model(run.config, tied=False, seed=2)
    copy.load_state_dict(tied.state_dict())
    window = run.batches[step]
    logits = copy(input_ids=window[:, :-1]).logits
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten()).backward()
    return copy.get_input_embeddings().weight.grad, copy.get_output_embeddings().weight.grad


@pytest.mark.parametrize("factor", [0.0, 1.0, 5.0])
def test_scaling_the_input_gives_s_times_its_part_plus_the_output_part(
    recipe_of: Any, corpus: Corpus, factor: float
) -> None:
    recipe, seen = recipe_of(steps=1, precision="float64"), Seen()
    run = trained(recipe, corpus, [InputScaling(factor), seen]).run
    into, out = parts_by_two_copies(run)
    assert into.norm() > 1e-3
    torch.testing.assert_close(seen.gradients[0], factor * into + out, rtol=1e-9, atol=1e-12)
    parts = seen.steps[0].parts
    assert parts is not None
    torch.testing.assert_close(parts.input, factor * into, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(parts.output, out, rtol=1e-9, atol=1e-12)


def test_scaling_works_the_same_where_nobody_looks_at_the_parts(
    recipe: TrainingConfig, corpus: Corpus
) -> None:
    watched, alone = (
        trained(recipe, corpus, [InputScaling(3.0), *seen]).run for seen in ([Seen()], [])
    )
    for a, b in zip(watched.model.parameters(), alone.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_scaling_ends_after_its_last_step(recipe: TrainingConfig, corpus: Corpus) -> None:
    plain, early, whole = (
        trained(recipe, corpus, [InputScaling(factor, until)]).rows
        for factor, until in ((1.0, None), (4.0, 2), (4.0, None))
    )
    norms = [[row["gradient_norm"] for row in rows] for rows in (plain, early, whole)]
    assert norms[1][0] == norms[2][0] != norms[0][0]
    assert norms[1][1] == norms[2][1]
    assert norms[1][2] != norms[2][2]
    never = trained(recipe, corpus, [InputScaling(4.0, 0)]).rows
    assert never == plain


@pytest.mark.parametrize("tied", [True, False])
def test_a_logged_step_brings_what_its_parts_can_be_checked_by(
    recipe_of: Any, corpus: Corpus, tied: bool
) -> None:
    seen = Seen()
    trained(recipe_of(precision="float64"), corpus, [InputScaling(2.0), seen], tied=tied)
    assert [step.logged for step in seen.steps] == [True, True, False, True, False, True]
    for step in seen.steps:
        assert (step.hidden is not None) == step.logged
        assert step.parts is not None
    for step in (step for step in seen.steps if step.logged):
        into, out = step.parts  # type: ignore[misc]
        scattered = torch.zeros_like(into)
        scattered.index_add_(0, step.input_ids.flatten(), step.embedding_gradient.flatten(0, 1))  # type: ignore[union-attr]
        torch.testing.assert_close(scattered, into, rtol=1e-9, atol=1e-12)
        product = step.logit_gradient.flatten(0, 1).T @ step.hidden.flatten(0, 1)  # type: ignore[union-attr]
        torch.testing.assert_close(product, out, rtol=1e-9, atol=1e-12)


def test_the_step_says_by_how_much_it_was_clipped(recipe_of: Any, corpus: Corpus) -> None:
    for clip in (0.01, 1e3, 0.0):
        seen = Seen()
        rows = trained(recipe_of(clip=clip, log_every=1), corpus, [seen]).rows
        wanted = [min(1.0, (clip or 1e9) / row["gradient_norm"]) for row in rows]
        assert seen.clips == pytest.approx(wanted, rel=1e-4)


class Through(nn.Module):
    """Computes logits from the embedding itself; the head that it names stands idle."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model, self.config, self.device = model, model.config, torch.device("cpu")

    def get_input_embeddings(self) -> Any:
        return self.model.get_input_embeddings()

    def get_output_embeddings(self) -> Any:
        return self.model.get_output_embeddings()

    def forward(self, input_ids: Tensor, use_cache: bool) -> Any:
        hidden = self.model.model(input_ids=input_ids).last_hidden_state
        logits = nn.functional.linear(hidden, self.get_input_embeddings().weight)
        return type("Output", (), {"logits": logits})


class MadeUp(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight


def test_a_model_whose_tie_cannot_be_told_apart_trains_plainly_and_says_so(
    recipe: TrainingConfig, corpus: Corpus
) -> None:
    plain = trained(recipe, corpus)
    odd = Through(build_model(recipe, tied=True, seed=1))
    made_up = build_model(recipe, tied=True, seed=1)
    nn.utils.parametrize.register_parametrization(
        made_up.get_input_embeddings(), "weight", MadeUp()
    )
    for model in (odd, made_up):
        seen = Seen()
        run = Run(recipe, model, corpus, "tied", [seen])
        rows = finish(run)
        assert rows == plain.rows or model is made_up
        assert all(step.parts is None for step in seen.steps)
        assert "not split" in run.notes[0]
    assert plain.run.notes == ()


def test_a_head_with_a_bias_is_split_as_any_other(recipe: TrainingConfig, corpus: Corpus) -> None:
    model = build_model(recipe, tied=True, seed=1)
    head = model.get_output_embeddings()
    head.bias = nn.Parameter(torch.randn(48))
    seen = Seen()
    run = Run(recipe, model, corpus, "tied", [seen])
    finish(run)
    assert run.notes == ()
    for step, whole in zip(seen.steps, seen.gradients, strict=True):
        assert torch.equal(whole, step.parts.input + step.parts.output)  # type: ignore[union-attr]
    assert head.bias.grad is not None


class Freeze(Intervention):
    def on_gradients(self, step: Step) -> None:
        step.model.get_input_embeddings().weight.grad.zero_()

    def on_optimiser(self, optimiser: Optimizer) -> Optimizer:
        return torch.optim.SGD(optimiser.param_groups[0]["params"], lr=0.1)


def test_gradients_and_optimiser_can_be_replaced(recipe: TrainingConfig, corpus: Corpus) -> None:
    start = build_model(recipe, tied=False, seed=1)
    model = trained(recipe, corpus, [Freeze()], tied=False).run.model
    for read, same in (("get_input_embeddings", True), ("get_output_embeddings", False)):
        weights = [getattr(each, read)().weight for each in (start, model)]
        assert torch.equal(*weights) == same


def test_a_plug_in_describes_itself_and_is_made_again_from_that() -> None:
    described = InputScaling(5.0, until=100).to_dict()
    assert described == {"kind": "input-scaling", "factor": 5.0, "until": 100}
    assert intervention_of(described) == InputScaling(5.0, 100)
    assert INTERVENTIONS["input-scaling"] is InputScaling


def test_a_plug_in_of_ones_own_says_its_name_and_is_not_made_again() -> None:
    @dataclass
    class Mine(Intervention):
        secret: float = 1.0

    assert Mine().to_dict() == {"kind": "Mine"}
    with pytest.raises(EmbtieError, match="Mine"):
        intervention_of({"kind": "Mine"})


@pytest.mark.parametrize("wrong", [(float("nan"),), ("5",), (-1.0,), (2.0, -1), (2.0, 1.5)])
def test_a_senseless_scaling_is_refused(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(EmbtieError):
        InputScaling(*wrong)
