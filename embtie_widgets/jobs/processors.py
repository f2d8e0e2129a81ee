"""Sharing the processors of a machine with others."""

import os


def share_processors() -> None:
    """Let the threads of numerical libraries sleep instead of spin while they wait.

    Spinning gains nothing on an idle machine and costs tens of times the work on a busy one.  It
    counts only where torch is not loaded yet, and the user's own setting goes before it.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
