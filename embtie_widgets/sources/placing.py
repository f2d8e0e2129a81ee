"""Where a model's weights go, and as what: judged by sizes and free memory before any is read."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.machine import CARD, HERE, PAGE, free_bytes, pick_device
from embtie_widgets.progress import spoken
from embtie_widgets.sources.place import tensors_folder
from embtie_widgets.sources.weights import PRECISIONS, Size

_SHARE = 0.9
"""Of the free memory; the rest is for what runs through the model."""
_PREFIX = "embtie-offload-"


@dataclass(frozen=True)
class Placing:
    """Device, numbers and, where the model is larger than the device, what each place may take.

    memory    bytes by place, as accelerate wants them; None where one device holds everything
    disk      whether some weights have to wait on disk
    sentence  for the user
    """

    device: torch.device
    dtype: torch.dtype
    memory: dict[Any, int] | None
    disk: bool
    sentence: str


def place(size: Size, name: str, device: str, precision: str, can_wait: bool = True) -> Placing:
    """Where a model of that size goes; an EmbtieError, with sizes, where it fits nowhere.

    `can_wait` is whether its weights could wait on disk.
    """
    chosen = pick_device(device)
    free = {where: int(_SHARE * left) for where, left in free_bytes(chosen.type).items()}
    free[HERE] = min(free[HERE], free.pop(PAGE, free[HERE]))
    room = free.get(CARD, free[HERE])
    kind = _dtype(size, chosen, precision, room)
    dtype, need = getattr(torch, kind), size.bytes_in(kind)
    where = chosen.type.upper() if chosen.type != "cuda" else "the graphics card"
    if need <= room:
        return Placing(chosen, dtype, None, False, f"{spoken(need)} as {kind} on {where}")
    memory: dict[Any, int] = {0: free[CARD]} if CARD in free else {}
    memory["cpu"] = free[HERE]
    left = need - sum(memory.values())
    if left > 0:
        _check_disk(name, need, kind, free, left, can_wait)
    main = chosen if CARD in free else torch.device("cpu")
    parts = [f"{spoken(some)} on {_NAMES[place]}" for place, some in _shares(memory, need).items()]
    sentence = f"{spoken(need)} as {kind}, more than fits on one place: {', '.join(parts)}"
    return Placing(main, dtype, memory, left > 0, sentence)


_NAMES: dict[Any, str] = {0: "the graphics card", "cpu": "the CPU", "disk": "disk"}


def _shares(memory: dict[Any, int], need: int) -> dict[Any, int]:
    """About how much goes where: a block is never cut."""
    shares = {}
    for where, room in memory.items():
        shares[where] = min(room, need)
        need -= shares[where]
    return shares | ({"disk": need} if need else {})


def checked_precision(precision: str) -> str:
    """The word, if it is one of those that are known."""
    if precision not in ("auto", *PRECISIONS):
        raise EmbtieError(
            f"There is no precision '{precision}'.",
            f"Choose one of auto, {', '.join(PRECISIONS)}.",
        )
    return precision


def _dtype(size: Size, device: torch.device, precision: str, room: int) -> str:
    """ "auto" is what is stored; off the graphics card float32, where that fits."""
    if checked_precision(precision) != "auto":
        return precision
    stored = size.dtype if size.dtype in PRECISIONS else "float32"
    if device.type == "cuda":
        return stored
    return "float32" if size.bytes_in("float32") <= room else stored


def _check_disk(
    name: str, need: int, kind: str, free: dict[str, int], left: int, can_wait: bool
) -> None:
    disk = int(_SHARE * shutil.disk_usage(_existing(_root())).free) if can_wait else 0
    if left <= disk:
        return
    places = [f"{spoken(some)} of {where}" for where, some in free.items()]
    places += [f"{spoken(disk)} of disk"] if can_wait else []
    raise EmbtieError(
        f"'{name}' needs {spoken(need)} as {kind}, and {', '.join(places)} can be used.",
        "Choose a smaller model, close what else is open, or ask for bfloat16.",
    )


def _root() -> Path:
    folder = tensors_folder()
    return Path(tempfile.gettempdir()) if folder is None else folder.parent / "offload"


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


def offload_folder() -> Path:
    """A fresh folder for weights that wait on disk; what kernels that are gone left is removed."""
    root = _root()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError:
        root = Path(tempfile.gettempdir())
    for old in root.glob(f"{_PREFIX}*"):
        owner = old.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=root))
