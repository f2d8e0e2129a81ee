"""Which devices may be chosen, and how much memory is free."""

import sys
from pathlib import Path

import psutil

_GROUP = Path("/sys/fs/cgroup")
_LIMITS = (
    ("memory.max", "memory.current", "", "inactive_file"),
    (
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "memory",
        "total_inactive_file",
    ),
)


def available() -> list[str]:
    """What the device control offers: "auto" first.

    Without torch at hand it names what may exist; asking torch costs two seconds, so that waits
    until some work has loaded it.
    """
    if "torch" not in sys.modules:
        return ["auto", "cpu"]
    from embtie_widgets.measures.devices import available_devices

    return ["auto", *available_devices()]


def free_bytes(device: str) -> dict[str, int]:
    """Memory that may still be taken, by place: on this machine (or what its container leaves of
    it), and on the device of that name where that has its own."""
    free = {"this machine": min([int(psutil.virtual_memory().available), *_left_by_container()])}
    if "torch" in sys.modules:
        import torch

        from embtie_widgets.measures.devices import pick_device

        if pick_device(device).type == "cuda":
            free["the graphics card"] = int(torch.cuda.mem_get_info()[0])
    return free


def _left_by_container() -> list[int]:
    """What control groups, of either version, leave; nothing where there is no limit."""
    found = []
    for limit, used, folder, word in _LIMITS:
        try:
            total, taken = (int((_GROUP / folder / name).read_text()) for name in (limit, used))
            stat = dict(map(str.split, (_GROUP / folder / "memory.stat").read_text().splitlines()))
            found.append(max(total - taken + int(stat[word]), 0))
        except (OSError, ValueError, KeyError):
            continue  # not of this version, or without a limit ("max")
    return found
