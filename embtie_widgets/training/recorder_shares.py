"""Recording by several processes at once: what each caught becomes what all trained on.

Data-parallel training averages gradients over its processes, so parts are averaged too.  A process
that waits for another that never comes would stop somebody's training; so who records is agreed
on at the start, within a time, and at each recorded step all first say whether they caught it.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count

import torch
from torch import Tensor, distributed

from embtie_widgets.training.recorder_hooks import StepCapture

ALONE, TOGETHER, ABSENT = "alone", "together", "absent"
_PATIENCE = timedelta(seconds=30)
_attached: defaultdict[str, Iterator[int]] = defaultdict(count)


def rank() -> int:
    """The number of this process, 0 where there is one."""
    return distributed.get_rank() if _many() else 0


def processes() -> int:
    """How many there are."""
    return distributed.get_world_size() if _many() else 1


def agree(run: str) -> str:
    """How this process records: TOGETHER with all, ALONE as the first, or ABSENT.

    Each process calls it as often as the others for a run of that name.  The first is alone where
    it is the only one, or another does not come in time: its recorder may stand behind an "is main
    process".
    """
    if processes() == 1:
        return ALONE
    number = f"{run}/{next(_attached[run])}"
    store = distributed.distributed_c10d._get_default_store()
    places = [f"embtie/{number}/{other}" for other in range(processes())]
    store.set(places[rank()], "here")
    decision = f"embtie/{number}/how"
    if rank() == 0:
        how = ALONE
        with suppress(RuntimeError):  # what a store raises when the time is over
            store.wait(places, _PATIENCE)
            how = TOGETHER
        store.set(decision, how)
        return how
    try:
        store.wait([decision], 2 * _PATIENCE)
    except RuntimeError:
        return ABSENT
    return TOGETHER if store.get(decision) == TOGETHER.encode() else ABSENT


def all_well(good: bool, device: torch.device) -> bool:
    """Whether every process says so."""
    flag = torch.tensor(float(good), device=device)
    distributed.all_reduce(flag, distributed.ReduceOp.MIN)
    return bool(flag)


def share(caught: StepCapture, loss: Tensor) -> Tensor:
    """Put into `caught` what all processes caught together, and give the mean `loss`."""
    n = processes()
    linear = [caught.input_product, caught.output_product, caught.loss, loss]
    linear += [*caught.whole.values(), *([caught.input_part] if len(caught.input_part) else [])]
    for part in linear:
        distributed.all_reduce(part)
        part /= n
    passed = () if caught.passed is None else caught.passed.parts()
    for total in (caught.proxy, caught.logits, *passed):
        distributed.all_reduce(total)
    caught.proxy /= n**2  # squares of gradients of the mean
    seen = caught.seen.to(torch.uint8)
    distributed.all_reduce(seen, distributed.ReduceOp.MAX)
    caught.seen = seen.bool()
    return loss


def _many() -> bool:
    return distributed.is_available() and distributed.is_initialized()
