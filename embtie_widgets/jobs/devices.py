"""Which devices may be chosen, and how much memory is free."""

import sys

from embtie_widgets.machine import available_devices, free_bytes

__all__ = ["available", "free_bytes"]


def available(chosen: str = "auto") -> list[str]:
    """What the device control offers: "auto" first, and what was `chosen` even where it is missing.

    Without torch at hand it names what may exist; asking torch costs two seconds, so that waits
    until some work has loaded it.
    """
    found = available_devices() if "torch" in sys.modules else ["cpu"]
    return list(dict.fromkeys(["auto", *found, chosen]))
