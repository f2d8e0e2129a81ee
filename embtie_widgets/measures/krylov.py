"""A growing orthonormal basis, and a big symmetric matrix as it is seen in it.

Block Lanczos with full orthogonalisation and thick restarts.
Wu and Simon, "Thick-restart Lanczos method for large symmetric eigenvalue problems" (2000).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.pausing import Pause, no_pause, product

Multiply = Callable[[torch.Tensor], torch.Tensor]

BLOCK = 16
_ROWS = 8192
# A direction that is left with so few units in the last place of the products is rounding.
_ROUNDING = 32
# One left with a smaller share than this is cleaned again.
_THIN = 1e-2
_TURNS = 8


@dataclass(frozen=True)
class Ritz:
    """Approximate eigenpairs in a basis of m vectors, the largest magnitude first.

    values, residuals  (m,) float64
    weights            (m, m) float64, what each vector is made of
    noise              the residual that rounding alone can leave
    """

    values: torch.Tensor
    residuals: torch.Tensor
    weights: torch.Tensor
    noise: float


class Krylov:
    """An orthonormal basis (size, room) that grows by products, and the matrix seen in it."""

    def __init__(
        self,
        multiply: Multiply,
        size: int,
        room: int,
        like: torch.Tensor,
        seed: int,
        pause: Pause = no_pause,
    ) -> None:
        self._pause = pause
        self.room, self.filled, self.products = room, 0, 0
        self._multiply = multiply
        self._generator = torch.Generator().manual_seed(seed)
        self._eps = torch.finfo(like.dtype).eps
        self._basis = like.new_empty(size, room)
        self._seen = torch.zeros(room, room, dtype=torch.float64)
        self._left = torch.zeros(BLOCK, BLOCK, dtype=torch.float64)
        self._kept, self._scale = 0, 1.0
        self._next = self._orthonormal(self._random(BLOCK))

    def has_room(self, until: int) -> bool:
        """Whether another block fits below that number of vectors."""
        return self.filled + BLOCK <= min(until, self.room)

    def grow(self) -> None:
        """Add the next block, and see the matrix on it."""
        start, end = self.filled, self.filled + BLOCK
        self._basis[:, start:end] = self._next
        self.filled = end
        image = self._multiply(self._next)
        self.products += BLOCK
        # The image of any but the first block meets only the block before and its own; what
        # rounding left of the others goes in the second pass.
        first = 0 if start == self._kept else start - BLOCK
        seen = torch.zeros(end, BLOCK, dtype=torch.float64)
        for low in (first, 0):
            seen[low:] += self._clear(image, low)
            self._pause()
        self._seen[:end, start:end] = seen
        self._seen[start:end, :end] = seen.T
        self._scale = max(self._scale, float(seen.abs().max()))
        self._left = gram(image)
        self._next = self._orthonormal(image)

    def ritz(self) -> Ritz:
        """The eigenpairs of the matrix as it is seen."""
        values, weights = torch.linalg.eigh(self._seen[: self.filled, : self.filled])
        order = values.abs().argsort(descending=True, stable=True)
        values, weights = values[order], weights[:, order]
        last = weights[-BLOCK:]
        residuals = (last * (self._left @ last)).sum(0).clamp_min(0).sqrt()
        return Ritz(values, residuals, weights, _ROUNDING * self._eps * float(values[0].abs()))

    def restart(self, ritz: Ritz, keep: int, fresh: bool) -> None:
        """Keep so many Ritz vectors, and go on from where they stopped or from a random block."""
        turn_rows(self._basis, ritz.weights[:, :keep], self._pause)
        self._seen.zero_()
        self._seen.diagonal()[:keep] = ritz.values[:keep]
        self.filled = self._kept = keep
        if fresh:
            self._next = self._orthonormal(self._cleared(self._random(BLOCK)))

    def combined(self, weights: torch.Tensor) -> torch.Tensor:
        """(size, p) float64: the vectors that these weights (m, p) make of the basis."""
        found = self._basis.new_empty(len(self._basis), weights.shape[1], dtype=torch.float64)
        for rows in _chunks(len(found)):
            part = self._basis[rows, : len(weights)]
            found[rows] = product(part, weights.to(self._basis), self._pause)
        return found

    def _random(self, columns: int) -> torch.Tensor:
        size = len(self._basis)
        drawn = torch.randn(size, columns, generator=self._generator, dtype=torch.float64)
        started: torch.Tensor = (drawn / size**0.5).to(self._basis)
        return started

    def _clear(self, block: torch.Tensor, low: int = 0) -> torch.Tensor:
        """Take the vectors from `low` on out of the block, in place; what was in it."""
        basis = self._basis[:, low : self.filled]
        inside = basis.T @ block
        block.addmm_(basis, inside, alpha=-1)
        seen: torch.Tensor = inside.double().cpu()
        return seen

    def _cleared(self, block: torch.Tensor) -> torch.Tensor:
        self._clear(block)
        return block

    def _orthonormal(self, block: torch.Tensor) -> torch.Tensor:
        """The block's directions, orthonormal; random ones where it has none left."""
        scale = self._scale
        for _ in range(_TURNS):
            squares, axes = torch.linalg.eigh(gram(block))
            lengths = squares.clamp_min(0).sqrt()
            change = axes / lengths.clamp_min(self._eps * scale)
            block = (block.double() @ change.to(block.device)).to(block)
            if float(lengths[0]) > _THIN * scale:
                return block
            weak = lengths <= _ROUNDING * self._eps * scale
            block[:, weak.to(block.device)] = self._random(int(weak.sum()))
            self._clear(block)
            scale = 1.0
        raise EmbtieError(
            "No further direction could be found: the products are not finite.",
            "Please report the matrices and the settings.",
        )


def gram(block: torch.Tensor, pause: Pause = no_pause) -> torch.Tensor:
    """block^T block in float64, on the CPU."""
    wide = block.double()
    return product(wide.T, wide, pause).cpu()


def turn_rows(matrix: torch.Tensor, change: torch.Tensor, pause: Pause = no_pause) -> None:
    """Put matrix[:, :m] @ change (m, p), p <= m, in place of the first p columns."""
    within, made = change.shape
    change = change.to(matrix)
    for rows in _chunks(len(matrix)):
        matrix[rows, :made] = product(matrix[rows, :within], change, pause)


def _chunks(size: int) -> Iterator[slice]:
    return (slice(start, start + _ROWS) for start in range(0, size, _ROWS))
