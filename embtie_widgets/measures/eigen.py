"""The eigenpairs of largest magnitude of a big symmetric matrix that is known by its products.

Small matrices go whole through float64.  For the others a Krylov space is grown and restarted
until the wanted pairs have converged, in float32 where it is large; the last Rayleigh-Ritz step
and the residuals are float64 always.  A space grown from one block holds no more copies of an
equal eigenvalue than the block has columns, so what has converged is tried against a fresh random
block before it is believed.
"""

from dataclasses import dataclass

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.krylov import BLOCK, Krylov, Multiply, Ritz, gram, turn_rows
from embtie_widgets.measures.pausing import Remembered, product
from embtie_widgets.progress import Progress, silent

# Largest residual relative to the smallest wanted magnitude: what it leaves in a sum over the
# wanted pairs is of the second order.
TOLERANCE = 5e-5
# Magnitudes that differ by a smaller share are equal, as far as the residuals can tell.
TIED = 1e-6
_GUARD = 4
_PROBE = 8 * BLOCK
_DENSE_UP_TO = 1024
_EXACT_UP_TO = 5_000_000
_MOST_CYCLES = 200
# The eigenvectors of so large a small matrix take more than half a second, and cannot be cut.
_LONG = 1024
_STAGE, _CHECK = "finding eigenvectors", "checking eigenvectors"


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenpairs, the largest magnitude first.

    values    (m,) float64: as many as were asked for, and those of equal magnitude with the last
    vectors   (size, m) float64, orthonormal
    residual  the largest |M q - lambda q| relative to the smallest wanted magnitude
    settled   False where more magnitudes equal the last wanted one than could be followed
    products  how many vectors were multiplied
    arithmetic  what these products ran in: "float32" or "float64"
    """

    values: torch.Tensor
    vectors: torch.Tensor
    residual: float
    settled: bool
    products: int
    arithmetic: str


def largest_pairs(
    multiply: Multiply,
    size: int,
    components: int,
    *,
    device: torch.device | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Eigenpairs:
    """The `components` eigenpairs of largest magnitude of a symmetric matrix (size, size).

    `multiply` takes a block (size, p) on `device`, float32 or float64, and gives its product with
    the matrix.  `seed` draws the start, on which the answer does not depend.  Raises where the
    residuals stay above `TOLERANCE`.
    """
    device = device or torch.device("cpu")
    room = _room(components)
    if size <= max(_DENSE_UP_TO, 2 * room):
        return _dense(multiply, size, components, device, progress)
    said = Remembered(progress)
    said(_STAGE, 0, components + _GUARD)
    kind = torch.float64 if size * room <= _EXACT_UP_TO else torch.float32
    like = torch.empty(0, dtype=kind, device=device)
    space = Krylov(multiply, size, room, like, seed, said.again)
    weights, settled = _converge(space, components, said)
    vectors, products = space.combined(weights), space.products
    del space
    values, residuals = _refine(multiply, vectors, said)
    kept = _reaching(values, components, TIED)
    return Eigenpairs(
        values=values[:kept],
        vectors=vectors[:, :kept],
        residual=_relative(residuals[:components], values, components),
        settled=settled,
        products=products + len(values),
        arithmetic=str(kind).removeprefix("torch."),
    )


def _keep(components: int) -> int:
    """How many Ritz vectors a restart keeps."""
    return 2 * components + 2 * BLOCK


def _room(components: int) -> int:
    """How many vectors the basis holds: about four for each that is wanted, of very many fewer."""
    return _keep(components) + max(_PROBE, min(2 * components, 512))


def _dense(
    multiply: Multiply, size: int, components: int, device: torch.device, progress: Progress
) -> Eigenpairs:
    whole = multiply(torch.eye(size, dtype=torch.float64, device=device))
    progress(f"eigenvectors of {size:,} x {size:,}", 0, 1)
    values, vectors = torch.linalg.eigh(whole)
    order = values.abs().argsort(descending=True, stable=True)
    values, vectors = values[order], vectors[:, order]
    kept = _reaching(values, components, TIED)
    off = torch.linalg.vector_norm(whole @ vectors - vectors * values, dim=0)
    return Eigenpairs(
        values=values[:kept].cpu(),
        vectors=vectors[:, :kept],
        residual=_relative(off[:components], values, components),
        settled=True,
        products=size,
        arithmetic="float64",
    )


def _reaching(values: torch.Tensor, components: int, tolerance: float) -> int:
    """How many magnitudes reach the last wanted one, up to the tolerance."""
    return int((values.abs() >= values[components - 1].abs() * (1 - tolerance)).sum())


def _relative(residuals: torch.Tensor, values: torch.Tensor, components: int) -> float:
    """The largest of them as a share of the smallest wanted magnitude, or of rounding."""
    least = max(float(values[components - 1].abs()), 1e-9 * float(values[0].abs()))
    return float(residuals.max()) / least if least else 0.0


def _converge(space: Krylov, components: int, progress: Progress) -> tuple[torch.Tensor, bool]:
    """What the wanted vectors are made of, once a fresh block brings nothing new; and whether
    all that equal the last of them are known."""
    wanted, keep = components + _GUARD, _keep(components)
    believed: torch.Tensor | None = None
    settled = 0
    for _ in range(_MOST_CYCLES):
        until = space.room if believed is None else space.filled + _PROBE
        while space.has_room(until):
            space.grow()
            progress(_STAGE, settled, components + _GUARD)
        if space.filled > _LONG:
            progress(f"eigenvectors of {space.filled:,} x {space.filled:,}", 0, 1)
        ritz = space.ritz()
        progress(_STAGE, settled, components + _GUARD)
        settled = max(settled, min(_settled(ritz, components), components))
        done = _settled(ritz, components) >= wanted
        reaching = _reaching(ritz.values, components, 10 * TIED)
        if done and reaching + _GUARD > wanted and wanted < keep:
            wanted, done = min(reaching + BLOCK, keep), False
        if done and believed is not None and _same(ritz.values[:wanted], believed):
            return ritz.weights[:, :wanted], reaching < wanted
        believed = ritz.values[:wanted] if done else None
        space.restart(ritz, keep, fresh=done)
    raise EmbtieError(
        f"The eigenvectors did not converge in {space.products:,} products: "
        f"{settled} of {components} did.",
        "Ask for fewer components.",
    )


def _settled(ritz: Ritz, components: int) -> int:
    """How many of the leading pairs have converged."""
    limit = TOLERANCE * float(ritz.values[components - 1].abs()) + ritz.noise
    return int((ritz.residuals <= limit).long().cumprod(0).sum())


def _same(values: torch.Tensor, before: torch.Tensor) -> bool:
    close = TOLERANCE * float(before[-1].abs()) + TOLERANCE * 1e-2 * float(before[0].abs())
    known = len(values) == len(before)
    return known and float((values.abs() - before.abs()).abs().max()) <= close


def _refine(
    multiply: Multiply, vectors: torch.Tensor, said: Remembered
) -> tuple[torch.Tensor, torch.Tensor]:
    """Values and residuals, in float64, of the best pairs in the span of these vectors (size, m),
    which are made orthonormal and turned into them in place."""
    wanted = vectors.shape[1]
    said(_CHECK, 0, wanted)
    for _ in range(2):
        squares, axes = torch.linalg.eigh(gram(vectors, said.again))
        turn_rows(vectors, axes / squares.sqrt(), said.again)
    images = torch.empty_like(vectors)
    for start in range(0, wanted, BLOCK):
        part = slice(start, start + BLOCK)
        images[:, part] = multiply(vectors[:, part].contiguous())
        said(_CHECK, min(start + BLOCK, wanted), wanted)
    seen = product(vectors.T, images, said.again).cpu()
    values, axes = torch.linalg.eigh((seen + seen.T) / 2)
    order = values.abs().argsort(descending=True, stable=True)
    values, axes = values[order], axes[:, order]
    turn_rows(vectors, axes, said.again)
    turn_rows(images, axes, said.again)
    images.addcmul_(vectors, values.to(vectors.device), value=-1)
    return values, torch.linalg.vector_norm(images, dim=0).cpu()
