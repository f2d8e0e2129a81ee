"""A first look at all distances, in the arithmetic of fast products, that loses no neighbour.

Products of float32 rows are off by a little that can be bounded.  So every nearness is taken at
its upper bound; the k-th best lower bound of a point's neighbours so far is what another must
reach to become a candidate, and the candidates are what the exact look has to put in order.
"""

from dataclasses import dataclass

import torch

from embtie_widgets.measures.pausing import Pause, Remembered, no_pause, stripes
from embtie_widgets.measures.points import Points, piece
from embtie_widgets.progress import Progress

STAGE = "finding neighbours"
# Below this many bytes all points are kept in the arithmetic of the products, not made again;
# else so many bytes of them serve each time that the others are made.
_KEPT = 700_000_000
_TOGETHER = 300_000_000
_LANES = 64
_NOWHERE = -1e30


@dataclass(frozen=True)
class Candidates:
    """What the exact look has to put in order.

    ids       (m, c) int32 point numbers, the best first
    real      (m, c) bool: the candidates; the others fill up their row
    complete  (m,) bool: whether no candidate had to be let go
    """

    ids: torch.Tensor
    real: torch.Tensor
    complete: torch.Tensor

    def of(self, rows: torch.Tensor) -> "Candidates":
        """Those of these rows of the list."""
        return Candidates(self.ids[rows], self.real[rows], self.complete[rows])


