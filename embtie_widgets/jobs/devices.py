"""Which devices may be chosen, and how much memory is free."""

import sys
from pathlib import Path

import psutil

_GROUP = Path("/sys/fs/cgroup")


def available() -> list[str]:
    """What the device control offers: "auto" first.

    Without torch at hand it names what may exist; asking torch costs two seconds, so that waits
    until some work has loaded it.
    """
    if "torch" not in sys.modules:
        return ["auto", "cpu"]
    from embtie_widgets.measures.devices import available_devices

    return ["auto", *available_devices()]


def free_bytes() -> int:
    """Memory that may still be taken here: the machine's, or what a container leaves of it."""
    free = [int(psutil.virtual_memory().available)]
    try:
        limit, used = ((_GROUP / f"memory.{name}").read_text() for name in ("max", "current"))
        cached = (_GROUP / "memory.stat").read_text().split("inactive_file ")[1].split()[0]
        free.append(int(limit) - int(used) + int(cached))
    except (OSError, ValueError, IndexError):
        pass  # no container, or one without a limit ("max")
    return max(min(free), 0)
