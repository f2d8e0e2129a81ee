"""Worker processes of this machine, which hear nobody else.

They take seconds to start and to import what they need, so a kernel keeps them for its next sweep;
those that have had nothing to do for long end by themselves, and all end with the kernel.
"""

import threading

from distributed import LocalCluster, Status

IDLE = "15 minutes"

_kept: dict[int, LocalCluster] = {}
_changing = threading.Lock()


def local_workers(many: int) -> LocalCluster:
    """So many processes, started now or for an earlier sweep."""
    with _changing:
        for count, known in list(_kept.items()):
            if count != many or not _lives(known):
                _kept.pop(count).close()
        if many not in _kept:
            _kept[many] = worker_processes(many)
        return _kept[many]


def worker_processes(many: int, idle: str = IDLE) -> LocalCluster:
    """Processes that do one run at a time each."""
    return LocalCluster(
        n_workers=many,
        threads_per_worker=1,
        processes=True,
        # Without a dashboard too a scheduler says by HTTP how it is; at any port, to this machine.
        scheduler_kwargs={
            "idle_timeout": idle,
            "dashboard": False,
            "dashboard_address": "127.0.0.1:0",
        },
    )


def _lives(known: LocalCluster) -> bool:
    return bool(known.status == known.scheduler.status == Status.running)
