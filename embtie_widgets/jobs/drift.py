"""From a DriftRequest to a DriftReport: a model's checkpoints, twins in training, or a record."""

from collections.abc import Callable

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs.cache import kept_or_made, latest
from embtie_widgets.jobs.drift_report import (
    Growing,
    RunMeter,
    logged_drift,
    meter_of,
    rows_of_loaded,
    whole,
)
from embtie_widgets.jobs.estimate import timed
from embtie_widgets.jobs.following import Watched, follow
from embtie_widgets.jobs.model_series import ModelSeries, named
from embtie_widgets.jobs.recorded import recorded_drift, recorded_path
from embtie_widgets.jobs.training_cost import training_work
from embtie_widgets.jobs.training_plan import TIED, UNTIED, Plan, open_plan
from embtie_widgets.jobs.training_rows import Rows, rows_of_run
from embtie_widgets.jobs.training_runs import Pictures
from embtie_widgets.jobs.twins import how_far
from embtie_widgets.measures.drift import DriftMeter
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import DriftRequest, ModelRef
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.requests.mapping import columns_of
from embtie_widgets.results.checkpoints import Checkpoint
from embtie_widgets.results.drift import DriftReport
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.permission import run_path
from embtie_widgets.sources.series import is_remote
from embtie_widgets.training.run_store import RunStore

ORDER = (UNTIED, TIED)


def run_drift(request: DriftRequest, progress: Progress = silent) -> DriftReport:
    """Say how far the rows have turned in what the request names."""
    return _SOURCES[request.source](request, progress)


def look_up(request: DriftRequest) -> DriftReport | None:
    """What an earlier run has left: of models on the hub, the result that came last; of a training,
    where both of its runs are there, and the text ships with embtie."""
    if request.source == "model" and all(is_remote(ref.ref) for ref in request.models):
        found: DriftReport | None = latest(request)
        return found
    return _known_training(request) if request.source == "train" else None


# Checkpoints of models.


def _of_models(request: DriftRequest, progress: Progress) -> DriftReport:
    growing, errors = Growing(request), list[EmbtieError]()
    names = named(request.models)
    for name, model in names.items():
        try:
            _series(growing, name, model, request, progress)
        except Interrupted:
            raise
        except EmbtieError as error:
            growing.failed[name] = str(error)
            errors.append(error)
    made = whole(growing, errors)
    if made.failed:
        return made
    kept: DriftReport = kept_or_made(request, made.hashes, lambda: made)
    return kept


def _series(
    growing: Growing, name: str, model: ModelRef, request: DriftRequest, progress: Progress
) -> None:
    """One model, checkpoint by checkpoint; those that cannot be read are left out and told."""
    meter: DriftMeter | None = None
    rows: Rows | None = None
    show = Pictures(progress, growing.report)
    series = ModelSeries(name, model, request.revisions, request.count, notes=growing.notes)

    def take(at: Checkpoint, loaded: Loaded) -> None:
        nonlocal meter, rows
        if meter is None:
            meter, rows = meter_of(loaded), rows_of_loaded(loaded)
        meter.add(at, loaded.input, loaded.output, loaded.hashes, progress)
        growing.take(name, meter.result(), rows)
        show(f"{len(meter):,} checkpoints of {name}")

    series.follow(take, progress)


# Twins that are trained here.


def _of_training(request: DriftRequest, progress: Progress) -> DriftReport:
    plan = open_plan(request, progress)
    twins = _Twins(request, plan, progress)
    made: DriftReport = timed(
        training_work(request, tied=1, untied=1), twins.trained, tells=lambda: not twins.cached
    )
    return made


class _Twins:
    """Both runs of a plan, their drift as far as they have come."""

    def __init__(self, request: DriftRequest, plan: Plan, progress: Progress) -> None:
        self._plan, self._progress = plan, progress
        self._growing = Growing(request, plan.rows)
        self._growing.hashes |= plan.hashes
        self._growing.cached = all(plan.known(plan.spec(name)) for name in ORDER)
        self._course = plan.course([plan.spec(name) for name in ORDER], progress)

    @property
    def cached(self) -> bool:
        """Whether both runs were there already."""
        return self._growing.cached

    def trained(self) -> DriftReport:
        """The untied run, then the tied one; one that fails leaves the other its curves."""
        errors = []
        for name in ORDER:
            try:
                self._take(name)
            except Interrupted:
                raise
            except EmbtieError as error:
                self._growing.failed[name] = str(error)
                errors.append(error)
        return whole(self._growing, errors)

    def _take(self, name: str) -> None:
        meter = RunMeter(self._plan.rows.counts)
        show = Pictures(self._progress, self._growing.report)

        def grown(store: RunStore) -> None:
            if meter.take(store):
                self._growing.take(name, meter.result())
                show(how_far(store))

        store = self._plan.run(self._plan.spec(name), self._course, grown)
        meter.take(store, self._progress)
        self._growing.take(name, meter.result())
        self._growing.notes += store.notes()


def _known_training(request: DriftRequest) -> DriftReport | None:
    if request.tokenizer or request.corpus.ref not in (OWN, BUNDLED):
        return None
    plan = open_plan(request)
    twins = _Twins(request, plan, silent)
    return twins.trained() if twins.cached else None


# What is recorded already.


def _of_file(request: DriftRequest, progress: Progress) -> DriftReport:
    progress("reading the recorded file", 0, 1)
    drift, read = recorded_drift(recorded_path(request.file), columns_of(request.columns))
    growing = Growing(request)
    growing.take(read.model or read.name, drift)
    return growing.report()


def _of_run(request: DriftRequest, progress: Progress) -> DriftReport:
    """A run, or each of several, as it grows."""
    watched = _Followed(request)
    found: DriftReport = follow(run_path(request.file), watched.so_far, progress)
    return found


class _Followed:
    """Runs that somebody else trains, each checkpoint of them compared once."""

    def __init__(self, request: DriftRequest) -> None:
        self._request = request
        self._meters: dict[str, RunMeter] = {}

    def so_far(self, runs: list[Watched], progress: str) -> DriftReport | None:
        """What there is; None while nothing is, and an error where nothing will be."""
        growing = Growing(self._request)
        for run in runs:
            rows = rows_of_run(run.store)
            meter = self._meters.setdefault(run.name, RunMeter(rows.counts))
            meter.take(run.store)
            drift = meter.result() if len(meter) > 1 else logged_drift(run.store)
            if drift is not None:
                growing.take(run.name, drift, rows)
            elif not run.grows:
                growing.failed[run.name] = _NOTHING.format(name=run.name)
            growing.notes += run.notes
        if len(growing):
            return growing.report(progress)
        if progress:
            return None
        raise EmbtieError(next(iter(growing.failed.values())), "Keep checkpoints of it.")


_NOTHING = "The run '{name}' has kept fewer than two checkpoints, and logged no drift."
_SOURCES: dict[str, Callable[[DriftRequest, Progress], DriftReport]] = {
    "model": _of_models,
    "train": _of_training,
    "file": _of_file,
    "run": _of_run,
}
