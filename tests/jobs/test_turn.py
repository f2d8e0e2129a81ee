"""Turns at the device, between real processes: order, equal requests, deaths and full disks."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled
from embtie_widgets.jobs import run as doors
from embtie_widgets.jobs import turn as turns
from embtie_widgets.jobs.estimate import Estimate
from embtie_widgets.jobs.line import LINE, running
from embtie_widgets.jobs.runner import Runner
from embtie_widgets.jobs.tickets import WAITING, Tickets
from embtie_widgets.jobs.turn import FOLLOWING, Turn, before, in_turn
from embtie_widgets.progress import elsewhere, silent
from embtie_widgets.requests.reading import to_json

WORKER = Path(__file__).with_name("line_worker.py")


class Process:
    """One worker; `heard` is all that it has said."""

    def __init__(self, folder, seed=0, **how):
        request = to_json(ew.AlignRequest(seed=seed, device="cpu"))
        command = [sys.executable, str(WORKER), str(folder / "log"), request, json.dumps(how)]
        root = str(WORKER.parents[2])
        known = {LINE: str(folder / "line"), "EMBTIE_CACHE": str(folder), "PYTHONPATH": root}
        self.process = subprocess.Popen(
            command, stdin=-1, stdout=-1, text=True, env=os.environ | known
        )
        self.heard = []

    @property
    def pid(self):
        return self.process.pid

    def until(self, words):
        """Read what it says up to some words; one that never says them is ended."""
        patience = threading.Timer(120, self.process.kill)
        patience.start()
        try:
            for line in self.process.stdout:
                self.heard.append(line.strip())
                if words in line:
                    return line.strip()
        finally:
            patience.cancel()
        raise AssertionError(f"{words} was not said, but {self.heard}")

    def go_on(self):
        """Let its work end."""
        self.process.stdin.write("end\n")
        self.process.stdin.flush()

    def end(self, words="result"):
        """Let its work end and hear what comes of it."""
        self.go_on()
        return self.until(words)


@pytest.fixture
def start(tmp_path):
    started = []

    def process(**how):
        started.append(Process(tmp_path, **how))
        return started[-1]

    yield process
    for one in started:
        one.process.kill()
        one.process.communicate()


def began(folder):
    """The processes whose work has begun, in that order."""
    return [int(pid) for pid in re.findall(r"begins (\d+)", (folder / "log").read_text())]


def in_line(folder):
    return [ticket for ticket in Tickets(folder / "line").all() if ticket.state == WAITING]


def test_one_works_and_the_others_hear_how_many_are_before_them(tmp_path, start):
    first = start(seed=1, by_hand=True)
    first.until("works")
    second = start(seed=2, by_hand=True)
    assert second.until("waiting") == "waiting for the device, 1 before you|0|1"
    third = start(seed=3, by_hand=True)
    assert third.until("waiting") == "waiting for the device, 2 before you|0|1"
    assert began(tmp_path) == [first.pid]
    first.end()
    second.until("works")
    third.until("1 before you")
    assert began(tmp_path) == [first.pid, second.pid]
    second.end()
    third.until("works")
    third.end()
    assert began(tmp_path) == [first.pid, second.pid, third.pid]
    assert running(tmp_path / "line") == {}


def test_twenty_go_in_the_order_in_which_they_came(tmp_path, start):
    holder = start(seed=1, by_hand=True)
    holder.until("works")
    line = []
    for seed in range(2, 22):
        line.append(start(seed=seed))
        line[-1].until("waiting")
    holder.end()
    for one in line:
        one.until("result")
    assert began(tmp_path) == [one.pid for one in (holder, *line)]
    log = (tmp_path / "log").read_text().split("\n")
    words = [line.split()[0] for line in log if line]
    assert words == ["begins", "ends"] * 21  # never two at a time


def test_the_death_of_the_one_at_the_device_lets_the_next_go(tmp_path, start):
    first, second = start(seed=1, by_hand=True), None
    first.until("works")
    second = start(seed=2)
    second.until("waiting")
    first.process.send_signal(signal.SIGKILL)
    second.until("result")
    assert began(tmp_path) == [first.pid, second.pid]


def test_the_death_of_one_in_the_line_lets_the_others_move_up(tmp_path, start):
    first, second, third = (start(seed=1, by_hand=True), None, None)
    first.until("works")
    second = start(seed=2)
    second.until("waiting")
    third = start(seed=3)
    third.until("2 before you")
    second.process.send_signal(signal.SIGKILL)
    third.until("1 before you")
    first.end()
    third.until("result")
    assert began(tmp_path) == [first.pid, third.pid]


def test_what_takes_but_a_moment_does_not_wait(tmp_path, start):
    first = start(seed=1, by_hand=True)
    first.until("works")
    quick = start(seed=2, seconds=0.2)
    quick.until("result")
    assert not [line for line in quick.heard if "waiting" in line]
    assert set(running(tmp_path / "line")) == {first.pid}


def test_what_is_in_the_cache_does_not_wait(tmp_path, start):
    first = start(seed=1, by_hand=True)
    first.until("works")
    (tmp_path / "log.kept").write_text("an earlier result")
    quick = start(seed=2)
    assert quick.until("result") == "result an earlier result"
    assert began(tmp_path) == [first.pid]


def test_the_same_asked_by_three_is_computed_once_and_followed(tmp_path, start):
    first = start(seed=1, by_hand=True, keeps=True)
    first.until("works")
    others = [start(seed=1), start(seed=1)]
    for one in others:
        assert one.until(FOLLOWING)
    time.sleep(0.6)
    first.process.stdin.write("go on\n")
    first.process.stdin.flush()
    for one in others:
        assert one.until("fitting|3|5") == f"{FOLLOWING}: fitting|3|5"
    first.end()
    assert [one.until("result") for one in others] == ["result the result"] * 2
    assert began(tmp_path) == [first.pid]


@pytest.mark.parametrize("end", ["fails", "dies"])
def test_where_the_first_comes_to_nothing_the_next_does_it_and_the_third_follows(
    tmp_path, start, end
):
    first = start(seed=1, by_hand=True, fails=True)
    first.until("works")
    second = start(seed=1, by_hand=True, keeps=True)
    second.until(FOLLOWING)
    third = start(seed=1)
    third.until(FOLLOWING)
    if end == "fails":
        first.end("error")
    else:
        first.process.send_signal(signal.SIGKILL)
    second.until("works")
    second.end()
    assert third.until("result") == "result the result"
    assert began(tmp_path) == [first.pid, second.pid]


def test_without_a_cache_nobody_waits_for_a_result_that_is_not_kept(tmp_path, start, monkeypatch):
    monkeypatch.setenv(LINE, str(tmp_path / "line"))
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    with Turn(ew.AlignRequest(), silent):
        (ticket,) = running(tmp_path / "line").values()
    assert ticket.key == ""


@pytest.fixture
def heavy(tmp_path, monkeypatch):
    """Requests of this process are heavy, and there is a line; gives its folder."""
    monkeypatch.setenv(LINE, str(tmp_path / "line"))
    monkeypatch.setattr(doors, "estimate", lambda request: Estimate(60, 0))
    monkeypatch.setattr(doors, "look", lambda request: None)
    monkeypatch.setattr(doors, "run", lambda request, progress: "the result")
    return tmp_path


def test_who_is_called_off_leaves_the_line(heavy, start):
    first = start(seed=1, by_hand=True)
    first.until("works")
    heard = []

    def say(stage, done, total):
        heard.append(len(in_line(heavy)))
        if len(heard) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        in_turn(ew.AlignRequest(seed=5, device="cpu"), say)
    assert heard == [1, 1, 1]
    assert in_line(heavy) == []


def test_the_clock_of_the_machine_has_no_say_in_the_order(heavy, monkeypatch):
    order, gate = [], threading.Event()
    clock = iter(range(10**9, 0, -(10**6)))  # each time an hour and more earlier
    monkeypatch.setattr(time, "time", lambda: next(clock))

    def run(request, progress):
        assert gate.wait(10)
        order.append(request.seed)

    monkeypatch.setattr(doors, "run", run)
    threads = []
    for seed in range(5):
        request = ew.AlignRequest(seed=seed, device="cpu")
        threads.append(threading.Thread(target=in_turn, args=(request, silent)))
        threads[-1].start()
        while len(Tickets(heavy / "line").all()) < seed + 1:
            time.sleep(0.01)
    gate.set()
    for thread in threads:
        thread.join(30)
    assert order == [0, 1, 2, 3, 4]


def test_where_no_ticket_can_be_written_the_work_goes_on_with_a_word_in_the_log(
    heavy, monkeypatch, caplog
):
    (heavy / "line").write_text("a file, and no folder")
    assert in_turn(ew.AlignRequest(device="cpu"), silent) == "the result"
    assert "without the line" in caplog.text


def test_a_disk_that_fills_up_meanwhile_keeps_nobody_from_working(heavy, monkeypatch, caplog):
    from embtie_widgets.jobs import cache

    with Turn(ew.AlignRequest(device="cpu"), silent) as turn:

        def full(path, data):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(cache, "write_whole", full)
        turn.take()
        turn.progress("fitting", 1, 2)
    assert caplog.text.count("No space left") == 1
    assert running(heavy / "line") == {}


def test_who_has_lost_its_ticket_works_on(heavy):
    with Turn(ew.AlignRequest(device="cpu"), silent) as turn:
        for path in (heavy / "line").iterdir():
            path.unlink()
        turn.take()


def test_no_line_no_ticket(tmp_path, monkeypatch):
    monkeypatch.delenv(LINE, raising=False)
    monkeypatch.setattr(doors, "run", lambda request, progress: "the result")
    assert in_turn(ew.AlignRequest(), silent) == "the result"


def test_who_fetches_something_leaves_the_device_to_others_and_comes_back_in_its_turn(
    heavy, monkeypatch, start
):
    others = []

    def run(request, progress):
        with elsewhere(2**30):
            others.append(start(seed=2, by_hand=True))
            others[0].until("works")
            others.append(start(seed=3))
            others[1].until("waiting")
            (ticket,) = (t for t in Tickets(heavy / "line").all() if t.pid == os.getpid())
            assert ticket.device == ""
            others[0].go_on()
        assert began(heavy) == [others[0].pid]  # the third came later
        return "the result"

    monkeypatch.setattr(doors, "run", run)
    assert in_turn(ew.AlignRequest(seed=1, device="cpu"), silent) == "the result"
    others[1].until("result")


def test_for_a_small_file_nobody_leaves_the_device(heavy, monkeypatch):
    def run(request, progress):
        with elsewhere(1000):
            return running(heavy / "line")[os.getpid()].device

    monkeypatch.setattr(doors, "run", run)
    assert in_turn(ew.AlignRequest(device="cpu"), silent) == "cpu"


def test_a_job_that_failed_while_it_fetched_does_not_come_back_to_the_device(heavy, monkeypatch):
    def run(request, progress):
        with elsewhere(2**30):
            raise Cancelled

    monkeypatch.setattr(doors, "run", run)
    with pytest.raises(Cancelled):
        in_turn(ew.AlignRequest(device="cpu"), silent)
    assert running(heavy / "line") == {}
    with elsewhere(2**30):  # nobody's device any more
        assert running(heavy / "line") == {}


def test_what_waits_in_one_panel_keeps_nothing_short_of_another_back(heavy, monkeypatch, start):
    first = start(seed=1, by_hand=True)
    first.until("works")
    costs = {3: 60.0, 2: 0.2}
    monkeypatch.setattr(doors, "estimate", lambda request: Estimate(costs[request.seed], 0))
    long, short = Ear(), Ear()
    job = Runner().submit(ew.AlignRequest(seed=3, device="cpu"), long)
    assert long.waits.wait(30)
    Runner().submit(ew.AlignRequest(seed=2, device="cpu"), short)
    assert short.ended.wait(30)
    assert short.outcomes[0].result == "the result"
    assert not long.ended.is_set()
    job.cancel()
    assert long.outcomes[0].cancelled


def test_a_job_knows_how_long_it_has_waited(heavy, start):
    first = start(seed=1, by_hand=True)
    first.until("works")
    ear = Ear()
    Runner().submit(ew.AlignRequest(seed=2, device="cpu"), ear)
    assert ear.waits.wait(30)
    first.end()
    assert ear.ended.wait(30)
    (outcome,) = ear.outcomes
    assert 0 < outcome.waited <= outcome.seconds
    assert ear.left > 0


class Ear:
    """Listens to a job, and notes that it waits and for how long."""

    def __init__(self):
        self.outcomes, self.left = [], None
        self.waits, self.ended = threading.Event(), threading.Event()

    def progressed(self, stage):
        if "before you" in stage.stage:
            self.left = stage.remaining
            self.waits.set()

    def finished(self, outcome):
        self.outcomes.append(outcome)
        self.ended.set()


def test_it_is_known_beforehand_how_many_would_go_before(heavy, start):
    request, heavy_cost = ew.AlignRequest(device="cpu"), Estimate(60, 0)
    assert before(request, heavy_cost) == 0
    first = start(seed=1, by_hand=True)
    first.until("works")
    second = start(seed=2)
    second.until("waiting")
    assert before(request, heavy_cost) == 2
    assert before(ew.AlignRequest(device="cuda"), heavy_cost) == 0
    assert before(request, Estimate(0.1, 0)) == 0


@pytest.mark.parametrize(
    ("cluster", "device"), [("tcp://host:8786", "cluster"), ("local:2", "cpu"), ("here", "cpu")]
)
def test_runs_on_a_cluster_do_not_stand_in_the_line_of_this_machine(
    heavy, monkeypatch, cluster, device
):
    monkeypatch.setenv("EMBTIE_CLUSTER", cluster)
    seen = []
    monkeypatch.setattr(
        doors, "run", lambda request, progress: seen.extend(Tickets(heavy / "line").all())
    )
    in_turn(ew.CenteringRequest(device="cpu"), silent)
    in_turn(ew.AlignRequest(device="cpu"), silent)
    assert [ticket.device for ticket in seen] == [device, "cpu"]


def test_a_stage_that_takes_longer_than_was_estimated_is_told_to_those_who_wait(heavy, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(turns.time, "monotonic", lambda: now[0])
    lefts = []

    def run(request, progress):
        for done in range(0, 100, 10):
            now[0] += 20
            progress("training", done, 100)
            lefts.append(running(heavy / "line")[os.getpid()].left)

    monkeypatch.setattr(doors, "run", run)
    in_turn(ew.AlignRequest(device="cpu"), silent)
    assert lefts == [40, 180, 160, 140, 120, 100, 80, 60, 40, 20]
