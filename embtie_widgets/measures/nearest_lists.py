"""The k nearest points of many points, exactly, without ever holding all their distances.

First a screening in float32, then an exact look at the few candidates that it leaves.  Where more
points lie together than it can keep apart, it is made again in float64, and where even that
leaves too many equal ones, all values are looked at.
"""

from dataclasses import dataclass

import torch

from embtie_widgets.measures.pausing import Pause, Remembered
from embtie_widgets.measures.points import Points, piece
from embtie_widgets.measures.screening import STAGE, Candidates, screen, screen_some
from embtie_widgets.progress import Progress, silent

# So many lists are put in order at once.
_RANKED = 1024


def nearest_lists(
    points: Points,
    first: torch.Tensor,
    k: int,
    asking: torch.Tensor,
    device: torch.device,
    progress: Progress = silent,
) -> torch.Tensor:
    """(m, k) int64: the k nearest points of each asking point (m,).

    The nearest first, by float64 of the stored values; points whose nearness differs by no more
    than float64 rounding come in their own order.  A point is never in its own list.  `first`
    (n,) is the first point that is equal to each: equal ones are searched for once.
    """
    firsts, group, counts = first.unique(return_inverse=True, return_counts=True)
    if len(firsts) == len(points):
        return _search(points, k, asking, device, progress)
    groups = Groups(group.argsort(stable=True), counts.cumsum(0) - counts, counts)
    distinct, few = points.only(firsts), min(k, len(firsts) - 1)
    asked, line = group[asking].unique(return_inverse=True)
    lists = asked.new_empty(len(asked), 0)
    if few:
        lists = _search(distinct, few, asked, device, progress)
    wide = _with_equals(points, distinct, groups, k, asked, lists, progress)[line]
    # One place more than k, for the point itself.
    others = (wide == asking[:, None]).int().argsort(dim=1, stable=True)[:, :k]
    return wide.gather(1, others)


@dataclass(frozen=True)
class Groups:
    """Points (n,) that are equal, gathered: members (n,) lists them group by group in their own
    order, starts (g,) and counts (g,) say where each group stands there."""

    members: torch.Tensor
    starts: torch.Tensor
    counts: torch.Tensor

    @property
    def firsts(self) -> torch.Tensor:
        """(g,) the first of each group."""
        return self.members[self.starts]

    def spread(
        self, groups: torch.Tensor, near: torch.Tensor, most: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The members (m, w) of groups (m, c), at most so many of each, with the nearness (m, c)
        of their group; minus infinity where a row holds fewer than others."""
        sizes = self.counts[groups].clamp(max=most)
        ends = sizes.cumsum(1)
        place = torch.arange(int(ends[:, -1].max())).repeat(len(groups), 1)
        slot = torch.searchsorted(ends, place, right=True)
        real, slot = slot < groups.shape[1], slot.clamp(max=groups.shape[1] - 1)
        inside = place - (ends - sizes).gather(1, slot)
        at = self.starts[groups.gather(1, slot)] + torch.where(real, inside, 0)
        return self.members[at], near.gather(1, slot).masked_fill_(~real, -torch.inf)


def _with_equals(
    points: Points,
    distinct: Points,
    groups: Groups,
    k: int,
    asked: torch.Tensor,
    lists: torch.Tensor,
    progress: Progress,
) -> torch.Tensor:
    """(m, k + 1) points nearest to the distinct points `asked` (m,), those equal to it among them,
    from their lists (m, few) of distinct points."""
    wide = torch.full((len(asked), k + 1), -1)
    wide[:, : lists.shape[1]] = groups.firsts[lists]
    several = groups.counts > 1
    touched = several[asked] | several[lists].any(1) | (lists.shape[1] < k)
    together = max(1, piece(points.width) // (k + 1))
    rows = touched.nonzero()[:, 0]
    for number, some in enumerate(rows.split(together)):
        progress("placing equal rows", number * together, len(rows))
        here = torch.cat([asked[some, None], lists[some]], 1)
        others, near = groups.spread(here, distinct.nearness(asked[some], here), k + 1)
        wide[some] = ordered(points, groups.firsts[asked[some]], others, near, k + 1)
    return wide


def _search(
    points: Points, k: int, asking: torch.Tensor, device: torch.device, progress: Progress
) -> torch.Tensor:
    """(m, k) int64 as `nearest_lists`, whatever points are equal."""
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
    lists = torch.zeros(len(asking), k, dtype=torch.int64)
    whole = found.complete.nonzero()[:, 0]
    said = Remembered(progress)
    for number, some in enumerate(whole.split(_RANKED) if len(whole) else ()):
        said("ranking neighbours", number * _RANKED, len(whole))
        width = max(k, int(found.real[some].sum(1).max()))
        ids, real = found.ids[some, :width].long(), found.real[some, :width]
        together = max(1, 4 * piece(points.width) // width)
        pieces = zip(asking[some].split(together), ids.split(together), strict=True)
        near = torch.cat([_near(points, *pair, said.again) for pair in pieces])
        near.masked_fill_(~real, -torch.inf)
        lists[some] = ordered(points, asking[some], ids, near, k)
    return lists


def _near(points: Points, rows: torch.Tensor, others: torch.Tensor, pause: Pause) -> torch.Tensor:
    """Their nearness, and a pause."""
    pause()
    return points.nearness(rows, others)


def exact_lists(
    points: Points, k: int, asking: torch.Tensor, progress: Progress = silent
) -> torch.Tensor:
    """(m, k): the same as `nearest_lists`, straight from all values: slow for many points."""
    everyone = torch.arange(len(points))
    lists, said = torch.zeros(len(asking), k, dtype=torch.int64), Remembered(progress)
    for done, one in enumerate(asking.tolist()):
        said(STAGE, done, len(asking))
        row = torch.tensor([one])
        parts = everyone.split(piece(points.width))
        near = torch.cat([_near(points, row, some[None], said.again) for some in parts], 1)
        near[0, one] = -torch.inf
        lists[done] = ordered(points, row, everyone[None], near, k)[0]
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
