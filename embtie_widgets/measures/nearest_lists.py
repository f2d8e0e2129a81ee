"""The k nearest points of many points, exactly, without ever holding all their distances.

First a screening in float32, then an exact look at the few candidates that it leaves.  Where more
points lie together than it can keep apart, it is made again in float64, and where even that
leaves too many equal ones, all values are looked at.
"""

import torch

from embtie_widgets.measures.points import Points, piece
from embtie_widgets.measures.screening import STAGE, Candidates, screen, screen_some
from embtie_widgets.progress import Progress, silent


def nearest_lists(
    points: Points, k: int, asking: torch.Tensor, device: torch.device, progress: Progress = silent
) -> torch.Tensor:
    """(m, k) int32: the k nearest points of each asking point (m,).

    The nearest first, by float64 of the stored values; points whose nearness differs by no more
    than float64 rounding come in their own order.  A point is never in its own list.
    """
    fast = torch.empty(0, dtype=torch.float32, device=device)
    room = k + max(16, k // 4)
    # Where all ask, a product of two blocks serves both.
    if 2 * len(asking) >= len(points):
        found = screen(points, k, room, fast, progress).of(asking)
    else:
        found = screen_some(points, asking, k, room, fast, progress)
    lists = _ranked(points, k, asking, found, progress)
    crowded = (~found.complete).nonzero()[:, 0]
    if len(crowded):
        slow = torch.empty(0, dtype=torch.float64)
        closer = screen_some(points, asking[crowded], k, 2 * k + 64, slow, progress)
        lists[crowded] = _ranked(points, k, asking[crowded], closer, progress)
        crowded = crowded[~closer.complete]
        lists[crowded] = exact_lists(points, k, asking[crowded], progress)
    return lists


def _ranked(
    points: Points, k: int, asking: torch.Tensor, found: Candidates, progress: Progress
) -> torch.Tensor:
    """(m, k) the candidates in the order of their exact nearness; nothing for incomplete rows."""
    lists = torch.zeros(len(asking), k, dtype=torch.int32)
    whole = found.complete.nonzero()[:, 0]
    widest = found.real.sum(1)
    together = max(1, piece(points.width) // max(1, found.ids.shape[1]))
    for number, some in enumerate(whole.split(together)):
        width = max(k, int(widest[some].max()))
        ids, real = found.ids[some, :width].long(), found.real[some, :width]
        near = points.nearness(asking[some], ids).masked_fill_(~real, -torch.inf)
        lists[some] = ordered(points, asking[some], ids, near, k).int()
        if number % 64 == 0:
            progress("ranking neighbours", number * together, len(whole))
    return lists


def exact_lists(
    points: Points, k: int, asking: torch.Tensor, progress: Progress = silent
) -> torch.Tensor:
    """(m, k): the same as `nearest_lists`, straight from all values: slow for many points."""
    everyone = torch.arange(len(points))
    lists = torch.zeros(len(asking), k, dtype=torch.int32)
    for done, one in enumerate(asking.tolist()):
        row = torch.tensor([one])
        parts = everyone.split(piece(points.width))
        near = torch.cat([points.nearness(row, some[None]) for some in parts], 1)
        near[0, one] = -torch.inf
        lists[done] = ordered(points, row, everyone[None], near, k)[0].int()
        progress(STAGE, done + 1, len(asking))
    return lists


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
