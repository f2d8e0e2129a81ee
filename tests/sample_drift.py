"""A drift report made by hand from small matrices that turn by known angles."""

from typing import Any

import numpy as np
import torch

from embtie_widgets.measures.drift import drift
from embtie_widgets.requests import DriftRequest
from embtie_widgets.results.drift import Drift, DriftReport

STEPS = (0, 10, 100, 1000)
TOKENS = (b"<s>", b" the", b" a", b"$x$<i>", b"\xe4")
COUNTS = np.array([0, 5, 50, 500, 5000])
DEGREES = {"input": (0, 2, 20, 40), "output": (0, 30, 50, 60), "tied": (0, 28, 50, 61)}


def turned(role: str, place: int) -> torch.Tensor:
    """Five rows, each turned in its plane by the degrees of that step; each row a little more."""
    start = torch.eye(10, dtype=torch.float64)[:5] + 0.0
    angle = torch.deg2rad(torch.tensor(DEGREES[role][place] + 0.0)) * torch.linspace(1, 1.2, 5)
    away = torch.eye(10, dtype=torch.float64)[5:]
    return torch.cos(angle)[:, None] * start + torch.sin(angle)[:, None] * away


def untied(steps: tuple[int, ...] = STEPS) -> Drift:
    kept = [(s, turned("input", i), 2 * turned("output", i)) for i, s in enumerate(steps)]
    return drift(kept, COUNTS)


def tied(steps: tuple[int, ...] = STEPS) -> Drift:
    matrices = [turned("tied", i) for i in range(len(steps))]
    return drift([(s, one, one) for s, one in zip(steps, matrices, strict=True)], COUNTS)


def drift_report(runs: dict[str, Drift] | None = None, **more: Any) -> DriftReport:
    settings = DriftRequest().to_dict() | {"cached": False}
    found = {"one": untied(), "two": tied()} if runs is None else runs
    given: dict[str, Any] = {
        "tokens": TOKENS,
        "token_counts": COUNTS,
        "kinds": np.array([7, 0, 0, 3, 6], np.uint8),
        "failed": {},
        "notes": (),
        "settings": settings,
        "hashes": {"one step 0: input": "aa"},
    }
    return DriftReport(found, **given | more)