class Planes:
    """The points (n, d) as rows (p, s - h, 1) of which one product gives upper bounds.

    p is the point in that arithmetic, h half its squared length and s what rounding can add;
    with the last two exchanged on one side, the product of two rows is pq - h_p - h_q + s_p + s_q.
    Heights and widths are filled up with points that are nowhere.

    slack  (height,) the s of the points made so far
    """

    def __init__(self, points: Points, like: torch.Tensor, progress: Progress) -> None:
        self.points, self.like = points, like
        self.width = -(-(points.width + 2) // 16) * 16
        self.height = -(-len(points) // _LANES) * _LANES
        self.shift = _middle(points)
        self.slack = like.new_zeros(self.height)
        self.progress = progress
        keep = like.device.type != "cpu" or self.bytes(self.height) <= _KEPT
        self.kept = self.made(slice(0, self.height)) if keep else None

    def bytes(self, rows: int) -> int:
        """The memory that so many rows take."""
        return rows * self.width * self.like.element_size()

    def block(self, rows: slice) -> torch.Tensor:
        """The rows (m, width) of these points."""
        return self.made(rows) if self.kept is None else self.kept[rows]

    def made(self, rows: "slice | torch.Tensor") -> torch.Tensor:
        """The same, made anew from the values."""
        numbers = torch.arange(self.height)[rows] if isinstance(rows, slice) else rows
        out = torch.zeros(len(numbers), self.width, dtype=self.like.dtype)
        d, start = self.points.width, 0
        for some in numbers.split(piece(d)):
            real = some[some < len(self.points)]
            part = out[start : start + len(some)]
            exact = self.points.exact(real) - self.shift
            part[: len(real), :d] = exact
            half = part[: len(real), :d].double().square().sum(1) / 2
            slack = self._slack(half) + self.points.slack()[real]
            self.slack[real] = slack.to(self.slack)
            part[:, d] = _NOWHERE
            part[: len(real), d] = slack - half
            start += len(some)
            if len(numbers) == self.height:
                self.progress("reading", start, self.height)
        out[:, d + 1] = 1
        return out.to(self.like.device)

    def _slack(self, half: torch.Tensor) -> torch.Tensor:
        """What rounding can add to a product of this point, be the other no longer than it."""
        limits = torch.finfo(self.like.dtype)
        terms = 2 * (self.width + 16) * (1.02 * limits.eps / 2 + 2**-52)
        return terms * half + self.width * limits.tiny

    def turned(self, rows: torch.Tensor) -> torch.Tensor:
        """These rows as the other side of a product."""
        d = self.points.width
        out = rows.clone()
        out[:, d], out[:, d + 1] = rows[:, d + 1], rows[:, d]
        return out


def _middle(points: Points) -> torch.Tensor:
    """(d,) a point amid the others, which some far ones do not draw away."""
    some = torch.arange(0, len(points), max(1, len(points) // 1000))
    return points.exact(some).median(0).values


class Best:
    """The best candidates so far of each asking point, and what another one must reach.

    slack (n,) is that of all points, own (m,) that of those that ask.
    """

    def __init__(
        self, asking: int, k: int, room: int, slack: torch.Tensor, own: torch.Tensor
    ) -> None:
        self.k, self.room, self.slack, self.own = k, room, slack, own
        self.upper = slack.new_full((asking, room), -torch.inf)
        self.ids = slack.new_zeros((asking, room), dtype=torch.int32)
        self.needed = slack.new_full((asking,), -torch.inf)
        self.let_go = slack.new_full((asking,), -torch.inf)

    def merge(self, rows: "slice | torch.Tensor", upper: torch.Tensor, ids: torch.Tensor) -> None:
        """Take in new bounds (m, c) of the others ids (m, c) for these rows (m,)."""
        upper = torch.cat([self.upper[rows], upper], 1)
        ids = torch.cat([self.ids[rows], ids.expand(len(upper), -1)], 1)
        upper, place = upper.topk(self.room + 1, 1)
        ids = ids.gather(1, place[:, : self.room])
        self.let_go[rows] = torch.maximum(self.let_go[rows], upper[:, self.room])
        upper = upper[:, : self.room]
        lower = upper - 2 * (self.own[rows, None] + self.slack[ids.long()])
        self.upper[rows], self.ids[rows] = upper, ids
        self.needed[rows] = lower.topk(self.k, 1).values[:, -1]

    def offer(self, start: int, bounds: torch.Tensor, first: int) -> None:
        """New bounds (m, c) of the points from `first` on, for the rows from `start` on."""
        rows, others, upper = _hits(bounds, self.needed[start : start + len(bounds)])
        self._take(start, rows, first + others, upper)

    def offer_columns(self, start: int, bounds: torch.Tensor, first: int) -> None:
        """The same, the asking rows being the columns of `bounds`."""
        needed = self.needed[start : start + bounds.shape[1]]
        columns, others, upper = _hits_of_columns(bounds, needed)
        self._take(start, columns, first + others, upper)

    def _take(
        self, start: int, rows: torch.Tensor, others: torch.Tensor, upper: torch.Tensor
    ) -> None:
        """Merge what was found, given row by row in rising order."""
        if not len(rows):
            return
        found, counts = rows.unique_consecutive(return_counts=True)
        line = torch.repeat_interleave(counts)
        ends = counts.cumsum(0)
        place = torch.arange(len(rows), device=rows.device) - (ends - counts)[line]
        widest = int(counts.max())
        bounds = torch.full((len(found), widest), -torch.inf).to(upper)
        ids = torch.zeros(len(found), widest, dtype=torch.int32, device=rows.device)
        bounds[line, place], ids[line, place] = upper, others.int()
        self.merge(start + found, bounds, ids)

    def candidates(self, points: int) -> Candidates:
        """All that may belong to the k nearest."""
        real = (self.upper >= self.needed[:, None]) & (self.ids < points)
        complete = self.let_go < self.needed
        return Candidates(self.ids.cpu(), real.cpu(), complete.cpu())


def _hits(
    bounds: torch.Tensor, needed: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Row, column and value of all bounds (m, c) that reach what their row (m,) needs.

    The columns are looked at in 64 classes, first at the largest of each.
    """
    classes = bounds.unflatten(1, (-1, _LANES))
    rows, lanes = (classes.amax(1) >= needed[:, None]).nonzero(as_tuple=True)
    values = classes[rows, :, lanes]
    return _expand(rows, lanes, values, needed)


def _hits_of_columns(
    bounds: torch.Tensor, needed: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Column, row and value of all bounds (m, c) that reach what their column (c,) needs."""
    classes = bounds.unflatten(0, (-1, _LANES))
    columns, lanes = (classes.amax(0) >= needed).T.nonzero(as_tuple=True)
    values = classes[:, lanes, columns].T
    return _expand(columns, lanes, values, needed)


def _expand(
    rows: torch.Tensor, lanes: torch.Tensor, values: torch.Tensor, needed: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    line, step = (values >= needed[rows, None]).nonzero(as_tuple=True)
    return rows[line], step * _LANES + lanes[line], values[line, step]


def screen(points: Points, k: int, room: int, like: torch.Tensor, progress: Progress) -> Candidates:
    """The candidates of every point, at most `room` of each, in the type and on the device of
    `like`: each product of two blocks serves the rows of both."""
    planes = Planes(points, like, progress)
    blocks = _blocks(planes.height, like)
    best = Best(planes.height, k, room, planes.slack, planes.slack)
    said = Remembered(progress)
    product = Product(blocks[0].stop, like, said.again)
    total = len(blocks) * (len(blocks) + 1) // 2
    for done, rows in enumerate(blocks):
        said(STAGE, done, total)
        here = planes.block(rows)
        bounds = product(here, planes.turned(here)).fill_diagonal_(-torch.inf)
        best.merge(rows, bounds, _numbers(rows, like))
    best.needed[len(points) :] = torch.inf
    done, together = len(blocks), 1
    if planes.kept is None:
        together = max(1, _TOGETHER // planes.bytes(blocks[0].stop))
    for first in range(0, len(blocks), together):
        group = []
        for rows in blocks[first : first + together]:
            said(STAGE, done, total)
            group.append((rows, planes.turned(planes.block(rows))))
        for others in blocks[first + 1 :]:
            there = planes.block(others)
            for rows, here in group:
                if rows.start < others.start:
                    said(STAGE, done, total)
                    bounds = product(there, here)
                    best.offer(others.start, bounds, rows.start)
                    best.offer_columns(rows.start, bounds, others.start)
                    done += 1
    said(STAGE, total, total)
    return best.candidates(len(points))


def screen_some(
    points: Points, asking: torch.Tensor, k: int, room: int, like: torch.Tensor, progress: Progress
) -> Candidates:
    """The candidates of the asking points (m,) only."""
    planes = Planes(points, like, progress)
    blocks = _blocks(planes.height, like)
    said = Remembered(progress)
    product = Product(blocks[0].stop, like, said.again)
    found: list[Candidates] = []
    done, total = 0, len(blocks) * len(asking)
    for some in asking.split(blocks[0].stop):
        said(STAGE, done, total)
        here = planes.made(some)
        best = Best(len(some), k, room, planes.slack, planes.slack[some])
        for others in blocks:
            bounds = product(here, planes.turned(planes.block(others)))
            own = ((some >= others.start) & (some < others.stop)).nonzero()[:, 0]
            bounds[own, some[own] - others.start] = -torch.inf
            if others.start == 0:
                best.merge(slice(0, len(some)), bounds, _numbers(others, like))
            else:
                best.offer(0, bounds, others.start)
            done += len(some)
            said(STAGE, done, total)
        found.append(best.candidates(len(points)))
    return Candidates(
        torch.cat([part.ids for part in found]),
        torch.cat([part.real for part in found]),
        torch.cat([part.complete for part in found]),
    )


class Product:
    """Products of blocks, all in the same memory."""

    def __init__(self, rows: int, like: torch.Tensor, pause: Pause = no_pause) -> None:
        self.memory, self._pause = like.new_empty(rows * rows), pause

    def __call__(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """left (m, w) times right (c, w), as (m, c); the one before is lost."""
        out = self.memory[: len(left) * len(right)].view(len(left), len(right))
        for some in stripes(len(left), right.numel(), left.device):
            torch.mm(left[some], right.T, out=out[some])
            self._pause()
        return out


def _numbers(rows: slice, like: torch.Tensor) -> torch.Tensor:
    numbers = torch.arange(rows.start, rows.stop, dtype=torch.int32, device=like.device)
    return numbers[None]


def _blocks(height: int, like: torch.Tensor) -> list[slice]:
    size = 2048 if like.device.type == "cpu" else 8192
    return [slice(start, min(start + size, height)) for start in range(0, height, size)]
