"""Immutable, JSON-serialisable descriptions of work: what the interface edits, the link encodes,
the command line reads, the cache is keyed by and every export contains."""

from embtie_widgets.requests.align import MAPS, AlignRequest
from embtie_widgets.requests.bottleneck import BottleneckRequest
from embtie_widgets.requests.centering import CenteringRequest
from embtie_widgets.requests.checkpoints import CheckpointsRequest
from embtie_widgets.requests.corpus import CorpusRef
from embtie_widgets.requests.drift import DriftRequest
from embtie_widgets.requests.evaluate import EvaluateRequest
from embtie_widgets.requests.geometry import GeometryRequest
from embtie_widgets.requests.gradient import GradientFlowRequest
from embtie_widgets.requests.lens import LensRequest
from embtie_widgets.requests.model import ModelRef
from embtie_widgets.requests.norms import NormFrequencyRequest
from embtie_widgets.requests.pair import COMPARISONS, DEVICES, ROLES, PairRequest
from embtie_widgets.requests.papers import PaperTablesRequest
from embtie_widgets.requests.parameters import ParametersRequest
from embtie_widgets.requests.reading import read_request
from embtie_widgets.requests.request import Request
from embtie_widgets.requests.scaling import ScalingRequest
from embtie_widgets.requests.signatures import SignaturesRequest
from embtie_widgets.requests.staircase import StaircaseRequest
from embtie_widgets.requests.trials import BottleneckTrialsRequest

__all__ = [
    "COMPARISONS",
    "DEVICES",
    "MAPS",
    "ROLES",
    "AlignRequest",
    "BottleneckRequest",
    "BottleneckTrialsRequest",
    "CenteringRequest",
    "CheckpointsRequest",
    "CorpusRef",
    "DriftRequest",
    "EvaluateRequest",
    "GeometryRequest",
    "GradientFlowRequest",
    "LensRequest",
    "ModelRef",
    "NormFrequencyRequest",
    "PairRequest",
    "PaperTablesRequest",
    "ParametersRequest",
    "Request",
    "ScalingRequest",
    "SignaturesRequest",
    "StaircaseRequest",
    "read_request",
]
