"""The line at the devices: order of arrival, one at a time, and tickets that die with their
process."""

import json
import os
import signal
import subprocess
import sys

import pytest

from embtie_widgets.jobs.line import counts, next_to_go, running
from embtie_widgets.jobs.tickets import ARRIVED, AWAY, RUNNING, WAITING, Ticket, Tickets

HOLDER = """
import os, sys
from pathlib import Path
from embtie_widgets.jobs.tickets import Tickets
drawn = Tickets(Path(sys.argv[1])).draw(os.getpid(), "align", "k")
print(drawn.ticket.number, flush=True)
sys.stdin.readline()
drawn.give_back()
"""


@pytest.fixture
def holder(tmp_path):
    """Start processes that each hold a ticket in `tmp_path`."""
    started = []

    def start():
        command = [sys.executable, "-c", HOLDER, str(tmp_path)]
        process = subprocess.Popen(command, stdin=-1, stdout=-1, text=True)
        started.append(process)
        return process, int(process.stdout.readline())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def waiting(number, device="cpu", size=0, state=WAITING):
    return Ticket(number, 1, "align", state=state, device=device, bytes=size)


def test_numbers_follow_the_order_of_arrival(tmp_path, holder):
    numbers = [holder()[1] for _ in range(3)]
    assert numbers == [1, 2, 3]
    assert [ticket.number for ticket in Tickets(tmp_path).all()] == [1, 2, 3]


def test_the_ticket_of_a_killed_process_is_gone(tmp_path, holder):
    (killed, _), (other, _) = holder(), holder()
    assert set(running(tmp_path)) == {killed.pid, other.pid}
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert set(running(tmp_path)) == {other.pid}
    assert len(list(tmp_path.glob("*.ticket"))) == 1


def test_jobs_are_counted_by_whether_they_wait(tmp_path):
    drawn = [Tickets(tmp_path).draw(os.getpid(), "align", "") for _ in range(3)]
    drawn[0].say(state=RUNNING, device="cpu")
    for one in drawn[1:]:
        one.say(state="waiting", device="cpu")
    assert counts(tmp_path) == {"running": 1, "waiting": 2}
    for one in drawn:
        one.give_back()
    assert counts(tmp_path) == {"running": 0, "waiting": 0}


def test_a_ticket_given_back_is_gone_and_leaves_nothing(tmp_path):
    drawn = Tickets(tmp_path).draw(os.getpid(), "align", "")
    assert list(running(tmp_path)) == [os.getpid()]
    drawn.give_back()
    assert running(tmp_path) == {}
    assert [path.name for path in tmp_path.iterdir()] == ["order.lock"]


def test_a_folder_that_is_not_there_has_no_tickets(tmp_path):
    assert running(tmp_path / "none") == {}


def test_a_damaged_ticket_is_no_ticket(tmp_path):
    drawn = Tickets(tmp_path).draw(os.getpid(), "align", "")
    (path,) = tmp_path.glob("*.ticket")
    for damage in (b"", b"[]", b'{"pid": 1}', json.dumps({"x": 1}).encode()):
        path.write_bytes(damage)
        assert running(tmp_path) == {}
    drawn.say(stage="fitting")
    assert running(tmp_path)[os.getpid()].stage == "fitting"
    drawn.give_back()


def test_a_ticket_says_how_far_its_job_is(tmp_path):
    drawn = Tickets(tmp_path).draw(os.getpid(), "align", "")
    drawn.say(state=RUNNING, device="cpu", stage="fitting", done=2, total=5)
    told = running(tmp_path)[os.getpid()]
    assert told == drawn.ticket
    assert (told.stage, told.done, told.total) == ("fitting", 2, 5)
    drawn.give_back()


def test_the_first_of_each_device_goes():
    line = [waiting(3), waiting(1), waiting(2, "cuda"), waiting(4, "cuda")]
    assert next_to_go(line, free=1) == {1, 2}


def test_nobody_goes_to_a_device_that_is_taken():
    taken = waiting(7, state=RUNNING)
    assert next_to_go([taken, waiting(1), waiting(2, "cuda")], free=1) == {2}


def test_who_has_just_arrived_is_not_overtaken():
    assert next_to_go([waiting(1), waiting(2, "", state=ARRIVED), waiting(3, "cuda")], 1) == {1}


def test_who_is_away_keeps_nobody_back():
    assert next_to_go([waiting(1, state=AWAY), waiting(2)], free=1) == {2}


def test_together_they_keep_within_the_memory_that_is_free():
    going = waiting(1, "cuda", size=6, state=RUNNING)
    assert next_to_go([going, waiting(2, size=5)], free=10) == set()
    assert next_to_go([going, waiting(2, size=4)], free=10) == {2}


def test_one_alone_may_ask_for_more_than_is_free():
    assert next_to_go([waiting(1, size=50)], free=10) == {1}


def test_who_waits_for_memory_is_overtaken_by_nobody():
    going = waiting(1, "cuda:0", size=6, state=RUNNING)
    later = [waiting(2, "cpu", size=5), waiting(3, "cuda:1", size=1)]
    assert next_to_go([going, *later], free=10) == set()
