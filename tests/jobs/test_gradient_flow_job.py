"""The gradient flow carried out end to end: trained here, split on a text, recorded elsewhere."""

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import following, gradient_text, training_runs
from embtie_widgets.jobs.gradient_flow import look_up
from embtie_widgets.jobs.training_plan import open_plan
from embtie_widgets.requests import CorpusRef, GradientFlowRequest
from embtie_widgets.requests.code import to_code
from embtie_widgets.results.gradient import CURVES, ROW_VALUES, GradientFlow
from embtie_widgets.results.groups import BANDS, KINDS
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.sources.models import let_go, open_model
from embtie_widgets.training.flow import FlowRecorder
from embtie_widgets.training.run_store import RunStore
from tests.jobs.lens_models import write_model
from tests.jobs.trainings import Ear, small, write_text

STEPS = 6


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Documents enough for one of them to be held out."""
    return write_text(tmp_path)


@pytest.fixture
def train(tmp_path: Path) -> GradientFlowRequest:
    """Twins of 300 tokens, trained in a second."""
    return GradientFlowRequest(**small(tmp_path), steps=STEPS)


BOTH = "training 2 models"


def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("something was trained")

    monkeypatch.setattr(training_runs, "train_run", refuse)


def test_both_twins_are_trained_and_split_the_tied_one_first(train: GradientFlowRequest) -> None:
    heard = Ear()
    result = ew.run(train, progress=heard)
    assert list(result.runs) == ["tied", "untied"]
    assert [run.tied for run in result.runs.values()] == [True, False]
    assert (result.failed, result.progress, result.settings["cached"]) == ({}, "", False)
    for run in result.runs.values():
        assert set(run.curves) == set(CURVES)
        assert run.curves["step"].tolist() == [1, 2, 3, 4, 5, 6]
        assert (run.curves["check"] < 1e-4).all()
        assert all(run.by_band[name].shape == (STEPS, len(BANDS)) for name in run.by_band)
        assert set(run.rows) == set(ROW_VALUES)
        assert all(values.shape == (len(result.tokens),) for values in run.rows.values())
    assert heard.parts[0].progress == "1 of 6 steps of the tied run"
    assert list(heard.parts[0].runs) == ["tied"]
    assert list(heard.parts[-1].runs) == ["tied", "untied"]


def test_the_parts_of_the_tied_gradient_are_one_gradient(train: GradientFlowRequest) -> None:
    curves = ew.run(train).runs["tied"].curves
    own, other, cosine = curves["input_norm"], curves["output_norm"], curves["cosine"]
    np.testing.assert_allclose(
        curves["total_norm"] ** 2, own**2 + other**2 + 2 * own * other * cosine, rtol=1e-5
    )
    share = (other**2 + own * other * cosine) / curves["total_norm"] ** 2
    np.testing.assert_allclose(curves["output_share"], share, rtol=1e-5)


def test_what_is_known_of_tokens_is_of_the_training_text(train: GradientFlowRequest) -> None:
    result, plan = ew.run(train), open_plan(train)
    assert len(result.tokens) == len(result.kinds) == len(result.token_counts) <= 300
    assert result.token_counts.sum() == len(plan.corpus.ids)
    place = result.tokens.index(b" w")
    assert result.token_counts[place] == (plan.corpus.ids == place).sum() > 0
    assert result.kinds[result.tokens.index(b"<|endoftext|>")] == list(KINDS).index("special")
    assert {group["group"] for group in result.groups} >= {"special", "continuation", "0 times"}
    assert all({"tied", "untied"} <= set(group) for group in result.groups)
    assert result.hashes["text"] == plan.corpus.sha256


def test_the_same_request_is_answered_without_training(
    train: GradientFlowRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ew.run(train)
    no_training(monkeypatch)
    again = ew.run(train)
    assert again.settings == first.settings | {"cached": True}
    assert np.array_equal(again.runs["tied"].curves["loss"], first.runs["tied"].curves["loss"])


def test_a_run_that_another_panel_trained_is_not_trained_again(
    train: GradientFlowRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = open_plan(train)
    for name in ("untied", "tied"):
        plan.run(plan.spec(name))
    no_training(monkeypatch)
    result = ew.run(train)
    assert list(result.runs) == ["tied", "untied"]
    assert result.settings["cached"]


def test_a_split_that_fails_its_check_is_withheld_and_the_other_run_shown(
    train: GradientFlowRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = FlowRecorder.on_gradients

    def wrong(self: FlowRecorder, step: Any) -> None:
        if step.run == "tied" and step.number == 3:
            step.parts.output.mul_(1.5)
        record(self, step)

    monkeypatch.setattr(FlowRecorder, "on_gradients", wrong)
    result = ew.run(train)
    assert list(result.runs) == ["untied"]
    assert "At step 3" in result.failed["tied"]
    monkeypatch.setattr(FlowRecorder, "on_gradients", record)
    again = ew.run(train)
    assert (list(again.runs), again.failed) == (["tied", "untied"], {})
    assert len(again.runs["tied"].curves["step"]) == STEPS


def test_a_cancelled_training_goes_on_where_it_stopped(train: GradientFlowRequest) -> None:
    with pytest.raises(Cancelled):
        ew.run(train, progress=Ear(lambda stage, done: stage == BOTH and done == STEPS + 2))
    heard = Ear()
    result = ew.run(train, progress=heard)
    assert not {BOTH, "building tied", "training tied"} & set(heard.stages)
    assert heard.parts[0].progress == "3 of 6 steps of the untied run"
    assert len(result.runs["untied"].curves["step"]) == STEPS


def test_steps_are_logged_as_seldom_as_asked_for(train: GradientFlowRequest) -> None:
    result = ew.run(replace(train, every=4))
    assert result.runs["tied"].curves["step"].tolist() == [1, 4, 6]


def test_a_result_comes_back_whole_from_its_bytes(train: GradientFlowRequest) -> None:
    result = ew.run(train)
    again = from_bytes(to_bytes(result))
    assert again.facts() == result.facts()
    assert again.to_frame().equals(result.to_frame())
    assert (again.tokens, again.groups) == (result.tokens, result.groups)
    assert np.array_equal(again.runs["tied"].rows["input"], result.runs["tied"].rows["input"])


def test_the_code_of_a_request_makes_it_again(train: GradientFlowRequest) -> None:
    result, names = ew.run(train), {}
    exec(to_code(train), names)
    assert names["result"].settings == result.settings | {"cached": True}
    share = float(result.runs["tied"].curves["output_share"].mean())
    said = f"FlowRun(6 steps, output_share {share:.3f}"
    assert said in repr(result).splitlines()[1], "what the code prints can be read"


def split_on(text: Path, model: str, **changes: Any) -> GradientFlowRequest:
    request = GradientFlowRequest(
        source="text", model=model, corpus=CorpusRef(str(text)), batches=3, batch=2, length=16
    )
    return replace(request, **changes)


@pytest.fixture
def model(tmp_path: Path) -> str:
    return write_model(tmp_path / "model", tied=True)


def test_a_loaded_model_is_split_batch_by_batch(text: Path, model: str) -> None:
    heard = Ear()
    request = split_on(text, model)
    result = ew.run(request, progress=heard)
    ((name, run),) = result.runs.items()
    assert (name, run.tied) == ("model", True)
    assert run.curves["step"].tolist() == [1, 2, 3]
    assert set(run.curves) >= {"loss", "output_share", "norm_share", "proxy_norm", "check"}
    assert heard.parts[0].progress == "1 of 3 batches"
    assert run.rows["times"].max() == 3
    unread = run.rows["times"] == 0
    assert (run.rows["input"][unread] == 0).all()
    assert any("counted in the text" in note for note in result.notes)
    again = ew.run(request)
    assert again.settings["cached"]


def test_a_batch_gives_what_a_split_by_hand_gives(text: Path, model: str) -> None:
    result = ew.run(split_on(text, model, batches=1))
    seen: list[torch.Tensor] = []
    opened = open_model(model)
    with pytest.MonkeyPatch.context() as patch:
        real = gradient_text.gradient_split
        patch.setattr(
            gradient_text, "gradient_split",
            lambda m, ids, labels: (seen.extend([ids, labels]), real(m, ids, labels))[1],
        )  # fmt: skip
        patch.setenv("EMBTIE_CACHE", "off")
        ew.run(split_on(text, model, batches=1))
    ids, labels = seen
    weight = opened.model.get_input_embeddings().weight
    weight.requires_grad_(True)
    try:
        loss = opened.model(input_ids=ids, labels=labels).loss
        (whole,) = torch.autograd.grad(loss, weight)
    finally:
        weight.requires_grad_(False)
    (run,) = result.runs.values()
    assert run.curves["loss"][0] == pytest.approx(loss.item(), rel=1e-5)
    assert run.curves["total_norm"][0] == pytest.approx(float(whole.norm()), rel=1e-4)


def test_padding_behind_a_short_piece_counts_for_nothing(tmp_path: Path, model: str) -> None:
    text = tmp_path / "short.txt"
    text.write_text("w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19")
    result = ew.run(split_on(text, model, batch=4, batches=1))
    (run,) = result.runs.values()
    assert run.rows["times"][0] == 0, "the id that fills is no token of the text"
    assert run.rows["input"][0] == 0


def test_a_model_that_changed_is_split_again(text: Path, tmp_path: Path, model: str) -> None:
    first = ew.run(split_on(text, model))
    let_go()
    write_model(tmp_path / "model", tied=True, seed=5)
    second = ew.run(split_on(text, model))
    assert not second.settings["cached"]
    assert second.hashes["model"] != first.hashes["model"]


def test_a_result_of_the_shipped_text_is_found_without_work() -> None:
    request = GradientFlowRequest(source="text", batches=1, batch=1, length=32)
    assert look_up(request) is None
    ew.run(request)
    found = look_up(request)
    assert found is not None
    assert found.settings["cached"]
    assert look_up(replace(request, source="train")) is None


def row(step: int, **more: Any) -> dict[str, Any]:
    return {"step": step, "loss": 5.0 / step, "input_norm": 1.0, "output_norm": 2.0, **more}


def recorded(folder: Path, steps: int, state: str = "done", name: str = "mine") -> RunStore:
    store = RunStore.create(folder, name=name, tied=True, of=10, hashes={"corpus": "abc"})
    for step in range(1, steps + 1):
        store.append(row(step))
    store.save_rows(
        {"norm_share": np.array([0.5, 0.25])}, counts=np.array([3, 0]), tokens=[b" a", b"<s>"]
    )
    store.set_state(state, steps)
    return store


def test_a_recorded_run_is_shown_with_its_tokens(tmp_path: Path) -> None:
    recorded(tmp_path / "run", 4)
    result = ew.run(GradientFlowRequest(source="run", file=str(tmp_path / "run")))
    assert result.runs["mine"].curves["output_norm"].tolist() == [2.0] * 4
    assert result.tokens == (b" a", b"<s>")
    assert result.token_counts.tolist() == [3, 0]
    assert [list(KINDS)[code] for code in result.kinds] == ["word start", "special"]
    assert result.hashes == {"mine corpus": "abc"}
    assert (result.progress, result.settings["cached"]) == ("", False)


def test_a_run_is_followed_while_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.01)
    store = recorded(tmp_path / "run", 2, "running")
    more = threading.Event()

    def write() -> None:
        for step in range(3, 6):
            assert more.wait(30)
            more.clear()
            store.append(row(step))
        assert more.wait(30)
        store.set_state("done", 5)

    writer = threading.Thread(target=write)
    writer.start()

    class Reader(Ear):
        def partial(self, result: GradientFlow) -> None:
            super().partial(result)
            more.set()

    heard = Reader()
    result = ew.run(GradientFlowRequest(source="run", file=str(tmp_path / "run")), progress=heard)
    writer.join(30)
    assert [len(part.runs["mine"].curves["step"]) for part in heard.parts] == [2, 3, 4, 5]
    assert heard.parts[0].progress == "2 steps so far"
    assert len(result.runs["mine"].curves["step"]) == 5
    assert result.progress == ""


def test_of_a_run_without_a_known_end_no_end_is_foretold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.01)
    store = recorded(tmp_path / "run", 3, "running")
    store.set_state("running", 3, of=None)
    told: list[tuple[str, int, int]] = []

    def hear(stage: str, done: int, total: int) -> None:
        told.append((stage, done, total))
        store.set_state("done", 3)

    ew.run(GradientFlowRequest(source="run", file=str(tmp_path / "run")), progress=hear)
    assert ("following mine, 3 steps so far", 0, 1) in told


def test_a_run_whose_writer_is_gone_is_shown_as_it_stands(tmp_path: Path) -> None:
    import os

    store = recorded(tmp_path / "run", 3, "running")
    long_ago = time.time() - 3_600
    os.utime(store.folder / "metrics.jsonl", (long_ago, long_ago))
    result = ew.run(GradientFlowRequest(source="run", file=str(tmp_path / "run")))
    assert len(result.runs["mine"].curves["step"]) == 3
    assert "nothing has been written for 60 minutes" in result.notes[0]


def test_following_can_be_cancelled(tmp_path: Path) -> None:
    recorded(tmp_path / "run", 3, "running")
    with pytest.raises(Cancelled):
        ew.run(
            GradientFlowRequest(source="run", file=str(tmp_path / "run")),
            progress=Ear(lambda *_: True),
        )


def test_twins_lie_in_one_folder(tmp_path: Path) -> None:
    recorded(tmp_path / "twins" / "tied", 3, name="run")
    recorded(tmp_path / "twins" / "untied", 2, name="run")
    (tmp_path / "twins" / "notes").mkdir()
    result = ew.run(GradientFlowRequest(source="run", file=str(tmp_path / "twins")))
    assert {name: len(run.curves["step"]) for name, run in result.runs.items()} == {
        "tied": 3,
        "untied": 2,
    }


def test_of_more_runs_than_are_shown_the_rest_is_told(tmp_path: Path) -> None:
    for number in range(following.MOST_RUNS + 1):
        recorded(tmp_path / "runs" / f"run-{number}", 1)
    result = ew.run(GradientFlowRequest(source="run", file=str(tmp_path / "runs")))
    assert len(result.runs) == following.MOST_RUNS
    assert result.notes == ("The folder holds 9 runs; the first 8 by name are shown.",)


def test_a_run_without_a_gradient_is_told_apart(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "twins" / "plain", name="plain", tied=True, of=1)
    store.append({"step": 1, "loss": 3.0})
    store.set_state("done", 1)
    with pytest.raises(EmbtieError, match="no gradient"):
        ew.run(GradientFlowRequest(source="run", file=str(store.folder)))
    recorded(tmp_path / "twins" / "tied", 3)
    result = ew.run(GradientFlowRequest(source="run", file=str(tmp_path / "twins")))
    assert "no gradient" in result.failed["plain"]
    assert list(result.runs) == ["tied"]


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    for file in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(EmbtieError, match="no folder of a run"):
            ew.run(GradientFlowRequest(source="run", file=str(file)))


def test_a_public_page_trains_within_bounds(
    train: GradientFlowRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    monkeypatch.setenv("EMBTIE_PUBLIC", "1")
    bounds = {"`steps` is at most 2,000": {"steps": 2_001}, "8,192 tokens": {"batch": 65}}
    for told, much in bounds.items():
        with pytest.raises(EmbtieError, match=told):
            ew.run(GradientFlowRequest(**much))
    with pytest.raises(EmbtieError, match="laid out"):
        ew.run(train)


def test_a_shared_page_shows_no_run_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(tmp_path / "runs" / "run", 3)
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    with pytest.raises(EmbtieError):
        ew.run(GradientFlowRequest(source="run", file=str(tmp_path / "runs" / "run")))
    monkeypatch.setenv("EMBTIE_RUNS", str(tmp_path / "runs"))
    assert list(ew.run(GradientFlowRequest(source="run", file="run")).runs) == ["mine"]
