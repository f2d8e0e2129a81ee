"""embtie: what weight tying does to a language model's token embeddings.

The face of the library: every public name, imported only when it is first used, so that
`import embtie_widgets` loads neither torch nor transformers.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embtie_widgets.app.dashboard import dashboard
    from embtie_widgets.app.report import report
    from embtie_widgets.errors import EmbtieError
    from embtie_widgets.jobs.bottleneck_calls import bottleneck
    from embtie_widgets.jobs.drift_calls import drift
    from embtie_widgets.jobs.families import supported_families
    from embtie_widgets.jobs.gradient_calls import gradient_split
    from embtie_widgets.jobs.lens_calls import lens, load_lens, train_lens
    from embtie_widgets.jobs.places import use_cluster
    from embtie_widgets.jobs.run import run
    from embtie_widgets.jobs.staircase_calls import staircase
    from embtie_widgets.measures.alignment import align, align_pair
    from embtie_widgets.measures.centering import z_loss
    from embtie_widgets.measures.cka import cka
    from embtie_widgets.measures.frequency import norm_frequency
    from embtie_widgets.measures.isotropy import isotropy
    from embtie_widgets.measures.means import bound_ratio, center, mean_share
    from embtie_widgets.measures.neighbours import knn_overlap
    from embtie_widgets.measures.omnibus import spectral_distance
    from embtie_widgets.measures.sensitivity import learning_rate_sensitivity
    from embtie_widgets.measures.signatures import signature
    from embtie_widgets.measures.spectra import spectrum
    from embtie_widgets.measures.subspaces import subspace_overlap
    from embtie_widgets.panels.alignment import AlignmentPanel
    from embtie_widgets.panels.bottleneck import BottleneckPanel
    from embtie_widgets.panels.centering import CenteringPanel
    from embtie_widgets.panels.checkpoints import CheckpointsPanel
    from embtie_widgets.panels.drift import DriftPanel
    from embtie_widgets.panels.evaluate import EvaluatePanel
    from embtie_widgets.panels.experiment import Experiment
    from embtie_widgets.panels.geometry import GeometryPanel
    from embtie_widgets.panels.gradient import GradientFlowPanel
    from embtie_widgets.panels.lens import LensPanel
    from embtie_widgets.panels.lesson import Exercise, Picture, Prediction
    from embtie_widgets.panels.norms import NormFrequencyPanel
    from embtie_widgets.panels.papers import PaperTablesPanel
    from embtie_widgets.panels.parameters import ParametersPanel
    from embtie_widgets.panels.scaling import ScalingPanel
    from embtie_widgets.panels.signatures import SignaturesPanel
    from embtie_widgets.panels.staircase import StaircasePanel
    from embtie_widgets.panels.trials import BottleneckTrialsPanel
    from embtie_widgets.requests import (
        AlignRequest,
        BottleneckRequest,
        BottleneckTrialsRequest,
        CenteringRequest,
        CheckpointsRequest,
        CorpusRef,
        DriftRequest,
        EvaluateRequest,
        GeometryRequest,
        GradientFlowRequest,
        LensRequest,
        ModelRef,
        NormFrequencyRequest,
        PaperTablesRequest,
        ParametersRequest,
        ScalingRequest,
        SignaturesRequest,
        StaircaseRequest,
    )
    from embtie_widgets.sources.families import register_family
    from embtie_widgets.sources.load import load
    from embtie_widgets.sources.matching import match
    from embtie_widgets.sources.parameters import parameters
    from embtie_widgets.sources.series import load_series
    from embtie_widgets.training.recorder import RunRecorder
    from embtie_widgets.training.twins import train_twins

_HOME = {
    "AlignRequest": "requests",
    "AlignmentPanel": "panels.alignment",
    "BottleneckTrialsPanel": "panels.trials",
    "BottleneckTrialsRequest": "requests",
    "BottleneckPanel": "panels.bottleneck",
    "BottleneckRequest": "requests",
    "CenteringPanel": "panels.centering",
    "CenteringRequest": "requests",
    "CheckpointsPanel": "panels.checkpoints",
    "CheckpointsRequest": "requests",
    "CorpusRef": "requests",
    "DriftPanel": "panels.drift",
    "DriftRequest": "requests",
    "EmbtieError": "errors",
    "EvaluatePanel": "panels.evaluate",
    "EvaluateRequest": "requests",
    "Exercise": "panels.lesson",
    "Experiment": "panels.experiment",
    "GeometryPanel": "panels.geometry",
    "GeometryRequest": "requests",
    "GradientFlowPanel": "panels.gradient",
    "GradientFlowRequest": "requests",
    "LensPanel": "panels.lens",
    "LensRequest": "requests",
    "ModelRef": "requests",
    "NormFrequencyPanel": "panels.norms",
    "NormFrequencyRequest": "requests",
    "PaperTablesRequest": "requests",
    "Picture": "panels.lesson",
    "Prediction": "panels.lesson",
    "PaperTablesPanel": "panels.papers",
    "ParametersPanel": "panels.parameters",
    "ParametersRequest": "requests",
    "RunRecorder": "training.recorder",
    "ScalingPanel": "panels.scaling",
    "ScalingRequest": "requests",
    "SignaturesPanel": "panels.signatures",
    "SignaturesRequest": "requests",
    "StaircasePanel": "panels.staircase",
    "StaircaseRequest": "requests",
    "align": "measures.alignment",
    "align_pair": "measures.alignment",
    "bottleneck": "jobs.bottleneck_calls",
    "bound_ratio": "measures.means",
    "center": "measures.means",
    "cka": "measures.cka",
    "dashboard": "app.dashboard",
    "drift": "jobs.drift_calls",
    "gradient_split": "jobs.gradient_calls",
    "isotropy": "measures.isotropy",
    "knn_overlap": "measures.neighbours",
    "learning_rate_sensitivity": "measures.sensitivity",
    "lens": "jobs.lens_calls",
    "load": "sources.load",
    "load_lens": "jobs.lens_calls",
    "load_series": "sources.series",
    "match": "sources.matching",
    "mean_share": "measures.means",
    "norm_frequency": "measures.frequency",
    "parameters": "sources.parameters",
    "register_family": "sources.families",
    "report": "app.report",
    "run": "jobs.run",
    "signature": "measures.signatures",
    "spectrum": "measures.spectra",
    "subspace_overlap": "measures.subspaces",
    "spectral_distance": "measures.omnibus",
    "staircase": "jobs.staircase_calls",
    "supported_families": "jobs.families",
    "train_lens": "jobs.lens_calls",
    "train_twins": "training.twins",
    "use_cluster": "jobs.places",
    "z_loss": "measures.centering",
}

__all__ = [
    "AlignRequest",
    "AlignmentPanel",
    "BottleneckPanel",
    "BottleneckRequest",
    "BottleneckTrialsPanel",
    "BottleneckTrialsRequest",
    "CenteringPanel",
    "CenteringRequest",
    "CheckpointsPanel",
    "CheckpointsRequest",
    "CorpusRef",
    "DriftPanel",
    "DriftRequest",
    "EmbtieError",
    "EvaluatePanel",
    "EvaluateRequest",
    "Exercise",
    "Experiment",
    "GeometryPanel",
    "GeometryRequest",
    "GradientFlowPanel",
    "GradientFlowRequest",
    "LensPanel",
    "LensRequest",
    "ModelRef",
    "NormFrequencyPanel",
    "NormFrequencyRequest",
    "PaperTablesPanel",
    "PaperTablesRequest",
    "ParametersPanel",
    "ParametersRequest",
    "Picture",
    "Prediction",
    "RunRecorder",
    "ScalingPanel",
    "ScalingRequest",
    "SignaturesPanel",
    "SignaturesRequest",
    "StaircasePanel",
    "StaircaseRequest",
    "align",
    "align_pair",
    "bottleneck",
    "bound_ratio",
    "center",
    "cka",
    "dashboard",
    "drift",
    "gradient_split",
    "isotropy",
    "knn_overlap",
    "learning_rate_sensitivity",
    "lens",
    "load",
    "load_lens",
    "load_series",
    "match",
    "mean_share",
    "norm_frequency",
    "parameters",
    "register_family",
    "report",
    "run",
    "signature",
    "spectral_distance",
    "spectrum",
    "staircase",
    "subspace_overlap",
    "supported_families",
    "train_lens",
    "train_twins",
    "use_cluster",
    "z_loss",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if os.environ.get("EMBTIE_SERVED") == "1":  # a kernel of a served page: see sources.permission
    import_module(f"{__name__}.logs").write_kernel_log()
