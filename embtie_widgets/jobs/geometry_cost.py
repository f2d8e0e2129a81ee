"""What a comparison of geometries will cost, and what is shown before it; torch is not needed.

A comparison is made of parts that are kept (`jobs/geometry_parts.py`): what this kernel has made
already costs nothing again, so that another k or the graphs turned off are seen to be quick.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from embtie_widgets.jobs.cache import cache_folder
from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.requests.geometry import GeometryRequest

TOO_LARGE = "Choose smaller models, leave the spectral distance out, or close other work there."
PREVIEW_SAMPLE = 2_000
_MATRICES = 3
_GRAPHS = ("cosine", False)
# Measured at 4,096 x 128 and 12,000 x 512, in multiply-adds of 32-bit products: what a similarity
# takes beside its product, how often an eigenproblem passes over the graph and its basis, and what
# 64-bit products and factorisations of a matrix take.
_CHOOSING, _PASSES = 1_700.0, 60.0
_PRODUCTS, _FACTORISATIONS, _EACH = 6.0, 90.0, 2e9
# Similarities that a search holds: all of a small vocabulary, blocks of a large one.
_SEARCH_BYTES = 1_200 * 2**20


@dataclass(frozen=True)
class _Part:
    """A part by name, how much of it is needed, and the multiply-adds that it takes."""

    name: tuple[Any, ...]
    size: int
    operations: float


_made: dict[tuple[Any, ...], int] = {}


def work_of(request: GeometryRequest) -> Work | None:
    """What a run consists of; None while the models are not known here."""
    size = experience.size(request)
    if size is None:
        return None
    rows, width = size
    operations = sum(
        part.operations
        for part in _parts(request, float(rows), float(width))
        if _made.get(part.name, 0) < part.size
    )
    held = rows * 4 * (request.k + 2) * _MATRICES
    held += min(8 * rows**2, _SEARCH_BYTES)
    if request.spectral:
        held += rows * (8 * request.spectral_k * 6 + 2 * 8 * 4 * request.components)
    if request.spaces:
        held += 70 * 8 * width**2
    return Work(request.kind, request.device, operations, held)


def estimate_geometry(request: GeometryRequest) -> Estimate | None:
    """The cost of a request as far as this kernel can tell; None for models not loaded yet."""
    return experience.estimate_pair(request, work_of(request))


def preview(request: GeometryRequest) -> GeometryRequest | None:
    """What is shown first: a sample of the tokens, without graphs and spaces."""
    if 0 < request.sample <= PREVIEW_SAMPLE:
        return None
    return replace(request, sample=PREVIEW_SAMPLE, spectral=False, spaces=False)


def remember(request: GeometryRequest) -> None:
    """Take note that the parts of this request are kept by now."""
    if cache_folder() is not None:
        for part in _parts(request, 0.0, 0.0):
            _made[part.name] = max(part.size, _made.get(part.name, 0))


def _parts(request: GeometryRequest, rows: float, width: float) -> Iterator[_Part]:
    """Lists of neighbours, graphs, and what is said of matrices as wholes."""
    compared = (request.mu_centered, request.leave_out_copies)
    pair = (request.a, request.b, request.role_b, *compared)
    how = (request.metric, request.center)
    each = _MATRICES * rows * (width + _CHOOSING)
    k = request.k
    if request.spectral:
        graphs = (request.spectral_k, request.components, request.seed)
        yield _Part(("graphs", *pair, *graphs), 1, _eigenproblems(request, rows))
        if how == _GRAPHS and not request.sample:
            k = max(k, request.spectral_k)
        else:
            yield _Part(("lists", *pair, *_GRAPHS), request.spectral_k, each * rows)
    if request.sample:
        asked = min(float(request.sample), rows)
        yield _Part(("sample", *pair, *how, request.sample, request.seed), k, each * asked)
    else:
        yield _Part(("lists", *pair, *how), k, each * rows)
    if request.spaces:
        wholes = _MATRICES * (_PRODUCTS * rows * width**2 + _FACTORISATIONS * width**3 + _EACH)
        yield _Part(("wholes", *pair, request.center, request.top, request.seed), 1, wholes)


def _eigenproblems(request: GeometryRequest, rows: float) -> float:
    """Three distances and their floors: products of the graphs, and with the growing basis."""
    block = 2.0 * request.components
    passes = 2 * _MATRICES * _PASSES * 2 * rows
    return passes * (8 * request.spectral_k * block + block * block)
