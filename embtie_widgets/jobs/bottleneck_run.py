"""The bottleneck of runs: twins in training here, or runs that somebody else trains."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.cache import entry_key, kept_or_made, recall
from embtie_widgets.jobs.estimate import Work, timed
from embtie_widgets.jobs.following import Watched, follow
from embtie_widgets.jobs.training_cost import training_work
from embtie_widgets.jobs.training_plan import TIED, UNTIED, open_plan
from embtie_widgets.jobs.training_rows import shape_of
from embtie_widgets.jobs.twins import Twins
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import BottleneckRequest
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.results.bottleneck import CURVES, BottleneckReport, BottleneckRun
from embtie_widgets.sources.permission import run_path
from embtie_widgets.training.run_store import RunStore, about_run

ORDER = (UNTIED, TIED)
MEASURED = "destroyed"
_SMALLER = "Choose a smaller batch, a shorter length or a smaller vocabulary."


def run_twins(request: BottleneckRequest, progress: Progress = silent) -> BottleneckReport:
    """Train the twins of the recipe, as far as no panel has trained them yet."""
    plan = open_plan(request, progress)

    def made(twins: Twins, progress: str) -> BottleneckReport:
        return _report(
            request,
            twins.runs,
            failed=twins.failed,
            notes=twins.notes,
            hashes=plan.hashes,
            cached=twins.cached,
            progress=progress,
        )

    twins = Twins(plan, ORDER, run_in, made, progress)
    found: BottleneckReport = kept_or_made(
        request,
        plan.hashes,
        lambda: timed(twins_work(request), twins.trained, hint=_SMALLER, tells=twins.all_trained),
        lambda made: not made.failed,
    )
    return found


def twins_work(request: BottleneckRequest) -> Work | None:
    """What their training consists of."""
    return training_work(request, tied=1, untied=1)


def known_twins(request: BottleneckRequest) -> BottleneckReport | None:
    """What an earlier run has left, where the text ships with embtie: the result, or both runs."""
    if request.corpus.ref not in (OWN, BUNDLED) or request.tokenizer:
        return None
    plan = open_plan(request)
    kept: BottleneckReport | None = recall(entry_key(request, plan.hashes))
    if kept is not None:
        return kept
    known = all(plan.known(plan.spec(name)) is not None for name in ORDER)
    return run_twins(request) if known else None


def run_recorded(request: BottleneckRequest, progress: Progress = silent) -> BottleneckReport:
    """All that the run, or each of several, has logged, handed on as it grows."""
    made = partial(_recorded, request)
    found: BottleneckReport = follow(run_path(request.file), made, progress)
    return found


def run_in(store: RunStore) -> BottleneckRun:
    """A run so far, at the steps at which it was measured: a recorded one may log more of others.

    V and d, as "rows" and "width", stand in what is known of it.
    """
    manifest, logged = store.manifest, store.curves()
    measured = np.isfinite(logged.get(MEASURED, np.full(len(logged["step"]), np.nan)))
    rows, width = shape_of(manifest["settings"])
    shape = {"rows": rows, "width": width} if rows and width else {}
    return BottleneckRun(
        curves={name: curve[measured] for name, curve in logged.items() if name in CURVES},
        tied=manifest["tied"],
        about=about_run(manifest) | {"done": store.done} | shape,
    )


def _recorded(
    request: BottleneckRequest, watched: list[Watched], progress: str
) -> BottleneckReport | None:
    """What there is; None while nothing is, and an error where nothing will be."""
    runs = {one.name: run_in(one.store) for one in watched}
    found = {name: run for name, run in runs.items() if len(run.curves["step"])}
    failed = {
        one.name: _lacking(one)
        for one in watched
        if one.name not in found and (one.done or not one.grows)
    }
    if not found and len(failed) < len(runs):
        return None
    if not found:
        raise next(iter(failed.values()))
    return _report(
        request,
        found,
        failed=failed,
        notes=[note for one in watched for note in one.notes],
        hashes={
            f"{one.name} {what}": sha
            for one in watched
            for what, sha in one.store.manifest["hashes"].items()
        },
        progress=progress,
        file=run_path(request.file).name,
    )


def _lacking(run: Watched) -> EmbtieError:
    if run.done:
        return EmbtieError(
            f"The run '{run.name}' has logged nothing of what its head transmits: it was recorded "
            "by an earlier version, or no logits of its head were seen.",
            "Record it again with `RunRecorder`, or train it here.",
        )
    return EmbtieError(f"The run '{run.name}' has logged no step.", "Look again once it has begun.")


def _report(
    request: BottleneckRequest,
    runs: Mapping[str, BottleneckRun],
    *,
    failed: Mapping[str, EmbtieError],
    notes: Iterable[str],
    hashes: Mapping[str, str],
    cached: bool = False,
    progress: str = "",
    **settings: Any,
) -> BottleneckReport:
    return BottleneckReport(
        models={},
        runs=dict(runs),
        failed={name: str(error) for name, error in failed.items()},
        notes=tuple(dict.fromkeys(notes)),
        settings={**request.to_dict(), **settings, "cached": cached},
        hashes=dict(hashes),
        progress=progress,
    )
