"""What a head lets through: the factor by which gradients of logits are projected on its columns.

A gradient in logit space, a row g of V numbers, reaches the hidden state as g U alone.  Its part in
the column space of U is what that carries; the rest is not transmitted.  With W such that the
columns of U W are orthonormal, the transmitted part has the squared length |g U W|^2, so a d x d
factor does, and no table of V x V or positions x V is ever made.  Source: gradient-bottleneck
paper, destroyed ratio and visible cosine.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.devices import has_float64
from embtie_widgets.measures.matrices import as_matrix
from embtie_widgets.measures.moments import add_gram, symmetrise
from embtie_widgets.measures.pausing import Remembered, product
from embtie_widgets.progress import Progress, silent

STAGE = "measuring what the head lets through"
_ROWS = 4096
# Squares of singular values, over the largest: below it a direction is rounding, not of the head.
_LEAST, _STEPS = 1e-12, 8


@dataclass(frozen=True, eq=False)
class HeadFactor:
    """The column space of a head U (V, d), as far as the hidden state's side tells it.

    rows, width, rank  V, d, and how many columns are independent; `tolerance` is the smallest
                       singular value that counts, over the largest, of U with columns of length 1
    whiten             (d, rank) float64: the columns of U @ whiten are orthonormal
    """

    rows: int
    width: int
    rank: int
    tolerance: float
    whiten: Tensor

    @classmethod
    def of(cls, weight: Tensor, progress: Progress = silent) -> "HeadFactor":
        """From U (V, d) of any floating type, in V d^2 / 2 multiplications in float64.

        An EmbtieError where it holds numbers that are not finite.
        """
        U = as_matrix(weight, "the output matrix")
        said = Remembered(progress)
        gram = _gram(U, said)
        lengths = gram.diagonal().sqrt()
        if not bool(lengths.isfinite().all()):
            raise EmbtieError(
                "The output matrix holds numbers that are not finite.",
                "The weights may be damaged: download them again.",
            )
        # Columns of one length: a small column is as much of the head as a large one.
        scale = torch.where(lengths > 0, 1 / lengths, 0)
        scaled = gram * scale[:, None] * scale
        least = max(_LEAST, _STEPS * U.shape[1] * torch.finfo(torch.float64).eps)
        said(f"{STAGE}: {U.shape[1]:,} x {U.shape[1]:,}", 0, 1)
        whiten = _full_rank(scaled, least)
        whiten = _by_eigenvectors(scaled, least, len(U)) if whiten is None else whiten
        rows, width = U.shape
        return cls(rows, width, whiten.shape[1], math.sqrt(least), scale[:, None] * whiten)

    @property
    def whole(self) -> bool:
        """Whether every direction of V is transmitted."""
        return self.rank == self.rows

    @property
    def line(self) -> float:
        """sqrt(1 - rank / V): what a direction without preference leaves untransmitted."""
        return math.sqrt(1 - self.rank / self.rows)

    def kept(self, at_hidden: Tensor) -> Tensor:
        """(n,) float64 squared lengths of what is transmitted, from G U (n, d)."""
        return (at_hidden.to(self.whiten) @ self.whiten).square().sum(-1)

    def transmitted(self, at_hidden: Tensor, squared: Tensor) -> Tensor:
        """Likewise, but never more than the `squared` lengths (n,) of G's rows themselves."""
        squared = squared.to(self.whiten)
        return squared if self.whole else torch.minimum(self.kept(at_hidden), squared)

    def visible(self, rows: Tensor, progress: Progress = silent) -> Tensor:
        """(k,) float64, 0 to 1: what is transmitted of a token's own direction, by its row of U.

        The statistical leverage of the row; over all V rows it sums to the rank.
        """
        if self.whole:
            return torch.ones(len(rows), dtype=torch.float64, device=self.whiten.device)
        said, parts = Remembered(progress), []
        for start in range(0, len(rows), _ROWS):
            said(f"{STAGE} of each token", start, len(rows))
            some = rows[start : start + _ROWS].detach().to(self.whiten)
            parts.append(product(some, self.whiten, said.again).square().sum(-1))
        return torch.cat(parts).clamp(max=1)

    def combination(self, at_hidden: Tensor) -> Tensor:
        """A (n, d) float64 with A U^T the transmitted part itself, from G U (n, d)."""
        return (at_hidden.to(self.whiten) @ self.whiten) @ self.whiten.T


def squared_length(probabilities: Tensor, targets: Tensor) -> Tensor:
    """(n,) float64: |p - e_y|^2 from p (n, V) and y (n,), in closed form."""
    likely = probabilities.gather(1, targets[:, None])[:, 0].double()
    squares = probabilities.square().sum(-1, dtype=torch.float64)
    return squares - likely.square() + (1 - likely).square()


def ratios(kept: Tensor, squared: Tensor) -> tuple[Tensor, Tensor]:
    """The part of the length that is not transmitted, and that which is, by squared lengths.

    Both 0 to 1, their squares sum to 1; NaN where there is no gradient.
    """
    energy = (kept / squared).clamp(0, 1)
    return (1 - energy).sqrt(), energy.sqrt()


def bottleneck_numbers(kept: Tensor, squared: Tensor) -> dict[str, float]:
    """`destroyed`, `visible_cosine` and `kept_energy` over all positions together, from (n,)."""
    destroyed, cosine = ratios(kept.double().sum(), squared.double().sum())
    return {
        "destroyed": float(destroyed),
        "visible_cosine": float(cosine),
        "kept_energy": float(cosine) ** 2,
    }


def _gram(U: Tensor, said: Remembered) -> Tensor:
    """U^T U (d, d) in float64, on the head's device where that computes so."""
    device = U.device if has_float64(U.device) else torch.device("cpu")
    total = torch.zeros(U.shape[1], U.shape[1], dtype=torch.float64, device=device)
    for start in range(0, len(U), _ROWS):
        said(STAGE, start, len(U))
        add_gram(total, U[start : start + _ROWS].to(total), said.again)
    return symmetrise(total)


def _full_rank(scaled: Tensor, least: float) -> Tensor | None:
    """The factor where no eigenvalue can be below the least; None where that is not sure."""
    lower, failed = torch.linalg.cholesky_ex(scaled)
    if int(failed):
        return None
    unit = torch.eye(len(lower), dtype=lower.dtype, device=lower.device)
    inverse = torch.linalg.solve_triangular(lower, unit, upper=False)
    # The sum of 1 / eigenvalue, and of the eigenvalues, bound the smallest and the largest.
    bound = float(inverse.square().sum()) * float(scaled.trace())
    return inverse.T if bound * least < 1 else None


def _by_eigenvectors(scaled: Tensor, least: float, rows: int) -> Tensor:
    values, vectors = torch.linalg.eigh(scaled)
    taken = values > least * values[-1].clamp_min(0)
    taken[: max(0, len(values) - rows)] = False
    taken &= values > 0
    made: Tensor = vectors[:, taken] / values[taken].sqrt()
    return made
