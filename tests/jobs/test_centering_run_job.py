"""Runs that somebody else trains, as a sweep: recorded, grown, trained here, and what is told."""

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import following
from embtie_widgets.jobs.centering_run import run_recorded
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.results.centering import CURVES, DIVERGED, DONE, RUNNING, CenteringReport
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.training.centering import method_plugs
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.logit_recorder import LogitRecorder
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.runs import RunSpec, train_run
from tests.training.conftest import TINY
from tests.training.recorder_models import VOCABULARY, model_of, train

Followed = Callable[..., CenteringReport]


@pytest.fixture
def followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Followed:
    """What becomes of a folder, looked at without pause."""
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.01)

    def look(folder: str = "run", progress: Progress = silent) -> CenteringReport:
        return run_recorded(CenteringRequest(source="run", file=str(tmp_path / folder)), progress)

    return look


def row(step: int, **others: Any) -> dict[str, Any]:
    return {"step": step, "loss": 4.0 - step / 10, "lr": 0.1, "logit_mean": float(step)} | others


def recorded(
    folder: Path, steps: int = 3, state: str = "done", name: str = "run", **settings: Any
) -> RunStore:
    store = RunStore.create(
        folder,
        name=name,
        tied=False,
        of=5,
        hashes={"tied": "abc"},
        settings={"recorded": True, "rows": 60, "width": 4} | settings,
    )
    for step in range(1, steps + 1):
        store.append(row(step))
    store.set_state(state, steps)
    return store


def test_a_recorded_run_has_all_curves(tmp_path: Path, followed: Followed) -> None:
    train(model_of(tied=False), tmp_path / "run", steps=4)
    made = followed()
    (run,) = made.runs
    assert set(CURVES) - set(run.curves) == {"gradient_norm"}
    assert (run.state, run.tied, run.method, run.lr, run.step) == (DONE, False, "recorded", 1e-2, 4)
    assert run.numbers["mu_output"] == run.curves["mu_output"][-1] > 0
    assert run.loss == pytest.approx(run.curves["loss"].mean())
    assert made.initial_loss == math.log(VOCABULARY)
    assert made.settings["file"] == "run"
    assert made.progress == ""
    assert to_bytes(from_bytes(to_bytes(made))) == to_bytes(made)


def test_runs_in_one_folder_stand_side_by_side_by_the_methods_in_their_names(
    tmp_path: Path, followed: Followed
) -> None:
    recorded(tmp_path / "runs" / "baseline", lr=0.1)
    recorded(tmp_path / "runs" / "a", name="mu-centering+soft-cap", lr=0.1)
    recorded(tmp_path / "runs" / "my own", lr=0.1)
    made = followed("runs")
    assert {run.about["name"]: run.method for run in made.runs} == {
        "a": "mu-centering+soft-cap",
        "baseline": "none",
        "my own": "my own",
    }
    assert made.side_by_side(made.runs[0]) == made.runs
    assert any("baseline" in note for note in made.notes)


def test_a_run_is_followed_while_it_grows(tmp_path: Path, followed: Followed) -> None:
    store = recorded(tmp_path / "run", 2, "running")
    more = threading.Event()

    def write() -> None:
        for step in range(3, 6):
            assert more.wait(30)
            more.clear()
            store.append(row(step))
        assert more.wait(30)
        store.set_state("done", 5)

    class Reader:
        parts: list[CenteringReport] = []  # noqa: RUF012

        def __call__(self, stage: str, done: int, total: int) -> None:
            pass

        def partial(self, result: CenteringReport) -> None:
            self.parts.append(result)
            more.set()

    writer, heard = threading.Thread(target=write), Reader()
    writer.start()
    made = followed(progress=heard)
    writer.join(30)
    assert [len(part.runs[0].curves["step"]) for part in heard.parts] == [2, 3, 4, 5]
    assert {part.runs[0].state for part in heard.parts} == {RUNNING}
    assert heard.parts[0].progress == "2 steps so far"
    assert (made.runs[0].state, made.runs[0].step, made.progress) == (DONE, 5, "")


def test_following_can_be_cancelled(tmp_path: Path, followed: Followed) -> None:
    recorded(tmp_path / "run", 3, "running")

    def stop(*_: Any) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        followed(progress=stop)


@pytest.mark.parametrize(("loss", "state"), [(math.nan, DIVERGED), (9.0, DIVERGED), (3.9, DONE)])
def test_a_run_that_lost_what_it_had_learnt_has_diverged(
    tmp_path: Path, followed: Followed, loss: float, state: str
) -> None:
    store = recorded(tmp_path / "run", 2)
    store.append(row(3, loss=loss))
    (run,) = followed().runs
    assert run.state == state
    assert bool(run.reason) is (state == DIVERGED)


