"""What a comparison of geometries will cost, and what is shown before it; torch is not needed."""

from dataclasses import replace

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.requests.geometry import GeometryRequest

TOO_LARGE = "Choose smaller models, leave the spectral distance out, or close other work there."
PREVIEW_SAMPLE = 2_000
_MATRICES = 3


def work_of(request: GeometryRequest) -> Work | None:
    """What a run consists of; None while the models are not known here."""
    size = experience.size(request)
    if size is None:
        return None
    rows, width = map(float, size)
    operations = _neighbours(request, rows, width) + _spectra(rows, width)
    held = rows * 4 * (request.k + 2) * _MATRICES + 70 * 8 * width**2 + _SEARCH_BYTES
    if request.spectral:
        operations += _graphs(request, rows)
        held += rows * (8 * request.spectral_k * 6 + 2 * 8 * 4 * request.components)
    return Work(request.kind, request.device, operations, int(held))


def estimate_geometry(request: GeometryRequest) -> Estimate | None:
    """The cost of a request as far as this kernel can tell; None for models not loaded yet."""
    return experience.estimate(work_of(request))


def preview(request: GeometryRequest) -> GeometryRequest | None:
    """What is shown first: a sample of the tokens, and no graphs."""
    if 0 < request.sample <= PREVIEW_SAMPLE:
        return None
    return replace(request, sample=PREVIEW_SAMPLE, spectral=False)


# Measured: choosing the nearest of a row's similarities takes as long as so many multiply-adds for
# each of them; an eigenproblem passes over the graph and its basis so many times.
_CHOOSING, _PASSES = 60.0, 8.0
_SEARCH_BYTES = 600 * 2**20


def _neighbours(request: GeometryRequest, rows: float, width: float) -> float:
    """Those that are asked for, and those of the graphs where these are others."""
    asked = min(float(request.sample), rows) if request.sample else rows
    each = asked * rows * (width + _CHOOSING)
    same = request.metric == "cosine" and not request.center and not request.sample
    graphs = 0.0 if same or not request.spectral else rows * rows * (width + _CHOOSING)
    return _MATRICES * (each + graphs)


def _spectra(rows: float, width: float) -> float:
    """Products and factorisations of every matrix and of every two, with their floors."""
    return 3 * _MATRICES * rows * width**2 + 9 * 30 * width**3


def _graphs(request: GeometryRequest, rows: float) -> float:
    """Three distances and their floors: products of the graphs, and with the growing basis."""
    block = 2.0 * request.components
    passes = 6 * _PASSES * 2 * rows
    return passes * (8 * request.spectral_k * block + block * block)
