"""Runs between those who want them: trained once, found again, followed, taken over."""

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embtie_widgets.errors import Cancelled, EmbtieError, Interrupted
from embtie_widgets.jobs import training_runs
from embtie_widgets.jobs.training_runs import (
    Pictures,
    known_run,
    prune_runs,
    run_key,
    run_of,
    runs_folder,
)
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.runs import RunSpec
from tests.jobs.trainings import TINY, trained_from_here

STEPS = 8


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))


def corpus_of(seed: int = 0) -> Corpus:
    rng = np.random.default_rng(seed)
    return Corpus((np.cumsum(rng.choice([1, 2, 5], size=600)) % 48).astype(np.int64))


def spec_of(name: str = "tied", **changes: Any) -> RunSpec:
    config = TrainingConfig(model=TINY, steps=STEPS, batch=2, length=8, warmup=2, log_every=1)
    return RunSpec(name=name, config=replace(config, **changes), tied=name == "tied")


def losses(store: RunStore) -> list[float]:
    return [row["loss"] for row in store.rows()]


@pytest.fixture
def whole(tmp_path: Path) -> list[float]:
    """The losses of the run that nobody disturbs."""
    from embtie_widgets.training.runs import train_run

    return losses(train_run(spec_of(), corpus_of(), tmp_path / "undisturbed"))


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that are trained, in order."""
    return trained_from_here(monkeypatch)


class Stop:
    """A `progress` that cancels once so many steps are done."""

    def __init__(self, after: int) -> None:
        self.after, self.stages = after, []

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.stages.append(stage)
        if done >= self.after and stage.startswith("training"):
            raise Cancelled


class Gate:
    """A watch that holds the run still at a step until it is opened."""

    def __init__(self, at: int) -> None:
        self.at, self.there, self.open = at, threading.Event(), threading.Event()

    def __call__(self, store: RunStore) -> None:
        if store.done >= self.at:
            self.there.set()
            assert self.open.wait(60)


class Thread:
    """`run_of` in a thread: its run, or what it raised."""

    def __init__(self, *arguments: Any) -> None:
        self.store: RunStore | None = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, args=arguments)
        self._thread.start()

    def _work(self, *arguments: Any) -> None:
        try:
            self.store = run_of(*arguments)
        except BaseException as error:
            self.error = error

    def end(self) -> "Thread":
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self


def test_a_run_is_trained_once_and_found_again(trainings: list[str], whole: list[float]) -> None:
    told: list[int] = []
    first = run_of(spec_of(), corpus_of(), watch=lambda store: told.append(store.done))
    assert told == list(range(1, STEPS + 1))
    assert losses(first) == whole
    again = run_of(spec_of(), corpus_of(), watch=lambda store: told.append(-1))
    assert again.folder == first.folder
    assert trainings == ["tied"]
    assert -1 not in told
    assert known_run(spec_of(), corpus_of()) is not None


@pytest.mark.parametrize(
    "other", [spec_of("untied"), spec_of(seed=1), spec_of(lr=1e-2), spec_of(steps=9)]
)
def test_what_decides_the_numbers_decides_the_name(other: RunSpec) -> None:
    assert run_key(other, corpus_of()) != run_key(spec_of(), corpus_of())
    assert known_run(other, corpus_of()) is None


def test_the_device_chosen_by_itself_is_the_one_chosen_by_name() -> None:
    from embtie_widgets.machine import available_devices

    automatic, named = spec_of(device="auto"), spec_of(device=available_devices()[0])
    assert run_key(automatic, corpus_of()) == run_key(named, corpus_of())
    assert run_key(spec_of(), corpus_of(seed=1)) != run_key(spec_of(), corpus_of())


def test_who_comes_second_follows_the_first(trainings: list[str], whole: list[float]) -> None:
    gate, seen = Gate(3), []
    first = Thread(spec_of(), corpus_of(), lambda *_: None, gate)
    assert gate.there.wait(60)

    def watch(store: RunStore) -> None:
        seen.append(store.done)
        gate.open.set()

    stages: list[str] = []
    second = Thread(spec_of(), corpus_of(), lambda stage, *_: stages.append(stage), watch).end()
    first.end()
    assert trainings == ["tied"]
    assert losses(first.store) == losses(second.store) == whole
    assert seen[0] == 3
    assert set(stages) == {"following tied"}


def test_who_follows_takes_over_where_the_first_is_cancelled(
    trainings: list[str], whole: list[float]
) -> None:
    gate = Gate(3)
    first = Thread(spec_of(), corpus_of(), Stop(3), gate)
    assert gate.there.wait(60)
    second = Thread(
        spec_of(), corpus_of(), lambda *_: None, lambda store: gate.open.set() if store else None
    )
    assert isinstance(first.end().error, Cancelled)
    assert losses(second.end().store) == whole
    assert trainings == ["tied", "tied"]


def test_who_follows_can_be_cancelled_and_the_first_goes_on(whole: list[float]) -> None:
    gate = Gate(3)
    first = Thread(spec_of(), corpus_of(), lambda *_: None, gate)
    assert gate.there.wait(60)

    def stop(stage: str, *_: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        run_of(spec_of(), corpus_of(), stop)
    gate.open.set()
    assert losses(first.end().store) == whole


def test_a_cancelled_run_goes_on_from_where_it_stopped(whole: list[float]) -> None:
    with pytest.raises(Cancelled):
        run_of(spec_of(), corpus_of(), Stop(4))
    assert known_run(spec_of(), corpus_of()) is None
    told: list[int] = []
    store = run_of(spec_of(), corpus_of(), watch=lambda store: told.append(store.done))
    assert told == [5, 6, 7, 8]
    assert losses(store) == whole


def test_when_the_process_that_trains_dies_the_next_takes_over(whole: list[float]) -> None:
    code = (
        "from tests.jobs.test_training_runs import *\n"
        "run_of(spec_of(), corpus_of(), watch=lambda s:"
        " os.kill(os.getpid(), signal.SIGKILL) if s.done == 3 else None)"
    )
    died = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    assert died.returncode == -signal.SIGKILL
    left = RunStore.open(runs_folder() / run_key(spec_of(), corpus_of()))
    assert (left.manifest["state"], left.done) == ("running", 3)
    assert losses(run_of(spec_of(), corpus_of())) == whole


def test_a_full_disk_is_told_and_the_run_goes_on_later(
    monkeypatch: pytest.MonkeyPatch, whole: list[float]
) -> None:
    append = RunStore.append

    def full(self: RunStore, row: Any) -> None:
        if row["step"] == 4:
            raise Interrupted("not written") from OSError(errno.ENOSPC, "full")
        append(self, row)

    monkeypatch.setattr(RunStore, "append", full)
    with pytest.raises(Interrupted, match="disk is full"):
        run_of(spec_of(), corpus_of())
    monkeypatch.setattr(RunStore, "append", append)
    assert losses(run_of(spec_of(), corpus_of())) == whole


def test_where_nothing_is_kept_the_run_goes_with_the_kernel(
    monkeypatch: pytest.MonkeyPatch, trainings: list[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    first, again = run_of(spec_of(), corpus_of()), run_of(spec_of(), corpus_of())
    assert first.folder == again.folder
    assert trainings == ["tied"]
    assert not (tmp_path / "cache").exists()


def test_where_the_cache_cannot_be_written_the_run_goes_with_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "runs").write_text("in the way")
    assert run_of(spec_of(seed=2), corpus_of()).manifest["state"] == "done"


@pytest.mark.parametrize("name", ["manifest.json", "rows.npz", "model.safetensors"])
def test_what_is_damaged_is_trained_anew(
    name: str, logged_faults: list[str], whole: list[float], trainings: list[str]
) -> None:
    folder = run_of(spec_of(), corpus_of()).folder
    (folder / name).write_text("{")
    assert known_run(spec_of(), corpus_of()) is None
    assert losses(run_of(spec_of(), corpus_of())) == whole
    assert trainings == ["tied", "tied"]
    assert logged_faults == []


def make_runs(root: Path, names: str) -> Iterator[Path]:
    for age, name in enumerate(reversed(names)):
        folder = root / name
        RunStore.create(folder, name=name, tied=True, of=1)
        (folder / "bytes").write_bytes(bytes(1_000))
        os.utime(folder, (1e9 - age, 1e9 - age))
        yield folder


def test_runs_that_were_unused_for_longest_make_room(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    spared, _, _, oldest = make_runs(root, "abcd")
    prune_runs(root, 10_000, oldest)
    assert len([path for path in root.iterdir() if path.is_dir()]) == 4
    with training_runs._lock(root / "b"):
        prune_runs(root, 2_000, oldest)
    left = {path.name for path in root.iterdir() if path.is_dir()}
    assert left == {"a", "b"}, "the one in use and the one wanted stay, whatever their age"
    assert (spared.name, oldest.name) == ("d", "a")


def test_no_more_is_removed_than_makes_room(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    newest, *_, spared = make_runs(root, "abcd")
    prune_runs(root, 1_800, spared)
    assert {path.name for path in root.iterdir() if path.is_dir()} == {spared.name, newest.name}


def test_pictures_come_at_once_and_then_no_more_often_than_they_are_worth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(training_runs.time, "monotonic", lambda: now[0])
    shown: list[float] = []

    class Screen:
        def __call__(self, *_: Any) -> None: ...

        def partial(self, result: Any) -> None:
            shown.append(now[0])
            now[0] += result

    cost = [0.0]
    show: Callable[[Any], None] = Pictures(Screen(), lambda _store: cost[0])
    for _ in range(12):
        show(None)
        now[0] += 0.125
    assert shown == [100.0, 100.5, 101.0]
    cost[0] = 1.0
    for _ in range(70):
        show(None)
        now[0] += 0.125
    assert np.diff(shown[3:]).tolist() == [6.0]


def test_a_disk_without_locks_is_trained_on_too(
    monkeypatch: pytest.MonkeyPatch, whole: list[float]
) -> None:
    import filelock

    def none_here(*_: Any, **__: Any) -> None:
        raise NotImplementedError

    monkeypatch.setattr(filelock.FileLock, "acquire", none_here)
    gate = Gate(3)
    first = Thread(spec_of(), corpus_of(), lambda *_: None, gate)
    assert gate.there.wait(60)
    second = Thread(spec_of(), corpus_of(), lambda *_: None, lambda _store: gate.open.set())
    assert losses(first.end().store) == losses(second.end().store) == whole


def test_a_folder_that_cannot_be_locked_is_no_endless_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import filelock

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "not yours")

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    with pytest.raises(EmbtieError, match="cannot be written"):
        run_of(spec_of(), corpus_of())
