"""`RunRecorder` in a plain loop: what it writes, and that it changes nothing."""

import copy
import gc
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity
from transformers import TrainerCallback

import embtie_widgets as ew
from embtie_widgets.measures.gradient_split import gradient_split
from embtie_widgets.measures.logits import logit_numbers
from embtie_widgets.measures.means import mean_share
from embtie_widgets.results import centering
from embtie_widgets.results.gradient import CURVES
from embtie_widgets.results.groups import BANDS
from embtie_widgets.training.logit_recorder import end_numbers
from embtie_widgets.training.recorder import RunRecorder
from embtie_widgets.training.run_store import RunStore
from tests.training.recorder_models import (
    VOCABULARY,
    expected,
    go_on,
    hooks_in,
    ids_of,
    loss_of,
    model_of,
    train,
)


def test_it_is_a_callback_of_transformers() -> None:
    assert issubclass(ew.RunRecorder, TrainerCallback)


def test_the_rows_have_the_shares_of_each_step(tmp_path: Path) -> None:
    model = model_of(dtype=torch.float64)
    own, other = expected(model, ids_of(seed=1))
    proxy = gradient_split(model, ids_of(seed=1)).proxy_norm
    store, _ = train(model, tmp_path / "run")
    row = store.rows()[0]
    total = own + other
    assert row["proxy_norm"] == pytest.approx(proxy)
    assert row["input_norm"] == pytest.approx(float(own.norm()))
    assert row["output_norm"] == pytest.approx(float(other.norm()))
    assert row["total_norm"] == pytest.approx(float(total.norm()))
    share = float((other * total).sum() / total.square().sum())
    assert row["output_share"] == pytest.approx(share)
    assert row["check"] < 1e-12


def test_clipping_comes_after_what_is_recorded(tmp_path: Path) -> None:
    model = model_of()
    store, _ = train(model, tmp_path / "run", steps=1)
    assert store.rows()[0]["total_norm"] > 0.2  # the loop clips all gradients together at 0.1


def test_the_steps_at_the_interval_are_recorded_and_the_first(tmp_path: Path) -> None:
    store, _ = train(model_of(), tmp_path / "run", steps=8, every=3)
    assert [row["step"] for row in store.rows()] == [1, 3, 6]
    assert store.manifest["done"] == 8


def test_known_names_are_those_of_the_results(tmp_path: Path) -> None:
    store, _ = train(model_of(), tmp_path / "run")
    run = store.flow_run()
    missing = {name for name in CURVES if not name.startswith("update")} - set(run.curves)
    assert not missing
    assert run.tied is True
    assert run.about["rows"] == VOCABULARY


