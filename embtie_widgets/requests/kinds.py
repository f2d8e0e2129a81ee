"""Every kind of request: the one list that a new kind is added to.

A kind names its parts on the floors above as "module:name", so that to know of it loads nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, get_type_hints

from embtie_widgets.requests.align import AlignRequest
from embtie_widgets.requests.bottleneck import BottleneckRequest
from embtie_widgets.requests.centering import CenteringRequest
from embtie_widgets.requests.checkpoints import CheckpointsRequest
from embtie_widgets.requests.drift import DriftRequest
from embtie_widgets.requests.evaluate import EvaluateRequest
from embtie_widgets.requests.geometry import GeometryRequest
from embtie_widgets.requests.gradient import GradientFlowRequest
from embtie_widgets.requests.lens import LensRequest
from embtie_widgets.requests.norms import NormFrequencyRequest
from embtie_widgets.requests.papers import PaperTablesRequest
from embtie_widgets.requests.parameters import ParametersRequest
from embtie_widgets.requests.request import Request
from embtie_widgets.requests.scaling import ScalingRequest
from embtie_widgets.requests.signatures import SignaturesRequest
from embtie_widgets.requests.staircase import StaircaseRequest
from embtie_widgets.requests.trials import BottleneckTrialsRequest


@dataclass(frozen=True)
class Kind:
    """A kind of request, and who does what for it; only `run` and `look` may load torch.

    request   its class
    run       (request, progress) -> the result
    look      request -> the result that an earlier run has left, where that can be told without
              the work and without a download, else None; called off the main thread
    first     request -> the result that ships with the package, or None; at once, without torch
    estimate  request -> an `Estimate`, None while nothing can be said
    preview   request -> a cheaper one, whose result is shown until the exact one is there; None
              where there is none, as for a request that is such a cheaper one itself
    plots     result -> its charts with their captions, the `Plots` of charts/files.py; reports and
              pages without network are made of them
    text      (request, result) -> what the command line prints of it
    """

    request: type[Request]
    run: str
    look: str = ""
    first: str = ""
    estimate: str = ""
    preview: str = ""
    plots: str = ""
    text: str = ""

    def part(self, name: str) -> Callable[..., Any]:
        """One of them as a function; one that is not named answers None."""
        where, _, function = getattr(self, name).partition(":")
        found: Callable[..., Any] = getattr(import_module(where), function) if where else _nothing
        return found

    def result_type(self) -> type:
        """The class of its results, as its `plots` takes them."""
        found: type = get_type_hints(self.part("plots"))["result"]
        return found


def _nothing(*_arguments: Any) -> None:
    return None


KINDS: dict[str, Kind] = {
    kind.request.kind: kind
    for kind in (
        Kind(
            AlignRequest,
            run="embtie_widgets.jobs.align:run_align",
            look="embtie_widgets.jobs.pair_runs:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.align_cost:estimate_align",
            plots="embtie_widgets.charts.alignment:plots",
            text="embtie_widgets.cli.run:describe",
        ),
        Kind(
            BottleneckRequest,
            run="embtie_widgets.jobs.bottleneck:run_bottleneck",
            look="embtie_widgets.jobs.bottleneck:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.bottleneck_cost:estimate_bottleneck",
            plots="embtie_widgets.charts.bottleneck:plots",
            text="embtie_widgets.charts.bottleneck:text",
        ),
        Kind(
            BottleneckTrialsRequest,
            run="embtie_widgets.jobs.trials:run_trials",
            look="embtie_widgets.jobs.trials:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.trials_cost:estimate_trials",
            plots="embtie_widgets.charts.trials:plots",
            text="embtie_widgets.charts.trials:text",
        ),
        Kind(
            CenteringRequest,
            run="embtie_widgets.jobs.centering:run_centering",
            look="embtie_widgets.jobs.centering:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.centering_cost:estimate_centering",
            plots="embtie_widgets.charts.centering:plots",
            text="embtie_widgets.charts.centering:text",
        ),
        Kind(
            CheckpointsRequest,
            run="embtie_widgets.jobs.checkpoints:run_checkpoints",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.listing:estimate_checkpoints",
            plots="embtie_widgets.charts.checkpoints:plots",
            text="embtie_widgets.charts.checkpoints:text",
        ),
        Kind(
            DriftRequest,
            run="embtie_widgets.jobs.drift:run_drift",
            look="embtie_widgets.jobs.drift:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.drift_cost:estimate_drift",
            plots="embtie_widgets.charts.drift:plots",
            text="embtie_widgets.charts.drift:text",
        ),
        Kind(
            EvaluateRequest,
            run="embtie_widgets.jobs.evaluate:run_evaluate",
            look="embtie_widgets.jobs.evaluate:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.evaluate_cost:estimate_evaluate",
            plots="embtie_widgets.charts.evaluate:plots",
            text="embtie_widgets.charts.evaluate:text",
        ),
        Kind(
            GeometryRequest,
            run="embtie_widgets.jobs.geometry:run_geometry",
            look="embtie_widgets.jobs.pair_runs:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.geometry_cost:estimate_geometry",
            preview="embtie_widgets.jobs.geometry_cost:preview",
            plots="embtie_widgets.charts.geometry:plots",
            text="embtie_widgets.charts.geometry:text",
        ),
        Kind(
            GradientFlowRequest,
            run="embtie_widgets.jobs.gradient_flow:run_gradient_flow",
            look="embtie_widgets.jobs.gradient_flow:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.training_cost:estimate_flow",
            plots="embtie_widgets.charts.gradient:plots",
            text="embtie_widgets.charts.gradient:text",
        ),
        Kind(
            LensRequest,
            run="embtie_widgets.jobs.lens:run_lens",
            look="embtie_widgets.jobs.lens:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.lens_cost:estimate_lens",
            plots="embtie_widgets.charts.lens:plots",
            text="embtie_widgets.charts.lens:text",
        ),
        Kind(
            NormFrequencyRequest,
            run="embtie_widgets.jobs.norms:run_norms",
            look="embtie_widgets.jobs.norms:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.norms_cost:estimate_norms",
            plots="embtie_widgets.charts.norms:plots",
            text="embtie_widgets.charts.norms:text",
        ),
        Kind(
            PaperTablesRequest,
            run="embtie_widgets.jobs.papers:run_papers",
            look="embtie_widgets.jobs.papers:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.papers_cost:estimate_papers",
            plots="embtie_widgets.charts.papers:plots",
            text="embtie_widgets.charts.papers:text",
        ),
        Kind(
            ParametersRequest,
            run="embtie_widgets.jobs.parameters:run_parameters",
            first="embtie_widgets.jobs.parameters:shipped_report",
            estimate="embtie_widgets.jobs.parameters:estimate_parameters",
            plots="embtie_widgets.charts.parameters:plots",
            text="embtie_widgets.charts.parameters:text",
        ),
        Kind(
            ScalingRequest,
            run="embtie_widgets.jobs.scaling:run_scaling",
            look="embtie_widgets.jobs.scaling:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.scaling_cost:estimate_scaling",
            plots="embtie_widgets.charts.scaling:plots",
            text="embtie_widgets.charts.scaling:text",
        ),
        Kind(
            SignaturesRequest,
            run="embtie_widgets.jobs.signatures:run_signatures",
            look="embtie_widgets.jobs.signatures:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.signatures_cost:estimate_signatures",
            plots="embtie_widgets.charts.staircase:plots",
            text="embtie_widgets.charts.staircase:text",
        ),
        Kind(
            StaircaseRequest,
            run="embtie_widgets.jobs.staircase:run_staircase",
            look="embtie_widgets.jobs.staircase:look_up",
            first="embtie_widgets.jobs.first:first_result",
            estimate="embtie_widgets.jobs.staircase_cost:estimate_staircase",
            plots="embtie_widgets.charts.staircase:plots",
            text="embtie_widgets.charts.staircase:text",
        ),
    )
}
