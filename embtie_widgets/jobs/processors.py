"""Sharing the processors of a machine with others."""

import os

# Turns of a waiting thread, some 50 microseconds: enough for the next of many small products, which
# else wake it each time, and next to nothing where another has its processor.
_TURNS = "20000"


def share_processors() -> None:
    """Let the threads of numerical libraries sleep instead of spin while they wait for long.

    Spinning gains nothing on an idle machine and costs tens of times the work on a busy one.  It
    counts only where torch is not loaded yet, and the user's own setting goes before it.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.environ.setdefault("GOMP_SPINCOUNT", _TURNS)
