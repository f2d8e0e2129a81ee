"""What a run logs of its bottleneck: against a projection made by hand, and changing nothing."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from embtie_widgets.measures.transmission import NAMES
from embtie_widgets.training.bottleneck_recorder import BottleneckRecorder
from embtie_widgets.training.centering import SoftCap
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run, build_model
from embtie_widgets.training.flow import FlowRecorder
from embtie_widgets.training.head_ways import head_plugs
from embtie_widgets.training.interventions import Intervention, Step, intervention_of
from embtie_widgets.training.runs import RunSpec, train_run
from tests.training.running import trained

BOTH = pytest.mark.parametrize("tied", [True, False])


def by_hand(run: Run, step: int, tied: bool, cap: float = 0.0) -> dict[str, float]:
    """Of the gradient of a fresh model's logits on the batch of that step."""
    model = build_model(run.config, tied=tied, seed=1)
    window = run.batches[step]
    hidden = model.model(input_ids=window[:, :-1]).last_hidden_state
    logits = model.lm_head(hidden)
    logits.retain_grad()
    seen = cap * torch.tanh(logits / cap) if cap else logits
    torch.nn.functional.cross_entropy(seen.flatten(0, 1), window[:, 1:].flatten()).backward()
    G, U = logits.grad.flatten(0, 1), model.lm_head.weight.detach()
    P = U @ torch.linalg.pinv(U)
    return {
        "destroyed": float((G - G @ P).norm() / G.norm()),
        "visible_cosine": float((G @ P).norm() / G.norm()),
        "kept_energy": float((G @ P).norm() / G.norm()) ** 2,
        "target_kept": float(P.diagonal()[window[:, 1:]].mean()),
        "line": math.sqrt(1 - 12 / 48),
    }


@BOTH
@pytest.mark.parametrize("cap", [0.0, 0.5])
def test_the_first_row_has_what_a_projection_by_hand_gives(
    recipe_of: Any, corpus: Corpus, tied: bool, cap: float
) -> None:
    plugs = [*([SoftCap(cap)] if cap else []), BottleneckRecorder()]
    done = trained(recipe_of(precision="float64"), corpus, plugs, tied=tied)
    found = {name: done.rows[0][name] for name in NAMES}
    assert found == pytest.approx(by_hand(done.run, 1, tied, cap), rel=1e-8)


@BOTH
def test_a_run_is_the_same_to_the_last_bit_and_no_hook_stays(
    recipe: TrainingConfig, corpus: Corpus, tied: bool
) -> None:
    watched = trained(recipe, corpus, [BottleneckRecorder()], tied=tied)
    plain = trained(recipe, corpus, tied=tied)
    for row, other in zip(watched.rows, plain.rows, strict=True):
        assert {name: row[name] for name in other} == other
        assert set(row) - set(other) == set(NAMES)
    for a, b in zip(watched.run.model.parameters(), plain.run.model.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not watched.run.model.lm_head._forward_hooks


@BOTH
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_coarser_products_give_nearly_the_same(
    recipe_of: Any, corpus: Corpus, tied: bool, precision: str
) -> None:
    fine, coarse = (
        trained(recipe_of(precision=one, steps=1), corpus, [BottleneckRecorder()], tied=tied).rows
        for one in ("float64", precision)
    )
    for name in NAMES:
        assert coarse[0][name] == pytest.approx(fine[0][name], rel=0.01)


@pytest.mark.parametrize("way", ["factorised", "backward", "head-update"])
@BOTH
def test_it_sees_what_the_head_itself_transmits_in_every_way_of_a_head(
    recipe: TrainingConfig, corpus: Corpus, tied: bool, way: str
) -> None:
    plugs = [*head_plugs(way, 3), BottleneckRecorder(), FlowRecorder()]
    rows = trained(recipe, corpus, plugs, tied=tied).rows
    rank = 3 if way == "factorised" else 12
    assert [row["line"] for row in rows] == pytest.approx([math.sqrt(1 - rank / 48)] * len(rows))
    plain = trained(recipe, corpus, [BottleneckRecorder()], tied=tied).rows
    same = rows[0]["destroyed"] == pytest.approx(plain[0]["destroyed"], rel=1e-6)
    assert same == (way != "factorised")


def test_the_row_is_of_the_matrix_before_the_update(recipe_of: Any, corpus: Corpus) -> None:
    rows = trained(recipe_of(lr=0.5, warmup=0), corpus, [BottleneckRecorder()], tied=False).rows
    slow = trained(recipe_of(lr=1e-9, warmup=0), corpus, [BottleneckRecorder()], tied=False).rows
    assert rows[0]["destroyed"] == slow[0]["destroyed"]
    assert rows[1]["destroyed"] != pytest.approx(slow[1]["destroyed"], rel=1e-3)


def test_a_run_that_loses_its_numbers_is_told_as_any_other(
    recipe: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    spec = RunSpec("run", recipe, False, interventions=(Lost(), BottleneckRecorder()))
    store = train_run(spec, corpus, tmp_path / "run")
    assert store.manifest["diverged"] == 4
    assert math.isnan(store.rows()[-1]["destroyed"])
    assert math.isfinite(store.rows()[0]["destroyed"])


class Lost(Intervention):
    def on_logits(self, logits: Tensor, step: Step) -> Tensor:
        return logits * (float("nan") if step.number == 4 else 1.0)


def test_it_describes_itself_and_is_made_again_from_that() -> None:
    described = BottleneckRecorder(7).to_dict()
    assert described == {"kind": "bottleneck", "positions": 7}
    assert intervention_of(described) == BottleneckRecorder(7)
