"""What a run logs of its logits and of the mean of its output matrix."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.means import mean_share
from embtie_widgets.results.centering import CURVES
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.interventions import Intervention, Step, intervention_of
from embtie_widgets.training.logit_recorder import LogitRecorder
from tests.training.running import trained


class Capped(Intervention):
    """A cap, and what it was given at each step."""

    def __init__(self) -> None:
        self.logits: list[Tensor] = []
        self.outputs: list[Tensor] = []

    def on_logits(self, logits: Tensor, step: Step) -> Tensor:
        self.logits.append(logits.detach().clone())
        self.outputs.append(step.model.get_output_embeddings().weight.detach().clone())
        return 0.01 * torch.tanh(logits / 0.01)


@pytest.fixture
def every_step(recipe: TrainingConfig) -> TrainingConfig:
    return replace(recipe, log_every=1, precision="float64")


@pytest.mark.parametrize("tied", [True, False])
def test_rows_have_all_curves_and_they_are_those_before_cap_and_update(
    every_step: TrainingConfig, corpus: Corpus, tied: bool
) -> None:
    capped = Capped()
    rows = trained(every_step, corpus, [LogitRecorder(), capped], tied=tied).rows
    for row, logits, output in zip(rows, capped.logits, capped.outputs, strict=True):
        assert set(CURVES) <= set(row)
        assert row["logit_mean"] == pytest.approx(float(logits.mean()))
        assert row["logit_max"] == pytest.approx(float(logits.abs().amax(-1).mean()))
        assert row["mu_output"] == pytest.approx(mean_share(output).length)
        assert row["bound_ratio"] == pytest.approx(mean_share(output).bound_ratio)
        assert (row["mu_input"] == row["mu_output"]) is tied


def test_the_mean_logit_is_what_the_mean_row_makes_of_the_hidden_states(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    means: list[float] = []

    class Seen(Intervention):
        splits = True

        def on_gradients(self, step: Step) -> None:
            mu = step.model.get_output_embeddings().weight.detach().mean(0)
            assert step.hidden is not None
            means.append(float((step.hidden @ mu).mean()))

    rows = trained(every_step, corpus, [LogitRecorder(), Seen()], tied=False).rows
    assert [row["logit_mean"] for row in rows] == pytest.approx(means)


def test_the_training_is_left_as_it_is(recipe: TrainingConfig, corpus: Corpus) -> None:
    def weights(*plugs: Intervention) -> dict[str, Any]:
        return dict(trained(recipe, corpus, plugs).run.model.state_dict())

    plain, recorded = weights(), weights(LogitRecorder())
    assert all(torch.equal(plain[name], recorded[name]) for name in plain)


def test_only_logged_steps_are_looked_at(
    recipe: TrainingConfig, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def look(logits: Tensor) -> dict[str, float]:
        looks.append(1)
        return {}

    monkeypatch.setattr("embtie_widgets.training.logit_recorder.logit_numbers", look)
    rows = trained(recipe, corpus, [LogitRecorder()]).rows
    assert len(looks) == len(rows) < recipe.steps


def test_the_mean_is_over_as_many_rows_as_there_are_tokens(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    capped = Capped()
    row = trained(every_step, corpus, [LogitRecorder(tokens=30), capped]).rows[-1]
    output = capped.outputs[-1]
    assert row["mu_output"] == pytest.approx(mean_share(output[:30]).length)
    assert row["mu_output_all"] == pytest.approx(mean_share(output, rows="all").length)


def test_it_describes_itself_and_objects_to_no_rows() -> None:
    assert intervention_of(LogitRecorder(tokens=5).to_dict()) == LogitRecorder(tokens=5)
    with pytest.raises(EmbtieError, match="tokens"):
        LogitRecorder(tokens=0)
