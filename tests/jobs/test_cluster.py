"""The cells of a sweep on a real cluster of two worker processes, one of them killed or not."""

import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.utils import key_split

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError, Interrupted
from embtie_widgets.jobs import cluster, places, training_runs
from embtie_widgets.jobs.cells import CellTask
from embtie_widgets.jobs.cluster import on_cluster
from embtie_widgets.jobs.cluster_local import worker_processes
from embtie_widgets.jobs.cluster_parcels import (
    Parcel,
    open_texts,
    pack_run,
    pack_texts,
    unpack_run,
)
from embtie_widgets.jobs.cluster_versions import compare_versions
from embtie_widgets.jobs.places import Place, place_of
from embtie_widgets.jobs.training_runs import known_run, run_key, runs_folder
from embtie_widgets.progress import silent
from embtie_widgets.requests import CenteringRequest, CorpusRef
from embtie_widgets.requests.centering import Cell
from embtie_widgets.training.centering import MuCentering
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus, corpus_from_text
from embtie_widgets.training.interventions import Intervention
from embtie_widgets.training.logit_recorder import LogitRecorder
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.runs import RunSpec, train_run
from tests.jobs.cluster_plugs import Failing, Slow
from tests.jobs.trainings import TINY

STEPS = 40


def ids(seed: int) -> Corpus:
    rng = np.random.default_rng(seed)
    return Corpus((np.cumsum(rng.choice([1, 2, 5], size=600)) % 48).astype(np.int64))


CORPUS, HELD = ids(0), ids(1)


def task_of(number: int, *plugs: Intervention, **changes: Any) -> CellTask:
    """A cell of its own learning rate, every second one centred."""
    config = TrainingConfig(
        model=TINY, steps=STEPS, batch=2, length=8, warmup=2, log_every=1, seed=number,
        lr=1e-3 * (number + 1),
    )  # fmt: skip
    config = replace(config, **changes)
    method = ("none", "mu-centering")[number % 2]
    plugs = (LogitRecorder(48), *((MuCentering(),) if number % 2 else ()), *plugs)
    cell = Cell("nano", False, method, None, config.lr, number)
    return CellTask(number, cell, RunSpec(f"untied {number}", config, False, False, plugs))


class Heard:
    """A listener that keeps what it is told, and may act on it."""

    def __init__(self, act: Callable[[int, int], None] = lambda number, done: None) -> None:
        self.starts: list[tuple[int, str]] = []
        self.growth: dict[int, list[tuple[list[int], int]]] = {}
        self.stores: dict[int, RunStore | None] = {}
        self.errors: dict[int, EmbtieError | None] = {}
        self.ends: Counter[int] = Counter()
        self._act = act

    def started(self, number: int, where: str) -> None:
        self.starts.append((number, where))

    def grown(self, number: int, rows: list[dict[str, Any]], done: int) -> None:
        self.growth.setdefault(number, []).append(([row["step"] for row in rows], done))
        self._act(number, done)

    def ended(self, number: int, store: RunStore | None, error: EmbtieError | None) -> None:
        self.ends[number] += 1
        self.stores[number], self.errors[number] = store, error


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Two processes with a store of their own, as on other machines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBTIE_CACHE", str(tmp_path_factory.mktemp("there")))
        with worker_processes(2, guarded=False) as started:
            yield started


@pytest.fixture
def other(workers: LocalCluster) -> Place:
    return place_of(workers.scheduler_address)


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "here"))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As many as a worker has."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def made_here(tmp_path: Path, one_thread: None) -> Callable[[CellTask], RunStore]:
    """The same run, trained in this process."""
    return lambda task: train_run(task.spec, CORPUS, tmp_path / f"undisturbed {task.number}")


def test_rows_are_told_while_a_cell_grows(other: Place) -> None:
    heard = Heard()
    on_cluster([task_of(6, Slow(0.04))], CORPUS, HELD, heard, silent, other)
    growth = heard.growth[6]
    steps, done = growth[-1]
    assert steps == list(range(1, STEPS + 1))
    assert done == STEPS
    assert len({done for _, done in growth}) > 2
    assert all(steps == list(range(1, len(steps) + 1)) for steps, _ in growth)
    assert heard.starts[0][1].startswith("worker ")