@pytest.mark.parametrize("tied", [True, False])
def test_training_is_the_same_to_the_last_bit(tied: bool, tmp_path: Path) -> None:
    watched = model_of("llama", tied=tied)
    alone = copy.deepcopy(watched)
    torch.manual_seed(5)
    train(watched, tmp_path / "run", every=2)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    go_on(alone, torch.optim.AdamW(alone.parameters(), lr=1e-2), None, range(1, 5))
    assert torch.equal(drawn, torch.rand(3))
    pairs = zip(watched.parameters(), alone.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_no_hook_is_left_between_recorded_steps_or_afterwards(tmp_path: Path) -> None:
    model = model_of("llama")
    before = hooks_in(model)
    recorder = RunRecorder(tmp_path / "run", every=3).attach(model)
    assert hooks_in(model) > before
    loss_of(model, ids_of()).backward()
    recorder.observe()
    assert hooks_in(model) == before  # step 2 is not recorded
    recorder.observe()
    assert hooks_in(model) > before  # step 3 is
    recorder.detach()
    assert hooks_in(model) == before


def test_matrices_are_described_as_they_were_before_the_update(tmp_path: Path) -> None:
    model = model_of("llama", tied=False)
    store, _ = train(model, tmp_path / "run", checkpoints=[1, 2, 3])
    kept = {one.step: one for one in store.checkpoints()}
    row = store.rows()[3]
    assert row["mu_output"] == pytest.approx(mean_share(kept[3].output).length, rel=1e-5)
    lengths = kept[3].input.norm(dim=1)
    assert row["row_norm_input"] == pytest.approx(float(lengths.mean()), rel=1e-5)
    for role in ("input", "output"):
        now, first = getattr(kept[3], role), getattr(kept[0], role)
        turned = float(cosine_similarity(now.double(), first.double()).mean())
        assert row[f"{role}_to_first"] == pytest.approx(turned, abs=1e-6)
    assert row["input_to_previous"] == pytest.approx(1.0)
    assert row["since"] == 0


def test_logits_are_described(tmp_path: Path) -> None:
    model, ids = model_of("llama"), ids_of(seed=1)
    with torch.no_grad():
        logits = model(input_ids=ids).logits
    store, _ = train(model, tmp_path / "run", steps=1)
    row = store.rows()[0]
    assert row["logit_mean"] == pytest.approx(float(logits.mean()), abs=1e-5)
    assert row["logit_std"] == pytest.approx(float(logits.std(-1, correction=0).mean()), rel=1e-4)
    assert row["logit_max"] == pytest.approx(float(logits.abs().amax(-1).mean()), rel=1e-5)


@pytest.mark.parametrize("tied", [True, False])
def test_logits_and_means_are_those_that_runs_trained_here_log(tmp_path: Path, tied: bool) -> None:
    model, ids = model_of("gemma2", tied=tied), ids_of(seed=1)
    with torch.no_grad():
        hidden = model.model(input_ids=ids).last_hidden_state
        before_the_cap = model.lm_head(hidden)
    E, U = (end().weight for end in (model.get_input_embeddings, model.get_output_embeddings))
    wanted = logit_numbers(before_the_cap) | end_numbers(E, U, None)
    assert set(wanted) > set(centering.CURVES) - {"step", "loss", "lr", "gradient_norm"}
    store, _ = train(model, tmp_path / "run", steps=1)
    row = store.rows()[0]
    assert {name: row[name] for name in wanted} == pytest.approx(wanted, rel=1e-4)


def test_rows_without_token_take_no_part_in_the_mean(tmp_path: Path) -> None:
    tokens = [b"%d" % i for i in range(50)] + [None] * 10
    model = model_of()
    wanted = mean_share(model.get_output_embeddings().weight[:50].detach().clone())
    store, _ = train(model, tmp_path / "run", steps=1, tokens=tokens)
    row = store.rows()[0]
    assert row["mu_output"] == pytest.approx(wanted.length, rel=1e-5)
    assert row["mu_output_all"] != pytest.approx(wanted.length, rel=1e-3)


def test_checkpoints_double_their_distance_unless_steps_are_named(tmp_path: Path) -> None:
    steps = {
        (): [0, 1, 2, 4, 6],
        ("checkpoints", 4): [0, 4, 6],
        ("checkpoints", (3,)): [0, 3, 6],
    }
    for number, (given, kept) in enumerate(steps.items()):
        options = dict([given]) if given else {}
        store, _ = train(model_of(), tmp_path / str(number), steps=6, **options)
        assert store.steps() == kept


def test_a_checkpoint_has_the_matrices_after_its_step(tmp_path: Path) -> None:
    model, alone = model_of(), model_of()
    store, _ = train(model, tmp_path / "run", steps=4, checkpoints=[2])
    go_on(alone, torch.optim.AdamW(alone.parameters(), lr=1e-2), None, range(1, 3))
    assert torch.equal(store.checkpoint(2).input, alone.get_input_embeddings().weight)
    assert torch.equal(store.checkpoint(4).input, model.get_input_embeddings().weight)


@pytest.mark.parametrize("tied", [True, False])
def test_the_folder_can_be_loaded_as_a_model_with_checkpoints(tied: bool, tmp_path: Path) -> None:
    model = model_of("llama", tied=tied)
    model.config._name_or_path = "/a/place/of/mine"
    train(model, tmp_path / "run", checkpoints=2)
    series = ew.load_series(str(tmp_path / "run"))
    assert [revision.step for revision in series.revisions] == [0, 2, 4]
    assert series.loaded[0].tied == ("tied" if tied else "untied")
    assert "place" not in (tmp_path / "run" / "config.json").read_text()


def test_numbers_per_token_are_kept_with_texts_counts_and_bands(tmp_path: Path) -> None:
    counts = np.arange(VOCABULARY)
    tokens = [f"t{row}" for row in range(VOCABULARY)]
    model = model_of(dtype=torch.float64)
    own, _ = expected(model, ids_of(seed=1))
    store, _ = train(model, tmp_path / "run", steps=1, counts=counts, tokens=tokens)
    values = store.row_values()
    np.testing.assert_allclose(values["input"], own.norm(dim=1).numpy(), rtol=1e-6)
    present = np.isin(np.arange(VOCABULARY), ids_of(seed=1).numpy())
    assert values["times"].tolist() == present.astype(int).tolist()
    assert store.tokens()[3] == b"t3"
    assert store.counts().tolist() == counts.tolist()
    names, curves = store.bands()
    assert names == tuple(BANDS)
    squares = np.nansum(curves["input_norm"][0] ** 2)
    assert squares == pytest.approx(store.rows()[0]["input_norm"] ** 2)
    (middle,) = [i for i, (low, _) in enumerate(BANDS.values()) if low == 10]
    band = float(own[10:100].norm())
    assert curves["input_norm"][0][middle] == pytest.approx(band)


def test_frozen_embeddings_leave_a_row_without_parts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = model_of()
    model.get_input_embeddings().weight.requires_grad_(False)
    store, _ = train(model, tmp_path / "run", steps=1)
    row = store.rows()[0]
    assert "input_norm" not in row
    assert row["loss"] > 0
    assert math.isfinite(row["logit_mean"])
    assert not caplog.records


def test_a_run_is_gone_on_with(tmp_path: Path) -> None:
    model, whole = model_of(), model_of()
    at_once, _ = train(whole, tmp_path / "whole", steps=6)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    folder = tmp_path / "run"
    recorder = RunRecorder(folder, every=1).attach(model, optimizer)
    go_on(model, optimizer, recorder, range(1, 4))
    saved = copy.deepcopy((model, optimizer.state_dict()))
    go_on(model, optimizer, recorder, range(4, 6))  # lost in a crash
    recorder.detach()
    model, state = saved
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    optimizer.load_state_dict(state)
    recorder = RunRecorder(folder, every=1).attach(model, optimizer, done=3)
    assert [row["step"] for row in RunStore.open(folder).rows()] == [1, 2, 3]
    assert RunStore.open(folder).steps()[-1] <= 3
    go_on(model, optimizer, recorder, range(4, 7))
    recorder.detach()
    found, wanted = RunStore.open(folder), at_once
    names = {"step", "loss", "output_share", "input_to_first"}
    for row, right in zip(found.rows(), wanted.rows(), strict=True):
        assert {k: row[k] for k in names} == {k: right[k] for k in names}
    assert found.steps()[0] == 0
    assert found.manifest["state"] == "done"
    assert found.row_values()["times"].max() <= 3
    assert "after step 3: numbers per token" in found.notes()[0]


def test_a_run_that_is_there_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, _ = train(model_of(), tmp_path / "run", steps=1)
    again, recorder = train(model_of(), tmp_path / "run", steps=2)
    assert len(first.rows()) == 1
    assert recorder.folder == tmp_path / "run-2"
    assert len(again.rows()) == 2
    assert "holds a run already" in caplog.text


def test_going_on_leaves_an_earlier_run_of_the_folder_alone(tmp_path: Path) -> None:
    first, _ = train(model_of(), tmp_path / "run", steps=4)
    second, _ = train(model_of(), tmp_path / "run", steps=2)
    recorder = RunRecorder(tmp_path / "run", every=1).attach(model_of(), done=1)
    recorder.detach()
    assert recorder.folder == second.folder == tmp_path / "run-2"
    assert [row["step"] for row in first.rows()] == [1, 2, 3, 4]
    assert [row["step"] for row in second.rows()] == [1]


def test_a_loop_that_ends_without_a_word_leaves_a_stopped_run(tmp_path: Path) -> None:
    model = model_of()
    before = hooks_in(model)
    recorder = RunRecorder(tmp_path / "run", every=1).attach(model)
    loss_of(model, ids_of()).backward()
    recorder.observe()
    assert RunStore.open(tmp_path / "run").manifest["state"] == "running"
    del recorder
    gc.collect()
    assert RunStore.open(tmp_path / "run").manifest["state"] == "stopped"
    assert hooks_in(model) == before


@pytest.mark.parametrize(
    "options",
    [
        {"every": 0},
        {"every": 2.5},
        {"checkpoints": "often"},
        {"checkpoints": 0},
        {"checkpoints": [1, -2]},
        {"checkpoints": 1.5},
        {"name": ""},
    ],
)
def test_odd_arguments_are_refused_in_words(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ew.EmbtieError, match="expected"):
        RunRecorder(tmp_path / "run", **options)


def test_a_folder_that_cannot_be_written_is_refused_before_the_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ew.EmbtieError, match="is a file or lies in one"):
        RunRecorder(tmp_path / "file" / "run")


def test_observing_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ew.EmbtieError, match="No model is attached"):
        RunRecorder(tmp_path / "run").observe()


def test_a_model_without_embeddings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ew.EmbtieError, match="no input embedding"):
        RunRecorder(tmp_path / "run").attach(torch.nn.Linear(3, 3))


@pytest.mark.parametrize("model", [None, "nano-tied"])
def test_what_is_no_loaded_model_is_refused(model: Any, tmp_path: Path) -> None:
    with pytest.raises(ew.EmbtieError, match="not a model"):
        RunRecorder(tmp_path / "run").attach(model)


def test_the_run_of_another_model_is_not_gone_on_with(tmp_path: Path) -> None:
    first, _ = train(model_of(), tmp_path / "run", steps=2)
    recorder = RunRecorder(tmp_path / "run").attach(model_of("llama", tied=False), done=1)
    recorder.detach()
    assert recorder.folder == tmp_path / "run-2"
    assert (first.manifest["tied"], len(first.rows())) == (True, 2)


def test_counts_of_another_vocabulary_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ew.EmbtieError, match="one count for each row"):
        RunRecorder(tmp_path / "run", counts=[1, 2, 3]).attach(model_of())
