"""Where the runs of a sweep are carried out: in this process, in worker processes of this machine,
or on a Dask cluster.

It is a choice of the user of this kernel, or of the variable EMBTIE_CLUSTER, and no part of a
request: neither a link nor a result carries an address.  On a shared page the owner's variable
alone counts.
"""

import os
import re
from dataclasses import dataclass, field

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.fields import short
from embtie_widgets.sources.permission import is_served

VARIABLE = "EMBTIE_CLUSTER"
HERE, LOCAL, CLUSTER = "here", "local", "cluster"
SPREAD_KINDS = ("bottleneck-trials", "centering")
"""The kinds of request that are made of runs which can be spread over workers."""
MOST_WORKERS = 256
_LOCAL = re.compile(r"local(?::([0-9]{1,4}))?", re.ASCII)
_SCHEDULER = re.compile(r"(?:(tcp|tls|ws|wss)://)?([\w.-]+|\[[0-9a-fA-F:.]+\]):([0-9]{1,5})/?")


@dataclass(frozen=True)
class Place:
    """Where runs are carried out.

    kind     "here", "local" for worker processes of this machine, or "cluster"
    address  of a cluster's scheduler, else ""; not to be shown on a shared page
    words    what it is, fit for every page: without the address
    workers  how many processes are started, for "local"; else 0
    """

    kind: str = HERE
    address: str = field(default="", repr=False)
    words: str = "this machine, one run after the other"
    workers: int = 0


_chosen: Place | None = None


def use_cluster(address: str | None) -> Place:
    """Carry out the runs of sweeps elsewhere, from now on and in this kernel.

    `address` is that of a Dask scheduler, "tcp://host:8786"; or "local:4" for four worker processes
    of this machine, "local" for one on each of its cores; or "here".  None goes back to what the
    variable EMBTIE_CLUSTER says.  Dask sends pickled objects to whoever answers: name no address
    but your own.
    """
    global _chosen
    if is_served():
        raise EmbtieError(
            "On a shared page its owner alone says where runs are carried out.",
            "Run embtie yourself to use a cluster of your own.",
        )
    _chosen = None if address is None else place_of(address)
    return place()


def place() -> Place:
    """Where runs are carried out now; an EmbtieError where EMBTIE_CLUSTER cannot be read."""
    if _chosen is not None and not is_served():
        return _chosen
    return place_of(os.environ.get(VARIABLE) or HERE)


def is_fixed() -> bool:
    """Whether the owner of a shared page has chosen, and its visitors cannot."""
    return is_served()


def place_of(address: str) -> Place:
    """The place that an address, "local", "local:4" or "here" means."""
    text = address.strip() if isinstance(address, str) else ""
    if text == HERE:
        return Place()
    if local := _LOCAL.fullmatch(text):
        return _local(int(local[1]) if local[1] else _cores())
    scheduler = _SCHEDULER.fullmatch(text)
    if scheduler and 0 < int(scheduler[3]) < 2**16:
        protocol, host, port = scheduler[1] or "tcp", scheduler[2], int(scheduler[3])
        return Place(CLUSTER, f"{protocol}://{host}:{port}", "a Dask cluster")
    what = "EMBTIE_CLUSTER" if is_served() else short(address)
    raise EmbtieError(
        f"{what} is no address of a Dask scheduler.",
        'Give one such as "tcp://host:8786", or "local:4" for worker processes of this machine.',
    )


def _local(workers: int) -> Place:
    if not 0 < workers <= MOST_WORKERS:
        raise EmbtieError(
            f"{workers:,} worker processes are asked for; expected 1 to {MOST_WORKERS}.",
            'Give "local" for one on each core of this machine.',
        )
    many = f"{workers:,} worker processes" if workers > 1 else "1 worker process"
    return Place(LOCAL, "", f"{many} on this machine", workers)


def _cores() -> int:
    """That this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(allowed or 1, MOST_WORKERS)
