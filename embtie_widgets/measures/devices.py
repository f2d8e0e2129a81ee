"""Where the products run: a named device, and what it can do."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from embtie_widgets.errors import EmbtieError


def available_devices() -> list[str]:
    """The names of the devices of this machine, the fastest first; "cpu" is always the last."""
    names = []
    if torch.cuda.is_available():
        names.append("cuda")
    if torch.backends.mps.is_available():
        names.append("mps")
    return [*names, "cpu"]


def pick_device(name: str = "auto") -> torch.device:
    """The device of that name; "auto" is the fastest of this machine."""
    known, name = available_devices(), str(name)
    if name == "auto":
        return torch.device(known[0])
    if name not in known:
        raise EmbtieError(
            f"There is no device '{name}' on this machine; it has {', '.join(known)}.",
            "Choose one of these, or 'auto'.",
        )
    return torch.device(name)


def has_float64(device: torch.device) -> bool:
    """Whether the device computes in float64 (MPS does not)."""
    return device.type != "mps"


@contextmanager
def full_float32() -> Iterator[None]:
    """Keep float32 products at float32: no TF32, no bfloat16, whatever the user's own setting."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
