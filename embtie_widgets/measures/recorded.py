"""Numbers of a gradient that was recorded elsewhere: what its norms say, and over which steps.

Definitions: weight-tying paper, figure 4; shares and angle as in `measures.gradient`, step by step.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.results.gradient import FlowRun

Vector = np.ndarray[Any, np.dtype[Any]]
RANGES = (
    (0, 50), (0, 100), (100, 200), (200, 500), (500, 1_000), (0, 1_000), (1_000, 2_000),
    (2_000, 5_000), (5_000, 10_000),
)  # fmt: skip
"""After which step and to which: those over which the paper's log is summed up."""
SMOOTHED = 20


@dataclass(frozen=True)
class Share:
    """The output's part over the steps after `first`, to `last`; NaN where nothing is logged.

    steps     how many logged steps have both norms
    share     mean of |G_out| / (|G_in| + |G_out|) of each step, 0 to 1
    smoothed  the same of norms averaged over 20 steps first, and its range
    ratio     mean of |G_out| / |G_in|, 0 or more; and its median
    proxy     |G_in| is the paper's proxy, the norm at the embedding's output
    """

    first: int
    last: int
    steps: int
    share: float
    smoothed: float
    smoothed_range: tuple[float, float]
    ratio: float
    median_ratio: float
    proxy: bool


def filled(curves: Mapping[str, Vector]) -> dict[str, Vector]:
    """The curves, with those that follow from them: shares, and of angle and whole norm the one
    from the other.  Each (n,); what stands there is left as it is."""
    found = {name: np.asarray(values) for name, values in curves.items()}
    out = found.get("output_norm")
    if out is None:
        return found
    for norm, share in (("input_norm", "norm_share"), ("proxy_norm", "proxy_share")):
        if norm in found and share not in found:
            found[share] = _ratio(out, found[norm] + out)
    if "input_norm" in found:
        found = _of_angle(found, found["input_norm"], out) | found
    return found


def _of_angle(found: Mapping[str, Vector], own: Vector, out: Vector) -> dict[str, Vector]:
    """What the product <G_in, G_out> gives, if either angle or whole norm is there."""
    if "cosine" in found:
        inner = own * out * found["cosine"]
    elif "total_norm" in found:
        inner = (found["total_norm"] ** 2 - own**2 - out**2) / 2
    else:
        return {}
    total = np.maximum(own**2 + out**2 + 2 * inner, 0.0)
    return {
        "cosine": np.clip(_ratio(inner, own * out), -1, 1),
        "total_norm": np.sqrt(total),
        "output_share": _ratio(out**2 + inner, total),
    }


def share_of(run: FlowRun, first: int, last: int) -> Share:
    """The output's part over the steps after `first`, to `last`."""
    proxy = not run.knows("input_norm")
    steps, out = np.asarray(run.curves["step"]), run.curve("output_norm")
    own = run.curve("proxy_norm" if proxy else "input_norm")
    inside = (steps > first) & (steps <= last)
    share, ratio = (_known(_ratio(out, under), inside) for under in (own + out, own))
    smooth = _known(_smooth(run, proxy), inside)
    ends = (float(smooth.min()), float(smooth.max())) if len(smooth) else (np.nan, np.nan)
    return Share(
        first, last, len(share), _mean(share), _mean(smooth), ends, _mean(ratio),
        float(np.median(ratio)) if len(ratio) else float("nan"), proxy,
    )  # fmt: skip


def shares_of(run: FlowRun) -> tuple[Share, ...]:
    """Over those of RANGES in which anything is logged."""
    found = (share_of(run, first, last) for first, last in RANGES)
    return tuple(share for share in found if share.steps)


def _smooth(run: FlowRun, proxy: bool) -> Vector:
    if proxy:
        return run.paper_share(SMOOTHED)
    own, out = run.curve("input_norm", SMOOTHED), run.curve("output_norm", SMOOTHED)
    return _ratio(out, own + out)


def _ratio(a: Vector, b: Vector) -> Vector:
    found: Vector = np.divide(a, b, out=np.full(len(a), np.nan), where=b > 0)
    return found


def _known(values: Vector, inside: Vector) -> Vector:
    known: Vector = values[inside & np.isfinite(values)]
    return known


def _mean(values: Vector) -> float:
    return float(values.mean()) if len(values) else float("nan")
