"""The bottleneck of runs, end to end: twins trained here, and runs that somebody records."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import following
from embtie_widgets.jobs.bottleneck import look_up
from embtie_widgets.jobs.bottleneck_run import known_twins, run_recorded, run_twins
from embtie_widgets.jobs.gradient_flow import run_gradient_flow
from embtie_widgets.measures.head_factor import HeadFactor
from embtie_widgets.requests import BottleneckRequest, CorpusRef, GradientFlowRequest
from embtie_widgets.results.bottleneck import CURVES, BottleneckReport
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.training.recorder import RunRecorder
from embtie_widgets.training.run_store import RunStore
from tests.jobs.trainings import Ear, cache_below, small, trained_from_here
from tests.training.recorder_models import VOCABULARY, go_on, model_of, train

STEPS = 6


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with cache_below(tmp_path_factory.mktemp("bottleneck")) as folder:
        yield folder


@pytest.fixture(scope="module")
def asked(place: Path) -> BottleneckRequest:
    """Twins of 300 tokens, trained in a second."""
    return BottleneckRequest(**small(place), source="train", steps=STEPS)


@pytest.fixture(scope="module")
def heard() -> Ear:
    return Ear()


@pytest.fixture(scope="module")
def report(asked: BottleneckRequest, heard: Ear) -> BottleneckReport:
    return run_twins(asked, heard)


def test_both_twins_log_what_their_heads_transmit(report: BottleneckReport) -> None:
    assert [(name, run.tied) for name, run in report.runs.items()] == [
        ("untied", False),
        ("tied", True),
    ]
    assert (report.models, report.failed, report.progress) == ({}, {}, "")
    assert not report.settings["cached"]
    for run in report.runs.values():
        assert set(run.curves) == set(CURVES)
        assert run.curves["step"].tolist() == [1, 2, 3, 4, 5, 6]
        both = run.curves["destroyed"] ** 2 + run.curves["visible_cosine"] ** 2
        np.testing.assert_allclose(both, 1.0)
        rows, width = run.about["rows"], run.about["width"]
        np.testing.assert_allclose(run.curves["line"], np.sqrt(1 - width / rows))
        assert (run.about["state"], run.about["done"], run.about["of"]) == ("done", 6, 6)


def test_the_result_is_handed_on_as_it_grows(report: BottleneckReport, heard: Ear) -> None:
    first, last = heard.parts[0], heard.parts[-1]
    assert (list(first.runs), first.progress) == (["untied"], "1 of 6 steps of the untied run")
    assert list(last.runs) == ["untied", "tied"]
    assert "training 2 models" in heard.stages


def test_it_comes_back_whole_from_its_bytes(report: BottleneckReport) -> None:
    again = from_bytes(to_bytes(report))
    assert again.facts() == report.facts()
    assert again.to_frame().equals(report.to_frame())
    assert len(report.to_frame()) == 2 * STEPS


def test_runs_that_one_panel_has_trained_are_those_of_the_other(
    asked: BottleneckRequest, report: BottleneckReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = trained_from_here(monkeypatch)
    fields = set(GradientFlowRequest.__dataclass_fields__) & set(asked.to_dict())
    same = {name: getattr(asked, name) for name in fields - {"source", "file", "model"}}
    flow = run_gradient_flow(GradientFlowRequest(**same))
    other = run_twins(replace(asked, steps_at=(1.0,)))
    assert names == []
    assert flow.settings["cached"]
    assert other.settings["cached"]
    assert np.array_equal(other.runs["tied"].curves["loss"], flow.runs["tied"].curves["loss"])


def test_a_training_that_is_called_off_goes_on_where_it_stopped(asked: BottleneckRequest) -> None:
    request = replace(asked, steps=STEPS + 1)
    with pytest.raises(Cancelled):
        run_twins(request, Ear(lambda stage, done: stage == "training 2 models" and done == 9))
    found = run_twins(request)
    assert found.runs["tied"].curves["step"].tolist() == list(range(1, STEPS + 2))


def test_a_training_of_the_shipped_text_is_found_without_work(
    asked: BottleneckRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = BottleneckRequest(source="train", steps=1, batch=1, length=16)
    assert known_twins(asked) is None
    assert known_twins(request) is None
    run_twins(request)
    names = trained_from_here(monkeypatch)
    for one in (request, replace(request, gram=10)):
        found = look_up(one)
        assert found is not None
        assert found.settings["cached"]
    assert names == []


# Runs that somebody else trains.


def followed(path: Path, progress: Any = lambda *_: None) -> BottleneckReport:
    return run_recorded(BottleneckRequest(source="run", file=str(path)), progress)


def test_a_recorded_run_is_shown(tmp_path: Path) -> None:
    model = model_of("gemma2", tied=False)
    line = HeadFactor.of(model.get_output_embeddings().weight).line
    store, _ = train(model, tmp_path / "mine")
    result = followed(tmp_path / "mine")
    run = result.runs["run"]
    assert set(run.curves) == set(CURVES)
    assert run.curves["step"].tolist() == [1, 2, 3, 4]
    assert run.curves["line"].tolist() == pytest.approx([line] * 4)
    assert (run.about["rows"], run.about["width"], run.tied) == (VOCABULARY, 16, False)
    assert result.settings["file"] == "mine"
    assert result.hashes == {f"run {what}": sha for what, sha in store.manifest["hashes"].items()}


def test_several_runs_stand_in_one_result(tmp_path: Path) -> None:
    for tied in (True, False):
        train(model_of("llama", tied=tied), tmp_path / f"tied {tied}", steps=2)
    result = followed(tmp_path)
    assert {name: run.tied for name, run in result.runs.items()} == {
        "tied False": False,
        "tied True": True,
    }


def old_run(folder: Path, state: str = "done", steps: int = 2) -> RunStore:
    """As it was recorded before what the head transmits was measured."""
    store = RunStore.create(folder, name="old", tied=True, of=4)
    for step in range(1, steps + 1):
        store.append({"step": step, "loss": 1.0, "lr": 0.1})
    store.set_state(state, steps)
    return store


@pytest.mark.parametrize("state", ["done", "running"])
def test_a_run_that_was_recorded_before_says_what_it_lacks(tmp_path: Path, state: str) -> None:
    old_run(tmp_path / "a", state)
    with pytest.raises(EmbtieError, match="earlier version") as told:
        followed(tmp_path / "a")
    assert "Record it again" in told.value.hint


def test_a_run_that_lacks_it_leaves_the_others(tmp_path: Path) -> None:
    old_run(tmp_path / "a")
    train(model_of("llama"), tmp_path / "b", steps=2)
    result = followed(tmp_path)
    assert list(result.runs) == ["b"]
    assert "earlier version" in result.failed["a"]


def test_a_run_without_a_step_says_so(tmp_path: Path) -> None:
    old_run(tmp_path / "a", steps=0)
    with pytest.raises(EmbtieError, match="no step"):
        followed(tmp_path / "a")


def test_a_run_is_followed_while_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.01)
    model = model_of("llama")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    recorder = RunRecorder(tmp_path / "run", every=1).attach(model, optimizer)
    more = threading.Event()

    def write() -> None:
        for step in range(1, 4):
            assert more.wait(30)
            more.clear()
            go_on(model, optimizer, recorder, range(step, step + 1))
        assert more.wait(30)
        recorder.detach()

    class Reader(Ear):
        waits = False

        def __call__(self, stage: str, done: int, total: int) -> None:
            super().__call__(stage, done, total)
            if not self.waits:  # once: a second call would let the writer run ahead
                self.waits = True
                more.set()

        def partial(self, result: BottleneckReport) -> None:
            super().partial(result)
            more.set()

    writer, heard = threading.Thread(target=write), Reader()
    writer.start()
    result = followed(tmp_path / "run", heard)
    writer.join(30)
    assert [len(part.runs["run"].curves["step"]) for part in heard.parts] == [1, 2, 3]
    assert heard.parts[0].progress == "1 steps so far"
    assert len(result.runs["run"].curves["step"]) == 3
    assert result.progress == ""


def test_steps_that_were_not_measured_are_left_out(tmp_path: Path) -> None:
    store = old_run(tmp_path / "a")
    store.append({"step": 3, "loss": 1.0, "lr": 0.1, "destroyed": 0.9, "line": 0.8})
    store.append({"step": 4, "loss": 1.0, "lr": 0.1})
    run = followed(tmp_path / "a").runs["old"]
    assert run.curves["step"].tolist() == [3]
    assert run.curves["destroyed"].tolist() == [0.9]


def test_a_text_of_ones_own_is_not_looked_for_in_the_cache(place: Path) -> None:
    assert known_twins(BottleneckRequest(source="train", corpus=CorpusRef("/nowhere"))) is None