def test_a_loss_that_nobody_logged_is_no_lost_run(tmp_path: Path, followed: Followed) -> None:
    for rate in (0.1, 0.2):
        store = recorded(tmp_path / "runs" / f"a{rate}", 0, name="z-loss", lr=rate)
        store.append(row(1, loss=math.nan))
    made = followed("runs")
    assert [run.state for run in made.runs] == [DONE, DONE]
    assert math.isnan(made.sensitivity[0].value)
    assert made.sensitivity[0].unknown == 2


def test_learning_rates_make_a_line_with_its_sensitivity(
    tmp_path: Path, followed: Followed
) -> None:
    for rate, last in ((0.1, 2.0), (0.2, 2.5)):
        store = recorded(tmp_path / "runs" / f"z-loss-{rate}", 0, name="z-loss", lr=rate)
        store.append(row(1, loss=last))
    (line,) = followed("runs").sensitivity
    assert (line.method, line.value, line.best_lr) == ("z-loss", 0.5, 0.1)


def test_widths_tell_runs_apart(tmp_path: Path, followed: Followed) -> None:
    recorded(tmp_path / "runs" / "a")
    recorded(tmp_path / "runs" / "b", width=8)
    assert [run.size for run in followed("runs").runs] == ["width 4", "width 8"]


def test_runs_trained_here_say_what_they_are(tmp_path: Path, followed: Followed) -> None:
    recipe = TrainingConfig(model=TINY, steps=3, batch=2, length=8, lr=1e-2, warmup=1, seed=7)
    corpus = Corpus(np.arange(200, dtype=np.int64) % 48)
    plugs = (LogitRecorder(), *method_plugs("z-loss+soft-cap", 0.5, 20.0))
    spec = RunSpec("any", replace(recipe, log_every=1), True, interventions=plugs)
    store = train_run(spec, corpus, tmp_path / "run")
    store.set_state("done", store.done, **{"held_loss 0123": 2.5})
    made = followed()
    (run,) = made.runs
    assert (run.method, run.coefficient, run.tied) == ("z-loss+soft-cap", 0.5, True)
    assert (run.lr, run.seed, run.loss) == (1e-2, 7, 2.5)
    assert set(CURVES) == set(run.curves)
    assert made.initial_loss == math.log(48)
    assert made.notes == ()


@pytest.mark.parametrize(
    ("odd", "method", "coefficient"),
    [
        ([{"kind": ["mu-loss"]}, {"kind": {}}], "none", None),
        ([{"kind": "mu-loss", "coefficient": "<b>"}], "mu-loss", None),
        ([{"kind": "mu-loss", "coefficient": [1]}], "mu-loss", None),
        ([{"kind": "z-loss", "coefficient": 10**400}], "z-loss", None),
        ([{"kind": "sgd"}, {"kind": "coupled-adam"}], "coupled-adam+sgd", None),
    ],
)
def test_what_a_manifest_cannot_mean_is_not_believed(
    tmp_path: Path, followed: Followed, odd: Any, method: str, coefficient: float | None
) -> None:
    recorded(tmp_path / "run", lr=10**400, interventions=odd)
    made = followed()
    (run,) = made.runs
    assert (run.method, run.coefficient, run.lr) == (method, coefficient, 0.0)
    assert made.facts()["runs"]


def test_a_run_that_broke_off_counts_as_one_that_has_learnt_nothing(
    tmp_path: Path, followed: Followed
) -> None:
    for rate in (0.1, 0.2):
        store = recorded(tmp_path / "runs" / f"z-loss-{rate}", 3, name="z-loss", lr=rate)
        if rate == 0.2:  # its gradient was not finite, its loss still was
            store.set_state("done", 2, diverged=3)
    made = followed("runs")
    assert [run.state for run in made.runs] == [DONE, DIVERGED]
    assert math.isnan(made.runs[1].loss)
    assert made.sensitivity[0].value == pytest.approx(math.log(60) - made.runs[0].loss)


def test_what_a_run_lacks_is_told(tmp_path: Path, followed: Followed) -> None:
    store = recorded(tmp_path / "run", 0)
    with pytest.raises(EmbtieError, match="logged no step"):
        followed()
    store.append({"step": 1, "loss": 3.0})
    made = followed()
    assert made.runs[0].lr == 0
    assert any("nothing of its logits" in note for note in made.notes)
    assert any("no learning rate" in note for note in made.notes)


def test_a_stopped_run_is_shown_as_such(tmp_path: Path, followed: Followed) -> None:
    recorded(tmp_path / "run", 3, "stopped")
    (run,) = followed().runs
    assert (run.state, run.reason) == (DONE, "It was stopped after step 3.")


def test_a_folder_without_a_run_is_refused_without_its_place(
    tmp_path: Path, followed: Followed
) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(EmbtieError, match="'run' is no folder of a run") as caught:
        followed()
    assert str(tmp_path) not in str(caught.value)


def test_a_sweep_has_more_runs_than_twins(tmp_path: Path, followed: Followed) -> None:
    for number in range(following.MOST_RUNS + 2):
        recorded(tmp_path / "runs" / f"run-{number}", 1, seed=number)
    assert len(followed("runs").runs) == following.MOST_RUNS + 2
