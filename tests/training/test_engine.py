import math
from typing import Any

import numpy as np
import pytest
import torch

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run, build_model, held_out_loss


def trained(recipe: TrainingConfig, corpus: Corpus, *, tied: bool = True) -> Run:
    run = Run(recipe, build_model(recipe, tied=tied, seed=1), corpus)
    run.train()
    return run


def test_the_same_run_twice_gives_the_same_bits(recipe: TrainingConfig, corpus: Corpus) -> None:
    one, other = trained(recipe, corpus), trained(recipe, corpus)
    assert one.metrics == other.metrics
    for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_another_seed_gives_other_batches(recipe_of: Any, corpus: Corpus) -> None:
    assert trained(recipe_of(seed=7), corpus).metrics != trained(recipe_of(seed=8), corpus).metrics


@pytest.mark.parametrize("tied", [True, False])
def test_the_loop_is_plain_transformers_and_adamw(
    recipe: TrainingConfig, corpus: Corpus, tied: bool
) -> None:
    run = trained(recipe, corpus, tied=tied)
    model = build_model(recipe, tied=tied, seed=1)
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=recipe.lr, betas=recipe.betas, weight_decay=recipe.weight_decay
    )
    for step in range(1, recipe.steps + 1):
        window = run.batches[step]
        logits = model(input_ids=window[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimiser.param_groups[0]["lr"] = recipe.learning_rate(step)
        optimiser.step()
    assert run.metrics[-1]["loss"] == pytest.approx(loss.item(), rel=1e-6)
    for a, b in zip(run.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_training_lowers_the_loss_from_that_of_a_guess(recipe_of: Any, corpus: Corpus) -> None:
    run = trained(recipe_of(steps=80, lr=2e-2), corpus)
    assert run.metrics[0]["loss"] == pytest.approx(math.log(48), abs=0.3)
    assert held_out_loss(run.model, corpus, batch=4, length=8) < 2.5


def test_rows_are_kept_at_the_interval_and_at_both_ends(recipe_of: Any, corpus: Corpus) -> None:
    rows = trained(recipe_of(steps=7, log_every=3), corpus).metrics
    assert [row["step"] for row in rows] == [1, 3, 6, 7]
    assert set(rows[0]) == {"step", "run", "loss", "lr", "gradient_norm"}


def test_checkpoints_are_copies_from_the_steps_asked_for(recipe_of: Any, corpus: Corpus) -> None:
    run = trained(recipe_of(checkpoints=(0, 2, 99)), corpus, tied=False)
    assert [kept.step for kept in run.checkpoints] == [0, 2, 6]
    start = build_model(run.config, tied=False, seed=1)
    assert torch.equal(run.checkpoints[0].input, start.get_input_embeddings().weight)
    assert torch.equal(run.checkpoints[-1].output, run.model.get_output_embeddings().weight)
    assert not torch.equal(run.checkpoints[0].input, run.checkpoints[1].input)


def test_a_tied_checkpoint_holds_one_matrix_twice(recipe: TrainingConfig, corpus: Corpus) -> None:
    kept = trained(recipe, corpus).checkpoints[-1]
    assert kept.input is kept.output


def test_cancelling_stops_at_once_and_the_run_can_go_on(
    recipe: TrainingConfig, corpus: Corpus
) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        assert total == recipe.steps
        if done == 4:
            raise Cancelled

    run = Run(recipe, build_model(recipe, tied=True, seed=1), corpus)
    with pytest.raises(Cancelled):
        run.train(stop)
    assert run.done == 4
    assert [row["step"] for row in run.metrics] == [1, 2, 4]
    run.train()
    assert run.metrics == trained(recipe, corpus).metrics


def test_training_leaves_the_users_random_numbers_alone(
    recipe: TrainingConfig, corpus: Corpus
) -> None:
    torch.manual_seed(0)
    wanted = torch.rand(3)
    torch.manual_seed(0)
    trained(recipe, corpus)
    assert torch.equal(torch.rand(3), wanted)


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


@pytest.mark.gpu
def test_the_same_run_twice_on_cuda_gives_the_same_bits(recipe_of: Any, corpus: Corpus) -> None:
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    recipe = recipe_of(device="cuda")
    assert trained(recipe, corpus).metrics == trained(recipe, corpus).metrics
