"""Each way of a head against what it is to leave alone, and what it is to take away."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress
from embtie_widgets.requests.trials import RANKED, WAYS
from embtie_widgets.training.centering import CoupledAdam, MuCentering
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run, build_model, held_out_loss
from embtie_widgets.training.head_ways import (
    BackwardRank,
    FactorisedHead,
    VisibleHeadUpdate,
    head_plugs,
)
from embtie_widgets.training.interventions import InputScaling, Intervention, Step, intervention_of
from embtie_widgets.training.runs import RunSpec, load_trained, train_run, trained
from tests.training.running import trained as rows_of

RANK, WIDTH = 3, 12
BOTH = pytest.mark.parametrize("tied", [True, False])


class Watch(Intervention):
    """Gradient at the final states, that of the head by its output use, and U, before each step."""

    splits = True

    def __init__(self) -> None:
        self.states: list[Tensor] = []
        self.heads: list[Tensor] = []
        self.matrices: list[Tensor] = []

    def on_build(self, model: Any, run: str) -> None:
        model.model.norm.register_forward_hook(self._read)

    def _read(self, module: Any, arguments: Any, output: Tensor) -> None:
        if output.requires_grad:
            output.register_hook(lambda gradient: self.states.append(gradient.flatten(0, -2)))

    def on_gradients(self, step: Step) -> None:
        self.matrices.append(head(step.model).weight.detach().clone())
        if step.parts is not None:
            self.heads.append(step.parts.output)


def head(model: Any) -> Any:
    return model.get_output_embeddings()


def rank_of(matrix: Tensor) -> int:
    return int(torch.linalg.matrix_rank(matrix.double(), rtol=1e-5))


def columns(matrix: Tensor) -> Tensor:
    """(V, V) the projection on the column space."""
    return matrix @ torch.linalg.pinv(matrix)


@pytest.fixture
def watched(recipe_of: Any, corpus: Corpus) -> Callable[..., tuple[Watch, list[dict[str, Any]]]]:
    """Trained in float64, each step logged and watched."""

    def train(*plugs: Intervention, tied: bool, **changes: Any) -> Any:
        settings = {"precision": "float64", "log_every": 1, **changes}
        watch = Watch()
        return watch, rows_of(recipe_of(**settings), corpus, [*plugs, watch], tied=tied).rows

    return train


@BOTH
def test_a_backward_rank_restricts_the_gradient_at_the_states_and_keeps_its_length(
    watched: Any, tied: bool
) -> None:
    (cut, _), (plain, _) = watched(BackwardRank(RANK), tied=tied), watched(tied=tied)
    assert all(rank_of(states) == RANK for states in cut.states)
    assert rank_of(plain.states[0]) > RANK
    lengths = [float(one.states[0].norm()) for one in (cut, plain)]
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-12)


@BOTH
def test_a_backward_rank_keeps_the_logits_and_the_heads_own_gradient(
    watched: Any, tied: bool
) -> None:
    (cut, rows), (plain, usual) = watched(BackwardRank(RANK), tied=tied), watched(tied=tied)
    assert rows[0]["loss"] == usual[0]["loss"]
    assert torch.equal(cut.heads[0], plain.heads[0])
    assert rows[1]["loss"] != usual[1]["loss"]


def test_a_backward_rank_takes_what_the_nearest_head_of_that_rank_would_pass_on(
    watched: Any,
) -> None:
    (cut, _), (plain, _) = watched(BackwardRank(RANK), tied=False), watched(tied=False)
    rows = plain.matrices[0] - plain.matrices[0].mean(0)
    left, sizes, right = torch.linalg.svd(rows, full_matrices=False)
    nearest = left[:, :RANK] * sizes[:RANK] @ right[:RANK]
    # G U is G times the rows about their mean, so G times the nearest is G U on its directions.
    through = plain.states[0] @ torch.linalg.pinv(rows) @ nearest
    wanted = through * plain.states[0].norm() / through.norm()
    torch.testing.assert_close(cut.states[0], wanted, rtol=1e-8, atol=1e-12)


@BOTH
def test_a_backward_rank_as_large_as_the_head_changes_nothing_but_by_rounding(
    watched: Any, tied: bool
) -> None:
    (_, rows), (_, usual) = watched(BackwardRank(WIDTH), tied=tied), watched(tied=tied)
    for row, other in zip(rows, usual, strict=True):
        assert row["loss"] == pytest.approx(other["loss"], rel=1e-9)


@BOTH
def test_no_hook_of_a_backward_rank_stays_in_the_model(
    recipe: TrainingConfig, corpus: Corpus, tied: bool
) -> None:
    run = rows_of(recipe, corpus, [BackwardRank(RANK)], tied=tied).run
    assert not head(run.model)._forward_pre_hooks


def test_a_gradient_that_the_directions_do_not_hold_becomes_nothing_not_nan() -> None:
    from embtie_widgets.training.head_ways import _restricted

    directions = torch.eye(4)[:, :2]
    assert torch.equal(_restricted(torch.zeros(3, 4), directions), torch.zeros(3, 4))
    across = torch.tensor([[0.0, 0.0, 1.0, 2.0]])
    assert torch.equal(_restricted(across, directions), torch.zeros(1, 4))


@BOTH
def test_a_factorised_head_has_its_rank_from_the_first_step_to_the_last(
    watched: Any, tied: bool
) -> None:
    watch, rows = watched(FactorisedHead(RANK), tied=tied)
    assert [rank_of(matrix) for matrix in watch.matrices] == [RANK] * len(rows)
    assert not torch.equal(watch.matrices[0], watch.matrices[-1])
    assert rank_of(watch.states[0]) == RANK


@BOTH
def test_a_factorised_head_starts_near_the_head_and_as_long(
    recipe: TrainingConfig, corpus: Corpus, tied: bool
) -> None:
    plain = build_model(recipe, tied=tied, seed=1)
    whole = head(plain).weight.detach().clone()
    made = [
        Run(recipe, build_model(recipe, tied=tied, seed=1), corpus, "run", [FactorisedHead(rank)])
        for rank in (RANK, WIDTH)
    ]
    low, full = (head(run.model).weight.detach() for run in made)
    left, sizes, right = torch.linalg.svd(whole, full_matrices=False)
    nearest = left[:, :RANK] * sizes[:RANK] @ right[:RANK]
    torch.testing.assert_close(low, nearest * whole.norm() / nearest.norm(), rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(full, whole, rtol=1e-3, atol=1e-6)


@BOTH
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float64"])
def test_a_factorised_model_is_stored_as_transformers_knows_it(
    recipe_of: Any, corpus: Corpus, tmp_path: Path, tied: bool, precision: str
) -> None:
    recipe = recipe_of(precision=precision)
    spec = RunSpec("run", recipe, tied, interventions=(FactorisedHead(RANK),))
    store, handed_out = trained(spec, corpus, tmp_path / "run")
    loaded = load_trained(store)
    assert type(head(loaded)) is torch.nn.Linear
    assert (loaded.config.tie_word_embeddings, rank_of(head(loaded).weight)) == (False, RANK)
    ids = torch.from_numpy(corpus.ids[:8])[None]
    with torch.no_grad():
        torch.testing.assert_close(
            loaded(input_ids=ids).logits, handed_out.eval()(input_ids=ids).logits
        )
    last = store.checkpoint(recipe.steps)
    assert torch.equal(last.output, head(loaded).weight)
    assert torch.equal(last.input, loaded.get_input_embeddings().weight)
    losses = [held_out_loss(one, corpus, 4, recipe.length) for one in (loaded, handed_out)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert losses[0] < store.rows()[0]["loss"]


def test_the_input_of_a_tied_factorised_model_keeps_its_rank(
    recipe: TrainingConfig, corpus: Corpus
) -> None:
    run = rows_of(recipe, corpus, [FactorisedHead(RANK)], tied=True).run
    E, U = run.model.get_input_embeddings().weight, head(run.model).weight
    assert (rank_of(E), rank_of(U)) == (WIDTH, RANK)
    assert E.grad is not None
    torch.testing.assert_close(U, E @ head(run.model).up @ head(run.model).down)


@BOTH
def test_the_heads_update_keeps_only_what_lies_in_its_columns(watched: Any, tied: bool) -> None:
    class Gradients(Intervention):
        def __init__(self) -> None:
            self.seen: list[Tensor] = []

        def on_gradients(self, step: Step) -> None:
            self.seen.append(head(step.model).weight.grad.clone())

    after, before = Gradients(), Gradients()
    watch, _ = watched(VisibleHeadUpdate(), after, tied=tied)
    plain, _ = watched(before, tied=tied)
    P = columns(watch.matrices[0])
    G_out = plain.heads[0]
    G_in = before.seen[0] - G_out
    torch.testing.assert_close(after.seen[0], G_in + P @ G_out, rtol=1e-8, atol=1e-12)
    assert float((G_out - P @ G_out).norm() / G_out.norm()) > 0.1
    assert torch.equal(watch.states[0], plain.states[0])


def test_a_head_whose_gradient_cannot_be_told_apart_is_refused(
    recipe: TrainingConfig, corpus: Corpus
) -> None:
    with pytest.raises(EmbtieError, match="cannot be told"):
        rows_of(recipe, corpus, [FactorisedHead(RANK), VisibleHeadUpdate()], tied=True)


@BOTH
@pytest.mark.parametrize("method", [MuCentering, CoupledAdam])
def test_a_method_that_moves_the_matrix_of_a_head_is_refused_where_that_is_a_product(
    recipe: TrainingConfig, corpus: Corpus, tied: bool, method: type[Intervention]
) -> None:
    with pytest.raises(EmbtieError, match="product of others"):
        rows_of(recipe, corpus, [FactorisedHead(RANK), method()], tied=tied)


@BOTH
@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(
    recipe: TrainingConfig, corpus: Corpus, tmp_path: Path, tied: bool, way: str
) -> None:
    plugs = head_plugs(way, RANK if way in RANKED else None)
    spec = RunSpec("run", recipe, tied, interventions=plugs)
    whole = train_run(spec, corpus, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train_run(spec, corpus, tmp_path / "parts", progress=stop_at(3))
    parts = train_run(spec, corpus, tmp_path / "parts")
    assert parts.rows() == whole.rows()
    for one, other in zip(parts.checkpoint(6)[1:], whole.checkpoint(6)[1:], strict=True):
        assert torch.equal(one, other)


def stop_at(step: int) -> Progress:
    def progress(_stage: str, done: int, _total: int) -> None:
        if done == step:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("way", WAYS)
def test_every_way_trains_in_mixed_precision_and_beside_other_plug_ins(
    recipe_of: Any, corpus: Corpus, way: str
) -> None:
    plugs = [InputScaling(2.0), *head_plugs(way, RANK)]
    rows = rows_of(recipe_of(precision="bfloat16", steps=20), corpus, plugs, tied=False).rows
    assert rows[-1]["loss"] < rows[0]["loss"]


def test_ways_describe_themselves_and_are_made_again_from_that() -> None:
    for way in WAYS:
        for plug in head_plugs(way, RANK):
            assert intervention_of(plug.to_dict()) == plug
    assert head_plugs("factorised", RANK)[0].to_dict() == {"kind": "factorised-head", "rank": 3}


@pytest.mark.parametrize("plug", [FactorisedHead(WIDTH + 1), BackwardRank(WIDTH + 1)])
def test_a_rank_above_the_heads_is_refused(
    recipe: TrainingConfig, corpus: Corpus, plug: Intervention
) -> None:
    with pytest.raises(EmbtieError, match="at most 12") as told:
        Run(recipe, build_model(recipe, tied=False, seed=1), corpus, "run", [plug])
    assert "1 to 12" in told.value.hint


@pytest.mark.parametrize(("way", "rank"), [("factorised", None), ("backward", None), ("odd", 2)])
def test_a_way_that_is_none_or_lacks_its_rank_is_refused(way: str, rank: int | None) -> None:
    with pytest.raises(EmbtieError, match=way):
        head_plugs(way, rank)
