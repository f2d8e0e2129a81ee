"""Immutable, JSON-serialisable descriptions of work: what the interface edits, the link encodes,
the command line reads, the cache is keyed by and every export contains."""

from embtie_widgets.requests.align import COMPARISONS, MAPS, ROLES, AlignRequest
from embtie_widgets.requests.checkpoints import CheckpointsRequest
from embtie_widgets.requests.model import ModelRef
from embtie_widgets.requests.parameters import ParametersRequest
from embtie_widgets.requests.reading import read_request
from embtie_widgets.requests.request import Request

__all__ = [
    "COMPARISONS",
    "MAPS",
    "ROLES",
    "AlignRequest",
    "CheckpointsRequest",
    "ModelRef",
    "ParametersRequest",
    "Request",
    "read_request",
]
