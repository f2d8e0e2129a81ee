"""Worker processes of this machine, which heed nobody but the kernel that started them.

Whoever reaches a scheduler may run what he likes, and the users of one machine reach each other's
ports: so these speak by certificates that live in memory, as long as the processes.

They take seconds to start and to import what they need, so a kernel keeps them for its next sweep;
those that have had nothing to do for long are ended, and all end with the kernel.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from distributed import LocalCluster, Status

IDLE_SECONDS = 15 * 60


@dataclass
class _Kept:
    """Processes that were started, and how many sweeps use them now."""

    cluster: LocalCluster
    users: int = 0
    ending: threading.Timer | None = None

    @property
    def is_alive(self) -> bool:
        return bool(self.cluster.status == Status.running)


_kept: dict[int, _Kept] = {}
_changing = threading.RLock()


@contextmanager
def local_workers(many: int) -> Iterator[LocalCluster]:
    """So many processes, started now or for an earlier sweep."""
    known = _taken(many)
    try:
        yield known.cluster
    finally:
        _given_back(known)


def worker_processes(many: int, *, guarded: bool = True) -> LocalCluster:
    """Processes that do one run at a time each; unless `guarded` anybody here may reach them."""
    return LocalCluster(
        n_workers=many,
        threads_per_worker=1,
        processes=True,
        security=guarded or None,
        silence_logs=logging.ERROR,  # that they end slowly is nothing to tell
        # Without a dashboard too a scheduler says by HTTP how it is; at any port, to this machine.
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
    )


def end_idle(spared: int = 0) -> None:
    """End the processes that no sweep uses, but for those of this number."""
    with _changing:
        for many, known in list(_kept.items()):
            if not known.users and (many != spared or not known.is_alive):
                del _kept[many]
                if known.ending is not None:
                    known.ending.cancel()
                known.cluster.close()


def _taken(many: int) -> _Kept:
    with _changing:
        end_idle(spared=many)
        if many not in _kept:
            _kept[many] = _Kept(worker_processes(many))
        known = _kept[many]
        if known.ending is not None:
            known.ending.cancel()
        known.users += 1
        return known


def _given_back(known: _Kept) -> None:
    with _changing:
        known.users -= 1
        if not known.users:
            known.ending = threading.Timer(IDLE_SECONDS, end_idle)
            known.ending.daemon = True
            known.ending.start()
