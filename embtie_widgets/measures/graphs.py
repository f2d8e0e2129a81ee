"""Neighbour graphs as sparse matrices, and the omnibus matrix of two of them by its products."""

import warnings
from dataclasses import dataclass, field

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.results.alignment import Vector


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
    _made: dict[torch.dtype, torch.Tensor] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def same(self, other: "Graph") -> bool:
        """Whether both have the same edges."""
        return (
            torch.equal(self.starts, other.starts)
            and torch.equal(self.columns, other.columns)
            and torch.equal(self.weights, other.weights)
        )

    def times(self, block: torch.Tensor) -> torch.Tensor:
        """(n, p): the product with a block (n, p), float32 or float64."""
        if block.dtype not in self._made:
            self._made.clear()
            self._made[block.dtype] = self._sparse(block.dtype)
        return self._made[block.dtype] @ block

    def _sparse(self, kind: torch.dtype) -> torch.Tensor:
        with warnings.catch_warnings():  # torch calls its sparse rows a beta
            warnings.simplefilter("ignore", UserWarning)
            shape = (len(self), len(self))
            return torch.sparse_csr_tensor(self.starts, self.columns, self.weights.to(kind), shape)


def neighbour_graph(lists: Vector, device: torch.device) -> Graph:
    """The graph of neighbour lists (n, k): (A + A^T) / 2 of the binary A of who lists whom.

    Entries are row numbers from 0 to n - 1; -1 stands for no neighbour.
    """
    lists = _checked(lists)
    n = len(lists)
    into = torch.from_numpy(lists.astype(np.int64)).flatten()
    out = torch.arange(n).repeat_interleave(lists.shape[1])
    there = into >= 0
    out, into = out[there], into[there]
    # Each listing is an edge of weight 1/2 in both directions; where both list, it is there twice.
    edges, times = torch.unique(torch.cat([out * n + into, into * n + out]), return_counts=True)
    starts = torch.zeros(n + 1, dtype=torch.int64)
    starts[1:] = torch.bincount(edges // n, minlength=n).cumsum(0)
    return Graph(
        starts.int().to(device), (edges % n).int().to(device), (times.float() / 2).to(device)
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
        found = self.first.times(sides)
        torch.mul(lower, 0.5, out=sides[:, :columns])
        torch.add(lower, upper, alpha=0.5, out=sides[:, columns:])
        found += self.second.times(sides)
        return torch.cat([found[:, :columns], found[:, columns:]])
