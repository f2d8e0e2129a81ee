"""The machine that the work runs on: its devices, and how much memory is free; no torch before
somebody asks for a device.

On a served page EMBTIE_VISITOR_MEMORY and EMBTIE_VISITOR_CARD say how many MiB of memory, and of
the graphics card's, one kernel may hold.
"""

import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from embtie_widgets.errors import EmbtieError

if TYPE_CHECKING:
    import torch

HERE, PAGE, CARD = "this machine", "this page", "the graphics card"
VISITOR_MEMORY, VISITOR_CARD = "EMBTIE_VISITOR_MEMORY", "EMBTIE_VISITOR_CARD"
_MIB = 2**20
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


def available_devices() -> list[str]:
    """The names of the devices of this machine, the fastest first; "cpu" is always the last."""
    import torch

    names = []
    if torch.cuda.is_available():
        names.append("cuda")
    if torch.backends.mps.is_available():
        names.append("mps")
    return [*names, "cpu"]


def pick_device(name: str = "auto") -> "torch.device":
    """The device of that name; "auto" is the fastest of this machine."""
    import torch

    known, name = available_devices(), str(name)
    if name == "auto":
        name = known[0]
    if name not in known:
        raise EmbtieError(
            f"There is no device '{name}' on this machine; it has {', '.join(known)}.",
            "Choose one of these, or 'auto'.",
        )
    if name == "cuda":
        _keep_to_share(_mebibytes(VISITOR_CARD))
    return torch.device(name)


def free_bytes(device: str) -> dict[str, int]:
    """Memory that may still be taken, by place: on this machine (or what its container leaves of
    it), by this page where one kernel has a bound, and on the device of that name where that has
    its own."""
    free = {HERE: min([int(psutil.virtual_memory().available), *_left_by_container()])}
    share = _mebibytes(VISITOR_MEMORY)
    if share:
        free[PAGE] = max(share * _MIB - int(psutil.Process().memory_full_info().uss), 0)
    if "torch" in sys.modules:
        import torch

        if pick_device(device).type == "cuda":
            free[CARD] = int(torch.cuda.mem_get_info()[0])
            share = _mebibytes(VISITOR_CARD)
            if share:
                left = share * _MIB - int(torch.cuda.memory_allocated())
                free[CARD] = max(min(free[CARD], left), 0)
    return free


def _mebibytes(variable: str) -> int:
    """What a variable says; 0, which is no bound, where it says nothing that is a number."""
    said = os.environ.get(variable, "")
    return int(said) if said.isascii() and said.isdigit() else 0


@cache
def _keep_to_share(mebibytes: int) -> None:
    """Let this process take no more of the graphics card, once."""
    import torch

    if mebibytes:
        whole = int(torch.cuda.mem_get_info()[1])
        torch.cuda.set_per_process_memory_fraction(min(mebibytes * _MIB / whole, 1.0))


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
