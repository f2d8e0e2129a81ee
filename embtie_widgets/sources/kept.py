"""What a process keeps of a job to be quicker with the next, and how it is given back.

Whoever keeps something large says so here, with what lets go of it.
"""

import ctypes
import gc
import sys
from collections.abc import Callable
from contextlib import suppress

import psutil

_ways: list[Callable[[], None]] = []


def keeps(let_go: Callable[[], None]) -> Callable[[], None]:
    """Register what lets go of something that is kept."""
    _ways.append(let_go)
    return let_go


def private_bytes() -> int:
    """Memory that is this process's alone, about: mapped files are shared with others."""
    known = psutil.Process().memory_info()
    return int(known.rss - getattr(known, "shared", 0))


def give_back(most: int) -> None:
    """Hand the system what is no longer used; where more than `most` bytes are held even then, let
    go of all that is kept."""
    _hand_over()
    if private_bytes() > most:
        for let_go in _ways:
            let_go()
        _hand_over()


def _hand_over() -> None:
    gc.collect()
    if "torch" in sys.modules:
        import torch

        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
    # The C library keeps what was freed for itself; where there is no such call, so be it.
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
