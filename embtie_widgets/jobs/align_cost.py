"""What an AlignRequest will cost."""

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.requests import AlignRequest

TOO_LARGE = "Choose smaller models or the identity map, or close other work there."
# Three comparisons, each with its floor and hold-out; identity forms no product.
_PRODUCTS = {"identity": 0.0, "orthogonal": 13.0, "linear": 18.0}
_FACTORISATIONS = {"identity": 0.0, "orthogonal": 9 * 30.0, "linear": 9 * 25.0}
# Measured as peaks above the inputs: d x d work in float64, blocks of rows of every matrix in the
# arithmetic's type and the stored one, and some vectors over all rows.
_SQUARES, _BLOCK_BYTES, _ROW_BYTES = 70 * 8, 4096 * 96, 1000


def work_of(request: AlignRequest) -> Work | None:
    """What the run consists of; None while its models are not known here."""
    size = experience.size(request)
    if size is None:
        return None
    (rows, width), fitted = size, request.map != "identity"
    products, factorisations = _PRODUCTS[request.map], _FACTORISATIONS[request.map]
    operations = float(rows) * width * (products * width + 50) + factorisations * float(width) ** 3
    memory = _SQUARES * width * width * fitted + _BLOCK_BYTES * width + _ROW_BYTES * rows
    return Work(request.kind, request.device, operations, memory, telling=fitted)


def estimate_align(request: AlignRequest) -> Estimate | None:
    """The cost of a request as far as this kernel can tell; None for models not loaded yet."""
    return experience.estimate_pair(request, work_of(request))
