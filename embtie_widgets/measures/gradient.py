"""What two parts of one gradient say about each other: norms, angle and shares.

All numbers of a step come from four products per row of the matrix (`row_products`), taken in one
pass: over all rows, over the rows of a band, or for each row alone.  A share of nothing is NaN.
Source: weight-tying paper, figure 4; the update of Adam is linear in the first moment.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

Vector = np.ndarray[Any, np.dtype[Any]]

_AT_ONCE = 2**17  # numbers of a matrix, so that a block stays in the processor's cache
_NEAR = 0.99  # parts cancel nearly where twice their product is so much of their squares


@dataclass(frozen=True, eq=False)
class Products:
    """Products of the two parts of a gradient, of each row or summed; float64 on the CPU.

    input, output, total  <G_in, G_in>, <G_out, G_out>, <G, G> with G = G_in + G_out, 0 or more
    cross                 <G_out, G>, of either sign
    inner                 <G_in, G_out>
    """

    input: Tensor
    output: Tensor
    total: Tensor
    cross: Tensor
    inner: Tensor

    def __add__(self, other: "Products") -> "Products":
        """The sums over two steps."""
        return Products(*(a + b for a, b in zip(self._all(), other._all(), strict=True)))

    def summed(self) -> "Products":
        """Over all rows, as numbers."""
        return Products(*(part.sum() for part in self._all()))

    def by_band(self, band: Tensor, bands: int) -> "Products":
        """(V,) rows -> (bands,): over the rows of each; a row of no band has -1."""
        # The last place is for rows of no band.
        sums = torch.zeros(5, bands + 1, dtype=torch.float64)
        found = sums.index_add_(1, band % (bands + 1), torch.stack(self._all()))
        return Products(*found[:, :bands])

    def _all(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)]


def row_products(g_in: Tensor, g_out: Tensor) -> Products:
    """Two parts (V, d) of a gradient -> the products of each row, (V,)."""
    return _joined(zip(_blocks(g_in), _blocks(g_out), strict=True))


def _joined(parts: Iterable[tuple[Tensor, Tensor]]) -> Products:
    """Of the blocks of both parts, one after the other."""
    found = torch.cat([_products(wide(a), wide(b).to(a.device)) for a, b in parts], dim=1)
    own, other, inner, total = found.cpu().double()
    own, other = own.square(), other.square()
    total = torch.where(total.isnan(), own + other + 2 * inner, total.square())
    # A row without an input part is the output alone, to the last bit.
    cross = torch.where(own == 0, other, other + inner)
    return Products(own, other, total, cross, inner)


def _products(a: Tensor, b: Tensor) -> Tensor:
    """(4, n): lengths of the rows, their inner product, and where they nearly cancel the length of
    the sum, which the others would not give to all digits there; NaN elsewhere."""
    norm = torch.linalg.vector_norm
    own, other, inner = norm(a, dim=1), norm(b, dim=1), torch.linalg.vecdot(a, b)
    total = torch.full_like(own, torch.nan)
    near = (own.square() + other.square()) * _NEAR < -2 * inner
    if bool(near.any()):
        total[near] = norm(a[near] + b[near], dim=1)
    return torch.stack([own, other, inner, total])


def _blocks(matrix: Tensor) -> Sequence[Tensor]:
    return list(matrix.split(max(1, _AT_ONCE // max(1, matrix.shape[1]))))


def flow_numbers(products: Products, proxy: Tensor | float | None = None) -> dict[str, float]:
    """The scalar curves of `results.gradient.CURVES` that the parts decide, over all rows.

    products  as `row_products` gives them, of rows or summed
    proxy     norm of the gradient at the embedding's output, where that is known
    """
    found = _numbers(products.summed())
    if proxy is not None:
        known = torch.as_tensor(proxy, dtype=torch.float64, device="cpu")
        found |= {
            "proxy_norm": known,
            "proxy_share": found["output_norm"] / (known + found["output_norm"]),
        }
    return {name: float(value) for name, value in found.items()}


def band_numbers(products: Products, band: Tensor, bands: int) -> dict[str, Vector]:
    """`results.gradient.BAND_CURVES` to (bands,): the same over the rows of each band.

    products are those of rows; `band` (V,) says in which band each is, -1 for none.
    """
    found = _numbers(products.by_band(band, bands))
    names = ("input_norm", "output_norm", "output_share", "norm_share")
    return {name: found[name].numpy() for name in names}


def row_numbers(products: Products, steps: int, times: Tensor) -> dict[str, Vector]:
    """`results.gradient.ROW_VALUES` to (V,), from the products of rows summed over the steps.

    `times` (V,) says in how many of the steps' batches each token stood.
    """
    found = _numbers(products)
    scale = max(steps, 1) ** -0.5
    return {
        "input": (found["input_norm"] * scale).numpy(),
        "output": (found["output_norm"] * scale).numpy(),
        "output_share": found["output_share"].numpy(),
        "norm_share": found["norm_share"].numpy(),
        "times": times.cpu().numpy(),
    }


def _numbers(of: Products) -> dict[str, Tensor]:
    """Elementwise; 0 / 0 is NaN."""
    own, other = of.input.sqrt(), of.output.sqrt()
    return {
        "input_norm": own,
        "output_norm": other,
        "total_norm": of.total.sqrt(),
        "cosine": (of.inner / (own * other)).clamp(-1, 1),
        "output_share": of.cross / of.total,
        "norm_share": other / (own + other),
    }


def scatter_rows(ids: Tensor, grads: Tensor, rows: int, into: Tensor | None = None) -> Tensor:
    """Gradients at the embedding's output, each added to the row of its token.

    ids (...), grads (..., d) -> (rows, d), exactly 0 for a token that is not among the ids; in
    float32, or float64 where the gradients are.  With `into` it is added to that.
    """
    flat = wide(grads).reshape(-1, grads.shape[-1])
    if into is None:
        into = flat.new_zeros(rows, flat.shape[1])
    return into.index_add_(0, ids.reshape(-1).to(flat.device), flat.to(into.dtype))


Adam = tuple[Tensor, int, Mapping[str, Any]]
"""Second moment `exp_avg_sq` (V, d), count of steps from 1, and the group with lr, betas, eps."""


def update_products(m_in: Tensor, m_out: Tensor, adams: tuple[Adam, Adam]) -> Products:
    """Products of the rows of what two first moments (V, d) add to a matrix in a step of Adam.

    An update is linear in its first moment: those that sum to the optimiser's own `exp_avg` have
    updates that sum to its own, weight decay aside.  A shared matrix has one and the same Adam.
    """
    shared = adams[0][0] is adams[1][0]
    seconds = (_blocks(second) for second, _, _ in adams)

    def updates() -> Iterator[tuple[Tensor, Tensor]]:
        for a, b, v_in, v_out in zip(_blocks(m_in), _blocks(m_out), *seconds, strict=True):
            rate = _rate(v_in, *adams[0][1:])
            yield a * rate, b * (rate if shared else _rate(v_out, *adams[1][1:]))

    return _joined(updates())


def _rate(second: Tensor, step: int, group: Mapping[str, Any]) -> Tensor:
    """What Adam multiplies each number of its first moment by."""
    beta1, beta2 = group["betas"]
    root = second.sqrt().div_((1 - beta2**step) ** 0.5).add_(group["eps"])
    return root.reciprocal_().mul_(-float(group["lr"]) / (1 - beta1**step))


def moment(kept: Tensor, gradient: Tensor, beta: float, clip: Tensor | float = 1.0) -> Tensor:
    """One step of a first moment, in place: beta m + (1 - beta) clip G."""
    factor = torch.as_tensor(clip).to(kept)
    return kept.mul_(beta).addcmul_(gradient.to(kept), factor, value=1 - beta)


def wide(values: Tensor) -> Tensor:
    """In float32 at least."""
    return values if values.dtype in (torch.float32, torch.float64) else values.float()
