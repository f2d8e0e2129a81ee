import math
import threading
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run, build_model, held_out_loss
from embtie_widgets.training.interventions import Intervention, Step
from embtie_widgets.training.presets import PRESETS, preset
from tests.training.running import finish, trained

DROPPED = {"model_type": "gpt2", "n_embd": 12, "n_layer": 1, "n_head": 2, "vocab_size": 48}
SMALL = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
}


def small(name: str) -> dict[str, Any]:
    """A preset of 48 tokens, no wider than a test needs."""
    chosen = preset(name, 48, 16)
    narrow = {"n_embd": 12, "n_head": 2} if "n_embd" in chosen else SMALL
    return chosen | {key: value for key, value in narrow.items() if key in chosen}


def parameters(run: Run) -> list[Tensor]:
    return [parameter.detach() for parameter in run.model.parameters()]


class Splits(Intervention):
    splits = True


def test_the_same_run_twice_gives_the_same_bits(recipe: TrainingConfig, corpus: Corpus) -> None:
    one, other = trained(recipe, corpus), trained(recipe, corpus)
    assert one.rows == other.rows
    assert all(map(torch.equal, parameters(one.run), parameters(other.run)))


def test_another_seed_gives_other_batches(recipe_of: Any, corpus: Corpus) -> None:
    assert trained(recipe_of(seed=7), corpus).rows != trained(recipe_of(seed=8), corpus).rows


