"""The recorder of the two paths: what it writes, what it leaves alone, and when it objects."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.results.gradient import BAND_CURVES, CURVES, ROW_VALUES
from embtie_widgets.results.groups import BANDS
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run, build_model
from embtie_widgets.training.flow import FlowRecorder
from embtie_widgets.training.interventions import (
    InputScaling,
    Intervention,
    Step,
    intervention_of,
)
from embtie_widgets.training.runs import RunSpec, train_run
from tests.training.running import trained


class Noted(Intervention):
    """Keeps the parts of each step, and what the optimiser holds after it."""

    splits = True

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.first: list[Any] = []

    def on_gradients(self, step: Step) -> None:
        self.parts.append([part.double().clone() for part in step.parts])

    def after_step(self, step: Step) -> None:
        weight = step.model.get_input_embeddings().weight
        self.first.append(step.optimiser.state[weight]["exp_avg"].clone())


@pytest.fixture
def every_step(recipe: TrainingConfig) -> TrainingConfig:
    return replace(recipe, log_every=1, precision="float64")


def test_each_row_has_the_curves_of_its_gradient(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    noted = Noted()
    rows = trained(every_step, corpus, [FlowRecorder(), noted]).rows
    assert len(rows) == len(noted.parts) == 6
    for row, (g_in, g_out) in zip(rows, noted.parts, strict=True):
        assert set(CURVES) <= set(row)
        total = g_in + g_out
        assert row["input_norm"] == pytest.approx(float(g_in.norm()))
        assert row["output_norm"] == pytest.approx(float(g_out.norm()))
        assert row["total_norm"] == pytest.approx(float(total.norm()))
        share = float((g_out * total).sum() / total.norm() ** 2)
        assert row["output_share"] == pytest.approx(share)
        assert row["check"] < 1e-12


def test_the_proxy_is_larger_or_smaller_where_tokens_repeat(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    once = Corpus(np.tile(np.arange(48), 12).astype(np.int64))
    # In a batch of one, 8 different ids: nothing is added up.
    for text, batch, equal in ((corpus, 3, False), (once, 1, True)):
        rows = trained(replace(every_step, batch=batch), text, [FlowRecorder()]).rows
        same = [row["proxy_norm"] == pytest.approx(row["input_norm"], rel=1e-9) for row in rows]
        assert all(same) if equal else not all(same)
        assert all(
            row["proxy_share"]
            == pytest.approx(row["output_norm"] / (row["proxy_norm"] + row["output_norm"]))
            for row in rows
        )


def test_the_first_moment_is_kept_apart_by_the_way_it_came(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    flow, noted = FlowRecorder(), Noted()
    config = replace(every_step, clip=0.01)  # every step is clipped
    run = Run(config, build_model(config, tied=True, seed=1), corpus, "tied", [flow, noted])
    by_way = torch.zeros(2, 48, 12, dtype=torch.float64)
    for _ in range(config.steps):
        row = run.advance()
        clip = 0.01 / (row["gradient_norm"] + 1e-6)
        assert clip < 1
        by_way = 0.9 * by_way + 0.1 * clip * torch.stack(noted.parts[-1])
        assert torch.allclose(by_way.sum(0), noted.first[-1], rtol=1e-12, atol=1e-18)
        assert torch.allclose(flow.state_dict()["moment"], by_way[0], rtol=1e-12, atol=1e-18)
        assert 0 < row["update_norm_share"] < 1


def test_updates_are_those_that_the_matrix_makes(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    config = replace(every_step, steps=1, warmup=0, weight_decay=0.0)
    run = Run(config, build_model(config, tied=True, seed=1), corpus, "tied", [FlowRecorder()])
    weight = run.model.get_input_embeddings().weight
    before = weight.detach().clone()
    row = run.advance()
    moved = float((weight.detach() - before).norm())
    a, b = row["update_input_norm"], row["update_output_norm"]
    # |D|^2 = |D_in|^2 + |D_out|^2 + 2 <D_in, D_out>, with <D_out, D> = share |D|^2.
    inner = row["update_share"] * moved**2 - b**2
    assert moved**2 == pytest.approx(a**2 + b**2 + 2 * inner)


@pytest.mark.parametrize("tied", [True, False])
def test_recording_changes_no_bit_of_the_training(
    every_step: TrainingConfig, corpus: Corpus, tied: bool
) -> None:
    plain = trained(every_step, corpus, tied=tied)
    watched = trained(every_step, corpus, [FlowRecorder(corpus.counts(48))], tied=tied)
    for row, other in zip(plain.rows, watched.rows, strict=True):
        assert row.items() <= other.items()


def test_of_an_untied_model_the_updates_are_those_of_its_two_matrices(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    config = replace(every_step, steps=1, warmup=0, weight_decay=0.0)
    model = build_model(config, tied=False, seed=1)
    run = Run(config, model, corpus, "untied", [FlowRecorder()])
    ends = [run.model.get_input_embeddings().weight, run.model.get_output_embeddings().weight]
    before = [end.detach().clone() for end in ends]
    row = run.advance()
    moved = [float((end.detach() - old).norm()) for end, old in zip(ends, before, strict=True)]
    assert [row["update_input_norm"], row["update_output_norm"]] == pytest.approx(moved)
    assert row["check"] < 1e-12


def test_bands_and_rows_are_those_of_the_text(every_step: TrainingConfig, corpus: Corpus) -> None:
    counts = corpus.counts(50)
    flow = FlowRecorder(counts)
    config = replace(every_step, model={**every_step.model, "vocab_size": 50})
    rows = trained(config, corpus, [flow]).rows
    found = flow.row_values()
    assert set(found) == set(ROW_VALUES)
    assert found["times"].max() <= 6
    absent = found["times"] == 0
    assert absent[48:].all()
    assert not found["input"][absent].any()
    assert (found["output_share"][absent] == 1).all()
    for row in rows:
        assert set(row["by_band"]) == set(BAND_CURVES)
        squares = sum(value**2 for value in row["by_band"]["input_norm"])
        assert squares == pytest.approx(row["input_norm"] ** 2)
        assert len(row["by_band"]["output_share"]) == len(BANDS)
    squares = np.mean([row["output_norm"] ** 2 for row in rows])
    assert (found["output"] ** 2).sum() == pytest.approx(squares)


def test_scaling_the_input_scales_its_part_alone(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    config = replace(every_step, steps=1)
    plain = trained(config, corpus, [FlowRecorder()]).rows[0]
    scaled = trained(config, corpus, [InputScaling(5.0), FlowRecorder()]).rows[0]
    assert scaled["output_norm"] == pytest.approx(plain["output_norm"], rel=1e-12)
    for name in ("input_norm", "proxy_norm"):
        assert scaled[name] == pytest.approx(5 * plain[name], rel=1e-12)
    assert scaled["check"] < 1e-12


def test_an_embedding_that_multiplies_its_rows_stands_the_check(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    model = {
        "model_type": "gemma3_text", "vocab_size": 48, "hidden_size": 12, "head_dim": 6,
        "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 1, "max_position_embeddings": 16, "pad_token_id": 3,
    }  # fmt: skip
    rows = trained(replace(every_step, model=model), corpus, [FlowRecorder()]).rows
    assert all(row["check"] < 1e-5 for row in rows)


def test_bfloat16_products_stand_a_rougher_check(recipe: TrainingConfig, corpus: Corpus) -> None:
    config = replace(recipe, log_every=1, precision="bfloat16")
    rows = trained(config, corpus, [FlowRecorder()]).rows
    assert all(1e-6 < row["check"] < 0.05 for row in rows)


def test_parts_that_fail_the_check_are_told_with_their_step(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    class Wrong(Intervention):
        splits = True

        def on_gradients(self, step: Step) -> None:
            if step.number == 3:
                step.parts.output.mul_(1.25)

    with pytest.raises(EmbtieError, match=r"At step 3 .* off by 0.25 of their size"):
        trained(every_step, corpus, [Wrong(), FlowRecorder()])


def test_a_training_that_diverges_is_recorded_to_its_end(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    class Breaks(Intervention):
        def after_step(self, step: Step) -> None:
            if step.number == 3:
                with torch.no_grad():
                    step.model.get_input_embeddings().weight.fill_(float("nan"))

    rows = trained(every_step, corpus, [Breaks(), FlowRecorder()]).rows
    assert len(rows) == 6
    assert np.isnan(rows[-1]["output_norm"])


def test_other_optimisers_have_no_parts_of_an_update(
    every_step: TrainingConfig, corpus: Corpus
) -> None:
    class Plain(Intervention):
        def on_optimiser(self, optimiser: Any) -> Any:
            return torch.optim.SGD(optimiser.param_groups[0]["params"], lr=0.1)

    row = trained(every_step, corpus, [Plain(), FlowRecorder()]).rows[-1]
    assert "output_share" in row
    assert not any(name.startswith("update") for name in row)


def test_a_broken_off_run_goes_on_to_the_same_numbers(
    every_step: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    def spec() -> RunSpec:
        return RunSpec("tied", every_step, True, interventions=(FlowRecorder(corpus.counts(48)),))

    def stop(_stage: str, done: int, _total: int) -> None:
        if done == 3:
            raise Cancelled

    whole = train_run(spec(), corpus, tmp_path / "whole")
    with pytest.raises(Cancelled):
        train_run(spec(), corpus, tmp_path / "broken", progress=stop)
    again = train_run(spec(), corpus, tmp_path / "broken")
    assert again.rows() == whole.rows()
    for name, values in whole.row_values().items():
        assert np.array_equal(again.row_values()[name], values, equal_nan=True)


def test_it_describes_itself_and_is_made_again() -> None:
    described = FlowRecorder(np.arange(5)).to_dict()
    assert described == {"kind": "flow"}
    assert isinstance(intervention_of(described), FlowRecorder)


def test_only_logged_steps_are_summed(recipe: TrainingConfig, corpus: Corpus) -> None:
    flow = FlowRecorder()
    rows = trained(recipe, corpus, [flow]).rows
    assert [row["step"] for row in rows] == [1, 2, 4, 6]
    assert flow.state_dict()["steps"] == 4
