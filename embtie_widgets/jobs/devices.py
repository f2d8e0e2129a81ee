"""Which devices may be chosen, and how much memory is free."""

import sys

from embtie_widgets.machine import available_devices, free_bytes

__all__ = ["available", "free_bytes"]


def available() -> list[str]:
    """What the device control offers: "auto" first.

    Without torch at hand it names what may exist; asking torch costs two seconds, so that waits
    until some work has loaded it.
    """
    if "torch" not in sys.modules:
        return ["auto", "cpu"]
    return ["auto", *available_devices()]
