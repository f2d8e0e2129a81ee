"""What comes of a request: frozen, made of numpy arrays and plain values, never of torch."""

from embtie_widgets.results.alignment import Alignment, PairAlignment
from embtie_widgets.results.bottleneck import Bottleneck, BottleneckReport
from embtie_widgets.results.centering import CenteringReport, CenteringRun
from embtie_widgets.results.checkpoints import CheckpointReport
from embtie_widgets.results.counts import Counts
from embtie_widgets.results.drift import Drift, DriftReport
from embtie_widgets.results.evaluate import Evaluation
from embtie_widgets.results.geometry import PairGeometry
from embtie_widgets.results.gradient import FlowRun, GradientFlow, GradientSplit
from embtie_widgets.results.lens import Lens, PairLens
from embtie_widgets.results.norms import NormFrequency, PairNorms
from embtie_widgets.results.pair import PairResult, TokenResult
from embtie_widgets.results.papers import PaperItem, PaperNumber, PaperTables
from embtie_widgets.results.parameters import ParameterReport, Parameters, Printed
from embtie_widgets.results.scaling import ScaledRun, ScalingReport
from embtie_widgets.results.staircase import Signature, StaircaseReport, StaircaseRun
from embtie_widgets.results.tokens import carried, display_token, draws_nothing
from embtie_widgets.results.trials import TrialsReport

__all__ = [
    "Alignment",
    "Bottleneck",
    "BottleneckReport",
    "CenteringReport",
    "CenteringRun",
    "CheckpointReport",
    "Counts",
    "Drift",
    "DriftReport",
    "Evaluation",
    "FlowRun",
    "GradientFlow",
    "GradientSplit",
    "Lens",
    "NormFrequency",
    "PairAlignment",
    "PairGeometry",
    "PairLens",
    "PairNorms",
    "PairResult",
    "PaperItem",
    "PaperNumber",
    "PaperTables",
    "ParameterReport",
    "Parameters",
    "Printed",
    "ScaledRun",
    "ScalingReport",
    "Signature",
    "StaircaseReport",
    "StaircaseRun",
    "TokenResult",
    "TrialsReport",
    "carried",
    "display_token",
    "draws_nothing",
]
