"""Where the products run: a named device, and what it can do."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from embtie_widgets.machine import available_devices, pick_device

__all__ = ["available_devices", "full_float32", "has_float64", "pick_device"]


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
