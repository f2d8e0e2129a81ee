"""The k nearest points of many points, exactly, without ever holding all their distances."""

import torch

from embtie_widgets.measures.points import Points, piece
from embtie_widgets.progress import Progress, silent

STAGE = "finding neighbours"


def nearest_lists(
    points: Points, k: int, asking: torch.Tensor | None = None, progress: Progress = silent
) -> torch.Tensor:
    """(m, k) int64: the k nearest points of each asking point (m,), or of all of them.

    The nearest first, by float64 of the stored values; points whose nearness differs by no more
    than float64 rounding come in their own order.  A point is never in its own list.
    """
    asking = torch.arange(len(points)) if asking is None else asking
    return exact_lists(points, k, asking, progress)


def exact_lists(
    points: Points, k: int, asking: torch.Tensor, progress: Progress = silent
) -> torch.Tensor:
    """(m, k): the same as `nearest_lists`, straight from the values: slow for many points."""
    everyone = torch.arange(len(points))
    found = []
    for done, one in enumerate(asking.tolist()):
        row = torch.tensor([one])
        parts = [points.nearness(row, some[None]) for some in everyone.split(piece(points.width))]
        near = torch.cat(parts, 1)
        near[0, one] = -torch.inf
        found.append(ordered(points, row, everyone[None], near, k))
        progress(STAGE, done + 1, len(asking))
    return torch.cat(found) if found else torch.empty(0, k, dtype=torch.int64)


def ordered(
    points: Points, rows: torch.Tensor, others: torch.Tensor, near: torch.Tensor, k: int
) -> torch.Tensor:
    """(m, k) of the others (m, c): the nearest first, equal ones in their own order.

    near (m, c) float64 is their nearness to the rows (m,), minus infinity for those that are no
    candidates.  Equal are those that rounding cannot tell apart.
    """
    near, place = near.sort(1, descending=True)
    others = others.expand_as(place).gather(1, place)
    doubt = points.doubt(rows, others, near)
    apart = near[:, :-1] - near[:, 1:] > doubt[:, :-1] + doubt[:, 1:]
    group = torch.nn.functional.pad(apart.cumsum(1), (1, 0))
    key = group * (len(points) + 1) + others
    key[near == -torch.inf] = torch.iinfo(torch.int64).max
    return others.gather(1, key.argsort(1)[:, :k])
