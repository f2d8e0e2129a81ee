"""From a GradientFlowRequest to a GradientFlow: twins in training here, or what is known of others.

Models split without training are in `gradient_text`, runs that somebody else trains in
`gradient_run`.
"""

from embtie_widgets.jobs.cache import entry_key, kept_or_made, recall
from embtie_widgets.jobs.estimate import timed
from embtie_widgets.jobs.gradient_report import report
from embtie_widgets.jobs.gradient_run import follow_run
from embtie_widgets.jobs.gradient_text import known_split, run_split
from embtie_widgets.jobs.recorded import recorded_flow, recorded_path
from embtie_widgets.jobs.training_cost import work_of
from embtie_widgets.jobs.training_plan import TIED, UNTIED, open_plan
from embtie_widgets.jobs.training_rows import Rows
from embtie_widgets.jobs.twins import Twins
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import GradientFlowRequest
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.requests.mapping import columns_of
from embtie_widgets.results.gradient import GradientFlow
from embtie_widgets.training.run_store import RunStore

# The shared matrix is what is asked about; the other twin is its comparison.
ORDER = (TIED, UNTIED)
_SMALLER = "Choose a smaller batch, a shorter length or a smaller vocabulary."


def run_gradient_flow(request: GradientFlowRequest, progress: Progress = silent) -> GradientFlow:
    """Split the gradient of what the request names."""
    return _SOURCES[request.source](request, progress)


def look_up(request: GradientFlowRequest) -> GradientFlow | None:
    """What an earlier run has left, where the text ships with embtie; what is recorded is read
    anew, which is quick."""
    if request.corpus.ref not in (OWN, BUNDLED):
        return None
    if request.source == "train" and not request.tokenizer:
        found: GradientFlow | None = recall(entry_key(request, open_plan(request).hashes))
        return found
    return known_split(request) if request.source == "text" else None


def _train(request: GradientFlowRequest, progress: Progress) -> GradientFlow:
    plan = open_plan(request, progress)

    def made(twins: Twins, progress: str) -> GradientFlow:
        return report(
            request,
            twins.runs,
            plan.rows,
            failed=twins.failed,
            notes=twins.notes,
            hashes=plan.hashes,
            cached=twins.cached,
            progress=progress,
        )

    twins = Twins(plan, ORDER, RunStore.flow_run, made, progress)
    found: GradientFlow = kept_or_made(
        request,
        plan.hashes,
        lambda: timed(work_of(request), twins.trained, hint=_SMALLER, tells=twins.all_trained),
        lambda made: not made.failed,
    )
    return found


def _file(request: GradientFlowRequest, progress: Progress) -> GradientFlow:
    progress("reading the recorded file", 0, 1)
    run, read = recorded_flow(recorded_path(request.file), columns_of(request.columns))
    hashes = {"file": read.sha256}
    return report(request, {read.name: run}, Rows(), notes=read.notes, hashes=hashes)


_SOURCES = {"train": _train, "text": run_split, "file": _file, "run": follow_run}
