"""Which devices may be chosen."""

import sys


def available() -> list[str]:
    """What the device control offers: "auto" first.

    Without torch at hand it names what may exist; asking torch costs two seconds, so that waits
    until some work has loaded it.
    """
    if "torch" not in sys.modules:
        return ["auto", "cpu"]
    from embtie_widgets.measures.devices import available_devices

    return ["auto", *available_devices()]
