"""Worker processes of this machine: kept between sweeps, ended when idle, closed to strangers."""

from collections.abc import Iterator
from typing import Any

import pytest
from distributed import Client, Status

from embtie_widgets.jobs import cluster_local
from embtie_widgets.jobs.cluster_local import end_idle, local_workers


class Pretended:
    """A cluster that is started at once."""

    def __init__(self, many: int) -> None:
        self.many, self.status = many, Status.running

    def close(self) -> None:
        self.status = Status.closed


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cluster_local, "worker_processes", Pretended)
    yield
    end_idle()


def test_the_next_sweep_finds_the_processes_of_the_last(pretended: None) -> None:
    with local_workers(2) as first:
        pass
    with local_workers(2) as second:
        assert second is first
        assert second.status == Status.running


def test_another_number_ends_those_that_are_idle(pretended: None) -> None:
    with local_workers(2) as first:
        pass
    with local_workers(3) as second:
        assert (first.status, second.many) == (Status.closed, 3)


def test_processes_at_work_are_left_alone(pretended: None) -> None:
    with local_workers(2) as first, local_workers(3):
        end_idle()
        assert first.status == Status.running
    end_idle()
    assert first.status == Status.closed


def test_processes_that_have_died_are_started_anew(pretended: None) -> None:
    with local_workers(2) as first:
        first.close()
    with local_workers(2) as second:
        assert second is not first


def test_processes_end_when_they_are_idle_for_long(
    pretended: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    timers: list[Any] = []

    class Timer:
        def __init__(self, seconds: float, act: Any) -> None:
            self.seconds, self.act, self.runs = seconds, act, False
            timers.append(self)

        def start(self) -> None:
            self.runs = True

        def cancel(self) -> None:
            self.runs = False

    monkeypatch.setattr(cluster_local.threading, "Timer", Timer)
    with local_workers(2):
        pass
    with local_workers(2) as again:
        assert [timer.runs for timer in timers] == [False]
    timers[-1].act()
    assert timers[-1].seconds == cluster_local.IDLE_SECONDS
    assert again.status == Status.closed


def test_a_stranger_is_not_let_in() -> None:
    with local_workers(1) as started:
        address = started.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        with Client(started, set_as_default=False) as ours:
            assert ours.submit(sum, [1, 2]).result(timeout=60) == 3
        with pytest.raises(OSError):
            Client(address.replace("tls://", "tcp://"), timeout=1, set_as_default=False)
    end_idle()