def test_steps_of_all_cells_are_counted_together(other: Place) -> None:
    stages: list[tuple[str, int, int]] = []
    tasks = [task_of(7), task_of(8)]
    on_cluster(tasks, CORPUS, HELD, Heard(), lambda *stage: stages.append(stage), other)
    training = [stage for stage in stages if stage[0] == "training 2 models on a Dask cluster"]
    done = [done for _, done, _ in training]
    assert done == sorted(done)
    assert {total for *_, total in training} == {2 * STEPS}


def test_cancel_reaches_the_cells_that_are_under_way(other: Place) -> None:
    def act(number: int, done: int) -> None:
        if done >= 2:
            raise Cancelled

    heard, tasks = Heard(act), [task_of(number, Slow(0.1), steps=3_000) for number in (10, 11)]
    with pytest.raises(Cancelled):
        on_cluster(tasks, CORPUS, HELD, heard, silent, other)
    assert not heard.ends
    with Client(other.address, set_as_default=False) as client:
        wait_until(lambda: not any(running(client)))


def running(client: Client) -> list[Any]:
    """What the threads of the workers are at, whatever the scheduler believes."""

    def tasks(dask_worker: Any) -> list[str]:
        return list(dask_worker.active_threads.values())

    return [name for names in client.run(tasks).values() for name in names]


