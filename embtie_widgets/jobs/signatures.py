"""From a SignaturesRequest to a StaircaseReport: how far embeddings follow what stands beside each
token, in checkpoints of models, twins in training, or a run that somebody else trains."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs.cache import kept_or_made, latest
from embtie_widgets.jobs.estimate import timed
from embtie_widgets.jobs.following import Watched, follow
from embtie_widgets.jobs.model_series import ModelSeries, named
from embtie_widgets.jobs.signature_report import Growing, RunFollower, StoreFollower
from embtie_widgets.jobs.signature_text import Anchors, Statistics, Text, anchors_of, read_text
from embtie_widgets.jobs.training_cost import training_work
from embtie_widgets.jobs.training_plan import TIED, UNTIED, Plan, open_plan
from embtie_widgets.jobs.training_rows import rows_of_run
from embtie_widgets.jobs.training_runs import Pictures
from embtie_widgets.jobs.twins import how_far
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.requests.signatures import SignaturesRequest
from embtie_widgets.results.checkpoints import Checkpoint
from embtie_widgets.results.staircase import StaircaseReport
from embtie_widgets.sources import loaded as stored
from embtie_widgets.sources.load import load
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.permission import run_path
from embtie_widgets.sources.series import is_remote
from embtie_widgets.training.run_store import RunStore

ORDER = (UNTIED, TIED)
_COUNTING = "counting what stands beside tokens"
_TIES = {stored.TIED: True, stored.UNTIED: False}


def run_signatures(request: SignaturesRequest, progress: Progress = silent) -> StaircaseReport:
    """Compare the embeddings of what the request names with the statistics of its text."""
    return _SOURCES[request.source](request, progress)


def look_up(request: SignaturesRequest) -> StaircaseReport | None:
    """What an earlier run has left, where the text ships with embtie: of models on the hub, the
    result that came last; of a training, where both of its runs are there."""
    if request.corpus.ref not in (OWN, BUNDLED):
        return None
    if request.source == "model" and all(is_remote(ref.ref) for ref in request.models):
        found: StaircaseReport | None = latest(request)
        return found
    return _known_training(request) if request.source == "train" else None


# Checkpoints of models.


def _of_models(request: SignaturesRequest, progress: Progress) -> StaircaseReport:
    made = _Models(request, progress).measured()
    if made.failed:
        return made
    kept: StaircaseReport = kept_or_made(request, made.hashes, lambda: made)
    return kept


class _Models:
    """The models of a request, one after the other; one that fails leaves the others theirs."""

    def __init__(self, request: SignaturesRequest, progress: Progress) -> None:
        self._request, self._progress = request, progress
        self._models = named(request.models)
        self._growing = Growing(request)
        self._errors: list[EmbtieError] = []
        self._texts: dict[str, Text] = {}
        self._known: dict[tuple[str, bytes], Statistics] = {}

    def measured(self) -> StaircaseReport:
        """First the texts of all, since the anchors are tokens of each."""
        for name in self._models:
            self._try(name, self._read)
        if not self._texts:
            raise self._errors[0]
        first, *others = self._texts.values()
        anchors = anchors_of(self._request, first, others)
        self._growing.begin(first, anchors)
        for name in list(self._texts):
            self._try(name, lambda name: self._follow(name, anchors))
        return self._growing.whole(self._errors)

    def _try(self, name: str, act: Callable[[str], None]) -> None:
        try:
            act(name)
        except Interrupted:
            raise
        except EmbtieError as error:
            self._growing.failed[name] = str(error)
            self._errors.append(error)

    def _read(self, name: str) -> None:
        model = self._models[name]
        rows = load(model, progress=self._progress).common_rows
        self._texts[name] = read_text(self._request, model.ref, rows, self._progress)

    def _follow(self, name: str, anchors: Anchors) -> None:
        text = self._texts[name]
        ids = anchors.ids if text is next(iter(self._texts.values())) else anchors.within(text)
        statistics = self._statistics(text, ids)
        self._growing.count(name, text, statistics)
        self._series(name, statistics, ids)

    def _statistics(self, text: Text, ids: Any) -> Statistics:
        """Of models with one tokenizer once."""
        key = (text.sha256, ids.tobytes())
        if key not in self._known:
            self._progress(_COUNTING, 0, 1)
            self._known[key] = Statistics.of(self._request, text, ids, self._progress)
        return self._known[key]

    def _series(self, name: str, statistics: Statistics, ids: Any) -> None:
        """One model, checkpoint by checkpoint; those that cannot be read are left out and told."""
        request, growing = self._request, self._growing
        series = ModelSeries(
            name, self._models[name], request.revisions, request.count, True, growing.notes
        )
        follower: RunFollower | None = None
        show = Pictures(self._progress, growing.report)

        def take(at: Checkpoint, loaded: Loaded) -> None:
            nonlocal follower
            if follower is None:
                follower = RunFollower(request, statistics, ids, _TIES.get(loaded.tied))
            follower.add(at.step, at.name, loaded.input, loaded.output, self._progress)
            growing.hashes |= {f"{name} {at.name} {k}": v for k, v in loaded.hashes.items()}
            growing.runs[name] = follower.run({}, {"width": loaded.input.shape[1]})
            show(f"{len(follower):,} checkpoints of {name}")

        series.follow(take, self._progress)


# Twins that are trained here.


def _of_training(request: SignaturesRequest, progress: Progress) -> StaircaseReport:
    plan = open_plan(request, progress)
    twins = _Twins(request, plan, progress)
    made: StaircaseReport = timed(
        training_work(request, tied=1, untied=1), twins.trained, tells=lambda: not twins.cached
    )
    return made


class Stores:
    """Runs that lie in folders, compared with one text."""

    def __init__(self, request: SignaturesRequest, text: Text, progress: Progress) -> None:
        self.growing = Growing(request)
        anchors = anchors_of(request, text, [])
        progress(_COUNTING, 0, 1)
        self._statistics = Statistics.of(request, text, anchors.ids, progress)
        self._request, self._text, self._ids = request, text, anchors.ids
        self._followers: dict[str, StoreFollower] = {}
        self.growing.begin(text, anchors)

    def take(self, name: str, store: RunStore, progress: Progress = silent) -> None:
        """Compare the checkpoints of a run that are new."""
        if name not in self._followers:
            self._followers[name] = StoreFollower(self._request, self._statistics, self._ids)
            self.growing.count(name, self._text, self._statistics)
        follower = self._followers[name]
        self.growing.runs[name] = follower.take(store, progress)
        self.growing.notes += [*store.notes(), *(f"{name}: {note}" for note in follower.notes)]


class _Twins:
    """Both runs of a plan, as far as they have come."""

    def __init__(self, request: SignaturesRequest, plan: Plan, progress: Progress) -> None:
        self._plan, self._progress = plan, progress
        text = Text.of(plan.corpus, request, len(plan.rows.tokens))
        self._stores = Stores(request, text, progress)
        self._growing = self._stores.growing
        self._growing.hashes |= plan.hashes
        self.cached = self._growing.cached = all(plan.known(plan.spec(name)) for name in ORDER)
        self._course = plan.course([plan.spec(name) for name in ORDER], progress)

    def trained(self) -> StaircaseReport:
        """The untied run, then the tied one; one that fails leaves the other its curves."""
        errors = []
        for name in ORDER:
            try:
                self._take(name)
            except Interrupted:
                raise
            except EmbtieError as error:
                self._growing.failed[name] = str(error)
                self._growing.runs.pop(name, None)
                errors.append(error)
        return self._growing.whole(errors)

    def _take(self, name: str) -> None:
        show = Pictures(self._progress, lambda store: self._grown(name, store))
        store = self._plan.run(self._plan.spec(name), self._course, show)
        self._stores.take(name, store, self._progress)

    def _grown(self, name: str, store: RunStore) -> StaircaseReport:
        self._stores.take(name, store)
        return self._growing.report(how_far(store))


def _known_training(request: SignaturesRequest) -> StaircaseReport | None:
    if request.tokenizer:
        return None
    plan = open_plan(request)
    if not all(plan.known(plan.spec(name)) for name in ORDER):
        return None
    return _Twins(request, plan, silent).trained()


# A run that somebody else trains.


def _of_run(request: SignaturesRequest, progress: Progress) -> StaircaseReport:
    """A run, or each of several, as it grows."""

    def read(rows: int) -> Text:
        return read_text(request, request.tokenizer, rows, progress)

    return follow_runs(request, run_path(request.file), read, progress)


def follow_runs(
    request: SignaturesRequest, path: Path, read: Callable[[int], Text], progress: Progress
) -> StaircaseReport:
    """The same of runs in this folder, with the text that `read` gives for so many rows."""
    watched = _Followed(request, read, progress)
    found: StaircaseReport = follow(path, watched.so_far, progress)
    return found


class _Followed:
    """Runs of somebody else, each checkpoint of them compared once."""

    def __init__(
        self, request: SignaturesRequest, read: Callable[[int], Text], progress: Progress
    ) -> None:
        self._request, self._read, self._progress = request, read, progress
        self._stores: Stores | None = None

    def so_far(self, runs: list[Watched], progress: str) -> StaircaseReport | None:
        """What there is; None while nothing is, and an error where nothing will be."""
        kept = [run for run in runs if run.store.steps()]
        if not kept and progress:
            return None
        if not kept:
            raise EmbtieError(
                f"The run '{runs[0].name}' has kept no checkpoint.", "Keep checkpoints of it."
            )
        if self._stores is None:
            self._stores = self._begun(kept[0])
        growing = self._stores.growing
        for run in kept:
            self._stores.take(run.name, run.store, self._progress)
            growing.notes += run.notes
            hashes = run.store.manifest["hashes"]
            growing.hashes |= {f"{run.name} {what}": sha for what, sha in hashes.items()}
        return growing.report(progress)

    def _begun(self, run: Watched) -> Stores:
        first = run.store.checkpoint(run.store.steps()[0])
        text = self._read(min(len(first.input), len(first.output)))
        stores = Stores(self._request, text, self._progress)
        own = rows_of_run(run.store).tokens
        if not any(key is not None for key in own):
            stores.growing.notes.append(
                f"{run.name} does not say its tokens; they are taken to be those of the text."
            )
        elif own[: len(text.rows.tokens)] != text.rows.tokens[: len(own)]:
            raise EmbtieError(
                f"The rows of the run '{run.name}' are other tokens than the text is cut into.",
                "Name the tokenizer of the run: the folder or the id of a model that has it.",
            )
        return stores


_SOURCES: dict[str, Callable[[SignaturesRequest, Progress], StaircaseReport]] = {
    "model": _of_models,
    "train": _of_training,
    "run": _of_run,
}
