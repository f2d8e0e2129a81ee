"""transformers, whole, whichever thread asks for it first."""

import sys
from typing import Any


def transformers() -> Any:
    """The library.

    At the end of its import it puts another module in its own place.  A thread that has waited for
    another one's import is handed the first of the two, which is empty; so it is looked up again.
    """
    import transformers  # noqa: F401

    return sys.modules["transformers"]