@pytest.mark.parametrize("plugs", [(), (Splits(),)], ids=["plain", "split"])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("name", PRESETS)
def test_the_loop_is_plain_transformers_and_adamw(
    recipe_of: Any, corpus: Corpus, name: str, tied: bool, plugs: tuple[Intervention, ...]
) -> None:
    recipe = recipe_of(model=small(name), steps=20, precision="float64", log_every=1)
    done = trained(recipe, corpus, plugs, tied=tied)
    model = build_model(recipe, tied=tied, seed=1)
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=recipe.lr, betas=recipe.betas, weight_decay=recipe.weight_decay
    )
    losses = []
    for step in range(1, recipe.steps + 1):
        window = done.run.batches[step]
        logits = model(input_ids=window[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimiser.param_groups[0]["lr"] = recipe.learning_rate(step)
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.1
    assert [row["loss"] for row in done.rows] == pytest.approx(losses, rel=1e-9, abs=0)
    for a, b in zip(parameters(done.run), model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tied", [True, False])
def test_splitting_the_gradient_changes_no_bit_and_leaves_the_model_tied(
    recipe: TrainingConfig, corpus: Corpus, tied: bool
) -> None:
    plain, split = (trained(recipe, corpus, plugs, tied=tied) for plugs in ((), (Splits(),)))
    assert plain.rows == split.rows
    assert all(map(torch.equal, parameters(plain.run), parameters(split.run)))
    model = split.run.model
    shared = model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert shared == tied


def test_training_lowers_the_loss_from_that_of_a_guess(recipe_of: Any, corpus: Corpus) -> None:
    done = trained(recipe_of(steps=80, lr=2e-2), corpus)
    assert done.rows[0]["loss"] == pytest.approx(math.log(48), abs=0.3)
    assert held_out_loss(done.run.model, corpus, batch=4, length=8) < 2.5


def test_rows_are_logged_at_the_interval_and_at_both_ends(recipe_of: Any, corpus: Corpus) -> None:
    rows = trained(recipe_of(steps=7, log_every=3), corpus).rows
    assert [row["step"] for row in rows] == [1, 3, 6, 7]
    assert set(rows[0]) == {"step", "run", "loss", "lr", "gradient_norm"}


class Poison(Intervention):
    """Makes the loss, or one entry of a gradient, infinite or no number at one step."""

    def __init__(self, at: int, value: float, where: str) -> None:
        self.at, self.value, self.where = at, value, where
        self.after: list[int] = []

    def on_logits(self, logits: Tensor, step: Step) -> Tensor:
        poisoned = step.number == self.at and self.where == "loss"
        return logits + self.value if poisoned else logits

    def on_gradients(self, step: Step) -> None:
        if step.number == self.at and self.where == "gradient":
            step.model.get_output_embeddings().weight.grad[0, 0] = self.value

    def after_step(self, step: Step) -> None:
        self.after.append(step.number)


@pytest.mark.parametrize("clip", [0.0, 1.0])
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_a_step_that_is_not_finite_is_told_and_not_done(
    recipe_of: Any, corpus: Corpus, where: str, value: float, clip: float
) -> None:
    recipe, plug = recipe_of(clip=clip, log_every=4), Poison(3, value, where)
    run = Run(recipe, build_model(recipe, tied=True, seed=1), corpus, "tied", [plug])
    rows = [run.advance() for _ in range(3)]
    before = trained(recipe_of(clip=clip, log_every=4), corpus, [Until(2)]).run
    assert (run.done, run.diverged, run.ended) == (2, 3, True)
    assert plug.after == [1, 2]
    assert all(map(torch.equal, parameters(run), parameters(before)))
    assert rows[1] is None
    assert rows[2] is not None
    assert rows[2]["step"] == 3
    told = "loss" if where == "loss" else "gradient_norm"
    assert not math.isfinite(rows[2][told])
    assert "step 3 of 6" in run.notes[-1]


class Until(Intervention):
    """Undoes what is done after a step, as if the run stood still from there."""

    def __init__(self, last: int) -> None:
        self.last = last

    def after_step(self, step: Step) -> None:
        if step.number == self.last:
            self.kept = [parameter.detach().clone() for parameter in step.model.parameters()]
        elif step.number > self.last:
            with torch.no_grad():
                for parameter, kept in zip(step.model.parameters(), self.kept, strict=True):
                    parameter.copy_(kept)


def test_a_rate_far_too_high_ends_a_run_by_itself(recipe_of: Any, corpus: Corpus) -> None:
    recipe = recipe_of(lr=1e9, weight_decay=100.0, warmup=0, clip=0.0)
    run = Run(recipe, build_model(recipe, tied=False, seed=1), corpus)
    while not run.ended:
        run.advance()
    assert run.diverged is not None
    assert run.diverged < recipe.steps


def test_a_run_without_fault_says_nothing_of_one(recipe: TrainingConfig, corpus: Corpus) -> None:
    run = trained(recipe, corpus).run
    assert (run.diverged, run.ended, run.notes) == (None, True, ())


@pytest.mark.parametrize("model", [None, DROPPED], ids=["no dropout", "dropout"])
def test_a_run_that_goes_on_from_its_state_ends_with_the_same_bits(
    recipe_of: Any, corpus: Corpus, model: dict[str, Any] | None
) -> None:
    recipe = recipe_of() if model is None else recipe_of(model=model)
    whole = trained(recipe, corpus)
    first = Run(recipe, build_model(recipe, tied=True, seed=1), corpus)
    for _ in range(3):
        first.advance()
    torch.rand(5)  # whoever draws between the two changes nothing
    second = Run(recipe, build_model(recipe, tied=True, seed=2), corpus, "tied")
    second.load_state_dict(first.state_dict())
    assert [row["step"] for row in finish(second)] == [4, 6]
    assert all(map(torch.equal, parameters(second), parameters(whole.run)))


def test_dropout_differs_from_step_to_step_and_not_from_run_to_run(
    recipe_of: Any, corpus: Corpus
) -> None:
    recipe = recipe_of(model=DROPPED, steps=2, lr=0.0, log_every=1)
    same = Corpus(np.tile(np.arange(9), 60))
    one, other = trained(recipe, same).rows, trained(recipe, same).rows
    assert one == other
    assert one[0]["loss"] != one[1]["loss"]


def test_training_leaves_the_users_random_numbers_alone(
    recipe: TrainingConfig, corpus: Corpus
) -> None:
    torch.manual_seed(0)
    wanted = torch.rand(3)
    torch.manual_seed(0)
    trained(recipe, corpus)
    assert torch.equal(torch.rand(3), wanted)


def test_a_model_built_while_another_trains_starts_as_it_would_alone(
    recipe_of: Any, corpus: Corpus
) -> None:
    recipe = recipe_of(model=DROPPED, steps=60)
    alone = build_model(recipe, tied=True, seed=3).get_input_embeddings().weight
    training = threading.Thread(target=trained, args=(recipe, corpus))
    training.start()
    built = [build_model(recipe, tied=True, seed=3) for _ in range(5)]
    training.join()
    assert all(torch.equal(each.get_input_embeddings().weight, alone) for each in built)


def test_ids_without_a_row_are_refused(recipe: TrainingConfig) -> None:
    model = build_model(recipe, tied=True, seed=1)
    with pytest.raises(EmbtieError, match="48 rows"):
        Run(recipe, model, Corpus(np.arange(60)))


@pytest.mark.parametrize(
    "wrong", [{"model_type": "no-such"}, {"model_type": "t5"}, {"hidden_size": "wide"}]
)
def test_a_configuration_that_transformers_refuses_is_a_readable_error(
    recipe: TrainingConfig, wrong: dict[str, Any]
) -> None:
    config = TrainingConfig(model={**recipe.model, **wrong})
    with pytest.raises(EmbtieError, match="refuses"):
        build_model(config, tied=True, seed=1)


def test_a_device_that_is_not_there_is_refused(recipe_of: Any, corpus: Corpus) -> None:
    recipe = recipe_of(device="abacus")
    with pytest.raises(EmbtieError, match="abacus"):
        Run(recipe, build_model(recipe, tied=True, seed=1), corpus)


def test_float64_is_refused_where_the_device_lacks_it(
    recipe_of: Any, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embtie_widgets.training.engine.pick_device", lambda _: torch.device("mps"))
    recipe = recipe_of(precision="float64", device="mps")
    with pytest.raises(EmbtieError, match="float64"):
        Run(recipe, build_model(recipe, tied=True, seed=1), corpus)


def test_mixed_precision_is_near_float32_and_keeps_float32_weights(
    recipe_of: Any, corpus: Corpus
) -> None:
    exact, mixed = (
        trained(recipe_of(precision=name), corpus, (Splits(),)) for name in ("auto", "bfloat16")
    )
    assert exact.run.precision == "float32"
    assert mixed.run.precision == "bfloat16"
    assert mixed.rows != exact.rows
    losses = [[row["loss"] for row in one.rows] for one in (mixed, exact)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-2)
    assert {parameter.dtype for parameter in parameters(mixed.run)} == {torch.float32}


@pytest.mark.gpu
def test_the_same_run_twice_on_cuda_gives_the_same_bits(recipe_of: Any, corpus: Corpus) -> None:
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    recipe = recipe_of(device="cuda")
    one, other = (trained(recipe, corpus, (Splits(),)) for _ in range(2))
    assert one.rows == other.rows
    assert one.run.precision == "bfloat16"
