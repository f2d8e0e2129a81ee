"""One run from its recipe to its folder: trained, gone on with, or found finished."""

import hashlib
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.machine import pick_device
from embtie_widgets.progress import Progress, silent
from embtie_widgets.sources.checkpoint import SingleFile
from embtie_widgets.sources.reading import read_json
from embtie_widgets.sources.tokens import read_vocabulary
from embtie_widgets.training import store as files
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run, build_model, matrices_of
from embtie_widgets.training.interventions import INTERVENTIONS, Intervention
from embtie_widgets.training.run_store import DONE, RUNNING, STOPPED, RunStore, is_run

Watch = Callable[[RunStore, Mapping[str, Any]], None]
_ROWS_SECONDS = 2.0  # so often, beside checkpoints, numbers per row are written


@dataclass(frozen=True)
class RunSpec:
    """All that decides a run, but for its text and the machine.

    share_start  whether a tied matrix starts as a copy of the untied twin's input
    """

    name: str
    config: TrainingConfig
    tied: bool
    share_start: bool = False
    interventions: tuple[Intervention, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Every field as a plain JSON value."""
        return {
            "name": self.name,
            "config": self.config.to_dict(),
            "tied": self.tied,
            "share_start": self.share_start,
            "interventions": [plug.to_dict() for plug in self.interventions],
        }


def train_run(
    spec: RunSpec,
    corpus: Corpus,
    folder: str | Path,
    *,
    watch: Watch | None = None,
    resumable: bool = False,
    progress: Progress = silent,
) -> RunStore:
    """The run of the recipe in `folder`, done: trained, gone on with, or finished before.

    `watch` is called with the store and the row after each logged step.  When it or `progress`
    raises, or at an interrupt, the run is left as "stopped", and goes on at the next call; with
    `resumable` it can go on from each checkpoint too, should the process die.  Equal specs on equal
    text give equal bits, with or without a break, on one device with one number of threads.  A run
    whose loss or gradient is not finite any more ends there: it is done, "diverged" in its manifest
    names that step, which is logged and not done.  A run of another recipe in the folder is
    replaced.
    """
    store, _ = _carried_out(
        spec, corpus, folder, watch=watch, resumable=resumable, progress=progress
    )
    return store


def trained(
    spec: RunSpec, corpus: Corpus, folder: str | Path, *, progress: Progress = silent
) -> tuple[RunStore, Any]:
    """As `train_run`, and the model."""
    store, model = _carried_out(spec, corpus, folder, progress=progress)
    return store, load_trained(store) if model is None else model


def _carried_out(
    spec: RunSpec,
    corpus: Corpus,
    folder: str | Path,
    *,
    watch: Watch | None = None,
    resumable: bool = False,
    progress: Progress = silent,
) -> tuple[RunStore, Any]:
    """As `train_run`, and the model; None for a run that was finished before."""
    place = files.writable_folder(folder, prefix="embtie-run-")
    recipe = _recipe(spec, corpus)
    known = _known(place, recipe)
    if known is not None and is_finished(known, spec.config):
        return known, None
    run = _at_start(spec, corpus)
    store = None if known is None else _gone_on(run, known)
    if store is None:  # a damaged state may have changed the run before it showed
        run = run if known is None else _at_start(spec, corpus)
        store = _begun(run, spec, corpus, place, recipe)
    rows = _Rows(run, store)
    try:
        _train(run, store, rows, watch, resumable, progress)
        model = run.finished()
        files.save_model(model, corpus.tokenizer, store.folder)
    except BaseException:
        _stop(run, store, rows)
        raise
    others = {} if run.diverged is None else {"diverged": run.diverged}
    store.set_state(DONE, run.done, notes=list(run.notes), **others)
    store.drop_resume()
    return store, model


def is_finished(store: RunStore, config: TrainingConfig) -> bool:
    """Whether a run has come to its end, and all that it left then can still be read."""
    try:
        manifest = store.manifest
        if manifest["state"] != DONE:
            return False
        read_json(store.folder / "config.json")
        end = config.steps if manifest.get("diverged") is None else manifest["done"]
        return (
            len(SingleFile(store.folder / "model.safetensors")) > 0
            and end in store.steps()
            and _is_whole(store, config, end)
        )
    except EmbtieError:
        return False


def _is_whole(store: RunStore, config: TrainingConfig, done: int) -> bool:
    """Whether all that `done` steps have logged and kept is there; an EmbtieError if damaged."""
    logged = {step for step in range(1, done + 1) if config.logs(step)}
    kept = {step for step in range(done + 1) if config.keeps(step)}
    there = logged <= {row["step"] for row in store.rows()} and kept <= set(store.steps())
    for step in kept if there else ():
        store.checkpoint(step)
    return there and store.counts() is not None


def start_of(config: TrainingConfig, tied: bool, share_start: bool = False) -> Any:
    """The model at step 0.  Twins have the same body, and matrices unrelated to each other."""
    untied_seed, tied_seed = np.random.SeedSequence(config.seed).generate_state(2).tolist()
    twin = build_model(config, tied=False, seed=untied_seed)
    if not tied:
        return twin
    model = build_model(config, tied=True, seed=tied_seed)
    body = {**dict(twin.named_parameters()), **dict(twin.named_buffers())}
    matrix = model.get_input_embeddings().weight
    with torch.no_grad():
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            if value is not matrix:
                value.copy_(body[name])
        if share_start:
            matrix.copy_(twin.get_input_embeddings().weight)
    return model


def load_trained(store: RunStore) -> Any:
    """The model of a finished run, ready to be asked."""
    from transformers import AutoModelForCausalLM

    with files.no_bars():
        return AutoModelForCausalLM.from_pretrained(store.folder, local_files_only=True)


def _train(
    run: Run,
    store: RunStore,
    rows: "_Rows",
    watch: Watch | None,
    resumable: bool,
    progress: Progress,
) -> None:
    """From where the run stands to its last step, all of it into the store."""
    with _interrupts_between_steps() as pause:
        if run.done == 0 and run.keeps:
            store.keep(*matrices_of(run.model, 0))
        while not run.ended:
            row = run.advance()
            _log(run, store, row, rows, resumable)
            if row is not None and watch is not None:
                watch(store, row)
            progress(f"training {run.name}", run.done, run.config.steps)
            pause()


def _log(
    run: Run, store: RunStore, row: Mapping[str, Any] | None, rows: "_Rows", resumable: bool
) -> None:
    if row is not None:
        store.append(row)
    if run.keeps:
        store.keep(*matrices_of(run.model, run.done))
    rows.save(at_once=run.keeps)
    rows.logged = run.done
    if run.keeps and run.whole and resumable:
        store.save_resume(run.state_dict())


def _stop(run: Run, store: RunStore, rows: "_Rows") -> None:
    """Leave the folder so that the run can go on; why it stopped is told by the error."""
    with suppress(EmbtieError):
        # From a step that could not be logged it would go on without it.
        if run.whole and 0 < run.done == rows.logged:
            rows.save(at_once=True)
            store.save_resume(run.state_dict())
        store.set_state(STOPPED, run.done, notes=list(run.notes))


class _Rows:
    """Writes the numbers per row of the matrix, not more often than is worth it.

    logged  the step up to which everything is in the store
    """

    def __init__(self, run: Run, store: RunStore) -> None:
        self._run, self._store, self._next = run, store, 0.0
        self.logged = run.done

    def save(self, *, at_once: bool) -> None:
        if at_once or time.monotonic() >= self._next:
            values = {k: v for p in self._run.interventions for k, v in p.row_values().items()}
            if values:
                self._store.save_rows(values)
            self._next = time.monotonic() + _ROWS_SECONDS


@contextmanager
def _interrupts_between_steps() -> Iterator[Callable[[], None]]:
    """An interrupt waits for the end of its step, so that none is torn; a second does not wait."""
    waiting: list[int] = []

    def noted(number: int, frame: FrameType | None) -> None:
        if waiting:
            raise KeyboardInterrupt
        waiting.append(number)

    def pause() -> None:
        if waiting:
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield pause
        return
    signal.signal(signal.SIGINT, noted)
    try:
        yield pause
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _recipe(spec: RunSpec, corpus: Corpus) -> str:
    """A hash of what decides the bits; "" where a plug-in cannot say what it does."""
    if not all(type(plug) in INTERVENTIONS.values() for plug in spec.interventions):
        return ""
    device = pick_device(spec.config.device).type
    parts = [spec.to_dict(), corpus.sha256, torch.__version__, device]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _known(folder: Path, recipe: str) -> RunStore | None:
    """The run of that recipe that lies in the folder already."""
    if not recipe or not is_run(folder):
        return None
    with suppress(EmbtieError):
        store = RunStore.open(folder)
        if store.manifest["hashes"].get("recipe") == recipe:
            return store
    return None


def _at_start(spec: RunSpec, corpus: Corpus) -> Run:
    model = start_of(spec.config, spec.tied, spec.share_start)
    return Run(spec.config, model, corpus, spec.name, spec.interventions)


def _gone_on(run: Run, store: RunStore) -> RunStore | None:
    """The store, with the run at the step where it was left; None where that cannot be."""
    try:
        state = store.read_resume()
        if state is None or not _is_whole(store, run.config, int(state["done"])):
            return None
        run.load_state_dict(state)
    except Exception:  # what a damaged state fails with is up to the damage
        return None
    store.cut(run.done)
    store.set_state(RUNNING, run.done)
    return store


def _begun(run: Run, spec: RunSpec, corpus: Corpus, folder: Path, recipe: str) -> RunStore:
    config, settings = spec.config, spec.to_dict()
    store = RunStore.create(
        folder,
        name=spec.name,
        tied=spec.tied,
        of=config.steps,
        settings=config.to_dict()
        | {
            "precision": run.precision,
            "corpus": corpus.name,
            "corpus_tokens": len(corpus.ids),
            "interventions": settings["interventions"],
            "share_start": spec.share_start,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
        },
        hashes={"corpus": corpus.sha256, "recipe": recipe},
        device=run.device.type,
    )
    rows = run.model.get_input_embeddings().weight.shape[0]
    tokens = None if corpus.tokenizer is None else read_vocabulary(corpus.tokenizer).by_row(rows)
    store.save_rows({}, counts=corpus.counts(rows), tokens=tokens)
    return store
