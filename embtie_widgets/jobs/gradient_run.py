"""The gradient of a run that somebody else trains, shown as it grows and afterwards."""

from functools import partial

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.following import Watched, follow
from embtie_widgets.jobs.gradient_report import report
from embtie_widgets.jobs.training_rows import Rows, rows_of_run
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import GradientFlowRequest
from embtie_widgets.results.gradient import FlowRun, GradientFlow
from embtie_widgets.sources.permission import run_path


def follow_run(request: GradientFlowRequest, progress: Progress = silent) -> GradientFlow:
    """All that the run, or each of several, has logged, handed on as it grows."""
    found: GradientFlow = follow(run_path(request.file), partial(_result, request), progress)
    return found


def _result(
    request: GradientFlowRequest, runs: list[Watched], progress: str
) -> GradientFlow | None:
    """What there is; None while nothing is, and an error where nothing will be."""
    flows = {run.name: _flow(run) for run in runs}
    found = {name: flow for name, flow in flows.items() if flow is not None}
    failed = {run.name: _without(run) for run in runs if flows[run.name] is None and not run.grows}
    if not found and progress:
        return None
    if not found:
        raise next(iter(failed.values()))
    rows, notes = _rows([run for run in runs if run.name in found])
    return report(
        request,
        found,
        rows,
        failed=failed,
        notes=[*(note for run in runs for note in run.notes), *notes],
        hashes={
            f"{run.name} {what}": sha
            for run in runs
            for what, sha in run.store.manifest["hashes"].items()
        },
        progress=progress,
    )


def _flow(run: Watched) -> FlowRun | None:
    """None where it holds no gradient, or none yet."""
    flow = run.store.flow_run()
    return flow if len(flow.curves["step"]) and "output_norm" in flow.curves else None


def _rows(runs: list[Watched]) -> tuple[Rows, list[str]]:
    """Of the first run that knows its own, and who else has others."""
    known = [(run.name, rows_of_run(run.store)) for run in runs]
    name, first = next(((name, rows) for name, rows in known if rows.tokens), ("", Rows()))
    others = [other for other, rows in known if len(rows.tokens) not in (0, len(first.tokens))]
    return first, [
        f"{other} has other rows than {name}, whose tokens are shown." for other in others
    ]


def _without(run: Watched) -> EmbtieError:
    if run.done:
        return EmbtieError(
            f"The run '{run.name}' has logged no gradient by its two paths.",
            "Record it with `RunRecorder`, or train it here.",
        )
    return EmbtieError(f"The run '{run.name}' has logged no step.", "Look again once it has begun.")