def wait_until(reached: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_cell_that_fails_says_why_and_leaves_the_others_be(other: Place) -> None:
    heard, tasks = Heard(), [task_of(12), task_of(13, length=10_000), task_of(14)]
    on_cluster(tasks, CORPUS, HELD, heard, silent, other)
    assert heard.ends == Counter([12, 13, 14])
    assert heard.errors[13] is not None
    assert "10000" in heard.errors[13].message.replace(",", "")
    assert heard.stores[13] is None
    assert [heard.errors[number] for number in (12, 14)] == [None, None]


def test_what_is_no_fault_of_the_cell_is_tried_again(other: Place, tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    tried.mkdir()
    heard = Heard()
    on_cluster([task_of(15, Failing(str(tried), 1))], CORPUS, HELD, heard, silent, other)
    assert heard.stores[15] is not None
    assert len(heard.starts) == 2


def test_what_fails_each_time_is_given_up(
    other: Place, tmp_path: Path, logged_faults: list[str]
) -> None:
    tried = tmp_path / "tried"
    tried.mkdir()
    heard = Heard()
    on_cluster([task_of(16, Failing(str(tried), 99))], CORPUS, HELD, heard, silent, other)
    assert len(list(tried.iterdir())) == 1 + cluster.RETRIES
    assert heard.errors[16] is not None
    assert "bus" not in str(heard.errors[16])
    assert logged_faults
    logged_faults.clear()


def test_what_is_finished_here_is_not_trained_again(
    other: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, again = Heard(), Heard()
    tasks = [task_of(17)]
    on_cluster(tasks, CORPUS, HELD, first, silent, other)
    assert known_run(tasks[0].spec, CORPUS) is not None
    on_cluster(tasks, CORPUS, HELD, again, silent, other)
    assert again.ends == Counter([17])
    assert again.starts == [(17, "this machine")]


def test_worker_processes_of_this_machine_do_the_same(
    workers: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, stages = Heard(), set()
    monkeypatch.setattr(cluster, "local_workers", lambda many: nullcontext(workers))
    on_cluster(
        [task_of(18)], CORPUS, HELD, heard, lambda *stage: stages.add(stage[0]), place_of("local:2")
    )
    assert heard.stores[18] is not None
    assert "starting 2 worker processes on this machine" in stages


def weights(store: RunStore) -> bytes:
    return (store.folder / "model.safetensors").read_bytes()


def kill(address: str, chosen: Callable[[Client], list[str]]) -> list[str]:
    """The processes of these workers die, and the system does not ask them first."""
    with Client(address, set_as_default=False) as client:
        doomed = chosen(client)
        for process in client.run(os.getpid, workers=doomed).values():
            os.kill(process, signal.SIGKILL)
    return doomed


def one_at_work(client: Client) -> list[str]:
    return [address for address, keys in client.processing().items() if keys][:1]


def holders_of_the_text(client: Client) -> list[str]:
    held = client.who_has().items()
    return [address for key, where in held if key_split(key) == "embtie" for address in where]


def test_a_worker_killed_in_the_middle_costs_no_cell_and_changes_none(
    other: Place, made_here: Callable[[CellTask], RunStore]
) -> None:
    killed: list[str] = []

    def act(number: int, done: int) -> None:
        if done >= 3 and not killed:
            killed.extend(kill(other.address, one_at_work))

    heard, tasks = Heard(act), [task_of(number, Slow()) for number in range(4)]
    on_cluster(tasks, CORPUS, HELD, heard, silent, other)
    assert heard.ends == Counter(range(4))
    assert len(killed) == 1
    assert len(heard.starts) > len(tasks)
    for task in tasks:
        store, alone = heard.stores[task.number], made_here(task)
        assert store is not None
        assert store.rows() == alone.rows()
        assert weights(store) == weights(alone)
        assert store.folder.parent == runs_folder()


def test_the_text_outlives_the_workers_that_have_it(other: Place) -> None:
    killed: list[str] = []

    def act(number: int, done: int) -> None:
        if done >= 3 and not killed:
            killed.extend(kill(other.address, holders_of_the_text))

    heard = Heard(act)
    on_cluster([task_of(5, Slow())], CORPUS, HELD, heard, silent, other)
    assert killed
    assert heard.ends == Counter([5])
    assert heard.stores[5] is not None


def test_a_sweep_gives_the_same_wherever_it_runs_and_is_found_again(
    workers: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_thread: None
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(
        "".join(f"the {i % 7} and {i % 11} of them, or {i % 5}.\n\n" for i in range(4_000))
    )
    request = CenteringRequest(
        corpus=CorpusRef(str(text)), methods=("none", "mu-loss"), rates=(3e-3, 3e-2),
        sizes=("micro",), vocabulary=300, tokenizer="train", steps=4, batch=2, length=8, every=1,
        warmup=1,
    )  # fmt: skip
    monkeypatch.setenv(places.VARIABLE, workers.scheduler_address)
    there = ew.run(request)
    monkeypatch.delenv(places.VARIABLE)
    found = ew.run(replace(request, rates=(3e-2,)))
    assert found.settings["cached"]
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "another"))
    alone = ew.run(request)
    assert there.settings["ran on"] == "a Dask cluster"
    assert [run.state for run in there.runs] == ["done"] * 4
    for elsewhere, here in zip(there.runs, alone.runs, strict=True):
        assert elsewhere.loss == here.loss
        assert elsewhere.numbers == here.numbers
        assert elsewhere.about["where"].startswith("worker ")


def test_a_lost_scheduler_is_told_and_what_has_ended_is_kept() -> None:
    """The worker is a thread of this process, as quick to start as to lose."""
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
    ) as lost:
        ending: list[threading.Thread] = []

        def act(number: int, done: int) -> None:
            if number == 21 and not ending:
                ending.append(threading.Thread(target=lost.close))
                ending[0].start()

        heard, tasks = Heard(act), [task_of(20), task_of(21, Slow(0.05), steps=200)]
        place = place_of(lost.scheduler_address)
        with pytest.raises(Interrupted, match="scheduler was lost, or started anew") as told:
            on_cluster(tasks, CORPUS, HELD, heard, silent, place)
        ending[0].join()
    assert "Finished runs are kept" in told.value.hint
    assert heard.ends == Counter([20])
    assert known_run(tasks[0].spec, CORPUS) is not None


def test_an_address_where_nobody_answers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    place = place_of(f"tcp://127.0.0.1:{port}")
    with pytest.raises(EmbtieError, match=f"No Dask scheduler .*:{port}"):
        on_cluster([task_of(0)], CORPUS, HELD, Heard(), silent, place)
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    with pytest.raises(EmbtieError) as told:
        on_cluster([task_of(0)], CORPUS, HELD, Heard(), silent, place)
    assert "127.0.0.1" not in str(told.value)


def test_encryption_without_certificates_is_told() -> None:
    with pytest.raises(EmbtieError, match="no certificates"):
        on_cluster([task_of(0)], CORPUS, HELD, Heard(), silent, place_of("tls://127.0.0.1:1"))


def test_workers_with_another_version_are_refused() -> None:
    from importlib.metadata import version

    torch = version("torch")
    compare_versions("torch", [torch, torch.partition("+")[0], f"{torch.partition('+')[0]}+other"])
    with pytest.raises(EmbtieError, match=r"another torch than this machine: 1\.0 instead"):
        compare_versions("torch", [torch, "1.0"])
    with pytest.raises(EmbtieError, match="none instead"):
        compare_versions("embtie", [version("embtie"), ModuleNotFoundError()])


def test_texts_arrive_as_they_were_sent() -> None:
    corpus = corpus_from_text("a tale of tokens. " * 40, 280, "tale")
    packed = pack_texts(corpus, HELD)
    first, second = open_texts(packed)
    assert (first.sha256, second.sha256) == (corpus.sha256, HELD.sha256)
    assert first.name == "tale"
    assert first.tokenizer is not None
    assert first.tokenizer.to_str() == corpus.tokenizer.to_str()
    assert second.tokenizer is None
    assert len(packed) < corpus.ids.nbytes + HELD.ids.nbytes + len(corpus.tokenizer.to_str())


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> tuple[CellTask, Parcel]:
    task = task_of(0, steps=4)
    store = train_run(task.spec, CORPUS, tmp_path_factory.mktemp("sent") / "run")
    return task, pack_run(run_key(task.spec, CORPUS), store)


def test_a_run_that_is_here_already_stays(sent: tuple[CellTask, Parcel]) -> None:
    task, parcel = sent
    first = unpack_run(parcel, task.spec, silent)
    assert known_run(task.spec, CORPUS).folder == first.folder
    (first.folder / "mark").touch()
    unpack_run(parcel, task.spec, silent)
    assert (first.folder / "mark").exists()


def test_a_half_made_run_gives_way(sent: tuple[CellTask, Parcel]) -> None:
    task, parcel = sent
    half = runs_folder() / parcel.key
    half.mkdir()
    (half / "manifest.json").write_text("{")
    store = unpack_run(parcel, task.spec, silent)
    assert [row["step"] for row in store.rows()] == [1, 2, 3, 4]
    assert sorted(path.suffix for path in runs_folder().iterdir() if path != half) == [".lock"]


def test_a_damaged_parcel_leaves_nothing(sent: tuple[CellTask, Parcel]) -> None:
    task, parcel = sent
    for damaged in (parcel.folder[:-100], parcel.folder[: len(parcel.folder) // 2], b""):
        with pytest.raises(EmbtieError, match="damaged"):
            unpack_run(Parcel(parcel.key, damaged), task.spec, silent)
    assert not [path for path in runs_folder().iterdir() if path.is_dir()]


def test_a_parcel_cannot_name_another_place(sent: tuple[CellTask, Parcel]) -> None:
    task, parcel = sent
    with pytest.raises(EmbtieError, match="under no name of a run"):
        unpack_run(Parcel("../" + parcel.key[3:], parcel.folder), task.spec, silent)


def test_who_trains_the_same_run_here_is_waited_for(
    sent: tuple[CellTask, Parcel], monkeypatch: pytest.MonkeyPatch
) -> None:
    task, parcel = sent
    stages: list[str] = []

    def stop(stage: str, done: int, total: int) -> None:
        stages.append(stage)
        raise Cancelled

    with training_runs._lock(runs_folder() / parcel.key), pytest.raises(Cancelled):
        unpack_run(parcel, task.spec, stop)
    assert stages == ["waiting for untied 0"]
    assert known_run(task.spec, CORPUS) is None


def test_no_work_asks_for_no_cluster() -> None:
    on_cluster([], CORPUS, HELD, Heard(), silent, place_of("tcp://127.0.0.1:1"))
