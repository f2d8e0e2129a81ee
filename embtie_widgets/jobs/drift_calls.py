"""`ew.drift`: the drift of whatever holds checkpoints."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from embtie_widgets.jobs.drift_report import RunMeter, meter_of
from embtie_widgets.measures.drift import drift as of_list
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.results.checkpoints import Checkpoint
from embtie_widgets.results.drift import Drift, DriftReport
from embtie_widgets.sources.paths import local_path
from embtie_widgets.sources.series import Series, load_series
from embtie_widgets.training.run_store import RunStore, is_run
from embtie_widgets.training.twins import Twins


def drift(
    checkpoints: Any, *, counts: Any = None, progress: Progress = silent
) -> Drift | DriftReport:
    """How far rows have turned since the first checkpoint, and since the one before.

    `checkpoints` are a list of (step, input, output), steps in any order, matrices (V, d), the
    output None where there is none; a run (`RunStore`, or its folder); a series of
    `ew.load_series`, or what names a model with checkpoints.  `ew.train_twins` and folders of
    several runs give a report with a drift for each run in `.runs`.  `counts` (V,) add means by
    band of token frequency where the source has none.

    Rows that are zero or not finite at a checkpoint are in none of its means, and are counted.
    Source: weight-tying paper, figures 3, 8 and 9.
    """
    if isinstance(checkpoints, Twins):
        checkpoints = checkpoints.checkpoints
    if isinstance(checkpoints, Mapping):
        return _report(
            {n: drift(c, counts=counts, progress=progress) for n, c in checkpoints.items()}
        )
    if isinstance(checkpoints, RunStore):
        return _of_run(checkpoints, counts, progress)
    if isinstance(checkpoints, str | Path | ModelRef):
        found: Drift | DriftReport = _of_named(checkpoints, counts, progress)
        return found
    if isinstance(checkpoints, Series):
        return _of_series(checkpoints, counts, progress)
    return of_list(checkpoints, counts, progress)


def _report(drifts: dict[str, Any]) -> DriftReport:
    hashes = {f"{name} {k}": v for name, one in drifts.items() for k, v in one.hashes.items()}
    return DriftReport(drifts, (), None, None, {}, (), {}, hashes)


def _of_run(store: RunStore, counts: Any, progress: Progress) -> Drift:
    """As far as it has come."""
    meter = RunMeter(store.counts() if counts is None else counts)
    meter.take(store, progress)
    return meter.result()


def _of_named(named: str | Path | ModelRef, counts: Any, progress: Progress) -> Any:
    if not isinstance(named, ModelRef):
        path = local_path(named)
        if is_run(path):
            return _of_run(RunStore.open(path), counts, progress)
        inside = sorted(p for p in path.iterdir() if is_run(p)) if path.is_dir() else []
        if inside:
            stores = {p.name: RunStore.open(p) for p in inside}
            return _report({n: _of_run(s, counts, progress) for n, s in stores.items()})
        named = ModelRef(str(named))
    return _of_series(load_series(named, progress=progress), counts, progress)


def _of_series(series: Series, counts: Any, progress: Progress) -> Drift:
    meter = meter_of(series.loaded[0], counts)
    for revision, loaded in series:
        at = Checkpoint(**vars(revision))
        meter.add(at, loaded.input, loaded.output, loaded.hashes, progress)
    found = meter.result()
    skipped = [f"{name} was left out: {reason}" for name, reason in series.skipped]
    return replace(found, notes=(*found.notes, *skipped))
