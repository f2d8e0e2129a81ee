"""Neighbour graphs as sparse matrices, and the omnibus matrix of two of them by its products."""

import warnings
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch
from scipy.sparse import csr_array

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.pausing import Pause, no_pause
from embtie_widgets.results.alignment import Vector

# So many edges are multiplied with a block at once.
_MULTIPLIED = 4_000_000


@dataclass(frozen=True)
class Graph:
    """A symmetric weighted graph of n nodes in compressed rows.

    starts   (n + 1,) int32, where each row begins
    columns  (edges,) int32
    weights  (edges,) float32
    """

    starts: torch.Tensor
    columns: torch.Tensor
    weights: torch.Tensor
    _made: dict[torch.dtype, list[torch.Tensor]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def same(self, other: "Graph") -> bool:
        """Whether both have the same edges."""
        return (
            torch.equal(self.starts, other.starts)
            and torch.equal(self.columns, other.columns)
            and torch.equal(self.weights, other.weights)
        )

    def times(self, block: torch.Tensor, pause: Pause = no_pause) -> torch.Tensor:
        """(n, p): the product with a block (n, p), float32 or float64."""
        if block.dtype not in self._made:
            self._made.clear()
            self._made[block.dtype] = [self._sparse(some, block.dtype) for some in self._parts()]
        found = []
        for part in self._made[block.dtype]:
            found.append(part @ block)
            pause()
        return found[0] if len(found) == 1 else torch.cat(found)

    def _parts(self) -> list[slice]:
        """Its rows, in parts of so many edges that their products take little time."""
        if self.starts.device.type != "cpu":
            return [slice(0, len(self))]
        return _even(self.starts[1:].numpy(), _MULTIPLIED)

    def _sparse(self, rows: slice, kind: torch.dtype) -> torch.Tensor:
        starts = self.starts[rows.start : rows.stop + 1]
        edges = slice(int(starts[0]), int(starts[-1]))
        with warnings.catch_warnings():  # torch calls its sparse rows a beta
            warnings.simplefilter("ignore", UserWarning)
            return torch.sparse_csr_tensor(
                starts - starts[0],
                self.columns[edges],
                self.weights[edges].to(kind),
                (rows.stop - rows.start, len(self)),
            )


def _even(ends: Vector, most: int) -> list[slice]:
    """Parts of rows whose edges end there (n,), of about so many edges each."""
    cuts = np.searchsorted(ends, np.arange(most, int(ends[-1]), most)) + 1
    edges = np.unique([0, *cuts.tolist(), len(ends)]).tolist()
    return [slice(*two) for two in pairwise(edges)]


def neighbour_graph(lists: Vector, device: torch.device, pause: Pause = no_pause) -> Graph:
    """The graph of neighbour lists (n, k): (A + A^T) / 2 of the binary A of who lists whom.

    Entries are row numbers from 0 to n - 1; -1 stands for no neighbour.
    """
    lists = _checked(lists)
    n, there = len(lists), lists >= 0
    starts = np.concatenate([[0], there.sum(1).cumsum()]).astype(np.int32)
    halves = np.full(int(starts[-1]), 0.5, np.float32)
    # Each listing is an edge of weight 1/2 in both directions; where both list, it is there twice.
    listed = csr_array((halves, lists[there].astype(np.int32), starts), shape=(n, n))
    listed.sum_duplicates()
    pause()
    turned = listed.T.tocsr()
    pause()
    both = listed + turned
    pause()
    return Graph(
        torch.from_numpy(both.indptr).int().to(device),
        torch.from_numpy(both.indices).int().to(device),
        torch.from_numpy(both.data).to(device),
    )


def _checked(lists: Vector) -> Vector:
    lists = np.asarray(lists)
    n = len(lists)
    sound = lists.ndim == 2 and np.issubdtype(lists.dtype, np.integer) and lists.size > 0
    if not sound or lists.min() < -1 or lists.max() >= n or (lists == np.arange(n)[:, None]).any():
        raise EmbtieError(
            f"The neighbour lists have the shape {lists.shape}; expected n x k row numbers from 0 "
            "to n - 1, none of them its own row.",
            "Make them with neighbour_lists, and count the rows that take part from 0.",
        )
    return lists


@dataclass(frozen=True)
class Omnibus:
    """The omnibus matrix [[A, (A + B) / 2], [(A + B) / 2, B]] of two graphs, never formed."""

    first: Graph
    second: Graph
    pause: Pause = no_pause

    def __len__(self) -> int:
        return 2 * len(self.first)

    def __call__(self, block: torch.Tensor) -> torch.Tensor:
        """(2n, p): the product with a block (2n, p)."""
        n, columns = len(self.first), block.shape[1]
        upper, lower = block[:n], block[n:]
        # Both rows of the matrix need A and B on two combinations each: A on (u + l / 2, u / 2),
        # B on (l / 2, u / 2 + l).
        sides = block.new_empty(n, 2 * columns)
        torch.add(upper, lower, alpha=0.5, out=sides[:, :columns])
        torch.mul(upper, 0.5, out=sides[:, columns:])
        found = self.first.times(sides, self.pause)
        torch.mul(lower, 0.5, out=sides[:, :columns])
        torch.add(lower, upper, alpha=0.5, out=sides[:, columns:])
        found += self.second.times(sides, self.pause)
        return torch.cat([found[:, :columns], found[:, columns:]])
