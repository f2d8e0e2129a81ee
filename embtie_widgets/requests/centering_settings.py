"""Ready settings of a sweep of output centering, each with what it shows."""

from typing import Any

SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "Several methods side by side": (
        {"lr": 3e-2},
        "Five methods on one axis of time, at one learning rate above the usual ones.",
    ),
    "A sweep": (
        {"rates": (3e-3, 3e-2, 3e-1)},
        "Five methods at three learning rates; the grid fills as the runs come to their end.",
    ),
}
"""By name: the fields in which it differs from a plain request, and a sentence."""
