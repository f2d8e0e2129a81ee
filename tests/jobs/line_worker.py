"""A process that takes its turn in a line: `python line_worker.py LOG REQUEST SAYS...`.

Its work is a line of the log when it begins and one when it ends, which it does once the test
writes a line to it.  What it reports goes to its output.
"""

import json
import os
import sys
from pathlib import Path

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import run as doors
from embtie_widgets.jobs.estimate import Estimate
from embtie_widgets.jobs.turn import in_turn
from embtie_widgets.requests import read_request

LOG, REQUEST, HOW = Path(sys.argv[1]), read_request(sys.argv[2]), json.loads(sys.argv[3])
KEPT = LOG.with_suffix(".kept")


def note(word):
    with LOG.open("a") as log:
        log.write(f"{word} {os.getpid()}\n")


def say(stage, done, total):
    print(f"{stage}|{done}|{total}", flush=True)


def work(request, progress):
    if KEPT.exists():
        return KEPT.read_text()
    note("begins")
    progress("fitting", 2, 5)
    if HOW.get("by_hand"):
        print("works", flush=True)
        while sys.stdin.readline().strip() == "go on":
            progress("fitting", 3, 5)
    if HOW.get("fails"):
        raise EmbtieError("It fails.", "So be it.")
    note("ends")
    if HOW.get("keeps"):
        KEPT.write_text("the result")
    return "the result"


def main():
    doors.run = lambda request, progress: work(request, progress)
    doors.look = lambda request: KEPT.read_text() if KEPT.exists() else None
    doors.estimate = lambda request: Estimate(HOW.get("seconds", 60), HOW.get("bytes", 0))
    say("arrives", 0, 1)
    try:
        print("result", in_turn(REQUEST, say), flush=True)
    except EmbtieError as error:
        print("error", error.message, flush=True)


if __name__ == "__main__":
    main()
