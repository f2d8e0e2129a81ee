"""How long work says where it is.

Every measure takes `progress` and calls it between blocks: `progress(stage, done, total)`.  The
caller may raise `Cancelled` from it; that is the only way work is stopped.
"""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """Report to nobody."""
