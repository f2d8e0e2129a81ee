"""Modules whose weights wait on the CPU or on disk for their turn (accelerate's device map)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def at_hand(module: Any) -> Iterator[Any]:
    """The module with its weights where it computes; they go back afterwards."""
    if getattr(module, "_hf_hook", None) is None:
        yield module
        return
    from accelerate.utils import align_module_device

    with align_module_device(module):
        yield module


def input_device(model: Any) -> torch.device:
    """Where token ids have to be for the model; where its weights wait elsewhere, the CPU."""
    devices = (parameter.device for parameter in model.parameters())
    return next((device for device in devices if device.type != "meta"), torch.device("cpu"))
