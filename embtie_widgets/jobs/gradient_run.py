"""The gradient of a run that somebody else trains, shown as it grows and afterwards."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.gradient_report import report
from embtie_widgets.jobs.training_rows import Rows, rows_of_run
from embtie_widgets.progress import Progress, hand_on, silent
from embtie_widgets.requests import GradientFlowRequest
from embtie_widgets.results.gradient import FlowRun, GradientFlow
from embtie_widgets.sources.permission import run_path
from embtie_widgets.training.run_store import METRICS, RUNNING, RunStore, is_run

# A run is looked at so often, unless looking takes long, and for so long without news of it.
_LOOK_SECONDS, _WORTH, PATIENCE_SECONDS = 0.5, 5, 600.0
MOST_RUNS = 8


@dataclass(frozen=True)
class _Look:
    """A run as it stands.

    run    None where it holds no gradient, or none yet
    grows  whether more may come
    """

    name: str
    store: RunStore
    run: FlowRun | None
    grows: bool
    done: int
    of: int
    notes: tuple[str, ...]


def follow_run(request: GradientFlowRequest, progress: Progress = silent) -> GradientFlow:
    """All that the run has logged; while it is in training, what there is, handed on as it grows.

    The folder holds one run, or several in folders of their own, as twins lie.  A run that says
    that it is in training is left when nothing has been written for ten minutes.
    """
    path, stores, told = run_path(request.file), {}, -1
    while True:
        begun = time.monotonic()
        looks = [_look(name, store) for name, store in _stores(path, stores)]
        done, of = sum(look.done for look in looks), sum(look.of for look in looks)
        if not any(look.grows for look in looks):
            return _result(request, looks, "")
        if done != told and any(look.run for look in looks):
            hand_on(progress, _result(request, looks, f"{done:,} steps so far"))
        told, stage = done, f"following {', '.join(look.name for look in looks)}"
        until = time.monotonic() + max(_LOOK_SECONDS, _WORTH * (time.monotonic() - begun))
        while time.monotonic() < until:
            progress(stage, done, max(of, done, 1))
            time.sleep(_LOOK_SECONDS)


def _stores(path: Path, known: dict[str, RunStore]) -> Iterator[tuple[str, RunStore]]:
    """The run of a folder, or those of its folders, by name; `known` ones need not be read anew."""
    inside = [] if is_run(path) else sorted(_folders(path))
    for name, folder in inside[:MOST_RUNS] or [("", path)]:
        if name not in known:
            known[name] = RunStore.open(folder)
        yield name or str(known[name].manifest["name"]), known[name]


def _folders(path: Path) -> Iterator[tuple[str, Path]]:
    try:
        yield from ((inside.name, inside) for inside in path.iterdir() if is_run(inside))
    except OSError:  # what is wrong with it is told where it is opened
        return


def _look(name: str, store: RunStore) -> _Look:
    manifest, run = store.manifest, store.flow_run()
    grows, notes = manifest["state"] == RUNNING, list(store.notes())
    if grows and (quiet := _quiet_seconds(store)) > PATIENCE_SECONDS:
        grows = False
        notes.append(
            f"{name} says that it is in training, but nothing has been written for "
            f"{quiet / 60:,.0f} minutes; it is shown as it stands."
        )
    shown = run if len(run.curves["step"]) and "output_norm" in run.curves else None
    return _Look(name, store, shown, grows, store.done, manifest["of"] or 0, tuple(notes))


def _quiet_seconds(store: RunStore) -> float:
    """How long ago the run was written to."""
    try:
        path = store.folder / METRICS
        known = (path if path.exists() else store.folder).stat()
    except OSError:
        return 0.0
    return time.time() - known.st_mtime


def _result(request: GradientFlowRequest, looks: list[_Look], progress: str) -> GradientFlow:
    found = {look.name: look.run for look in looks if look.run is not None}
    failed = {look.name: _without(look) for look in looks if look.run is None and not look.grows}
    if not found:
        raise next(iter(failed.values()))
    rows, notes = _rows([look for look in looks if look.run is not None])
    return report(
        request,
        found,
        rows,
        failed=failed,
        notes=[*(note for look in looks for note in look.notes), *notes],
        hashes={
            f"{look.name} {what}": sha
            for look in looks
            for what, sha in look.store.manifest["hashes"].items()
        },
        progress=progress,
    )


def _rows(looks: list[_Look]) -> tuple[Rows, list[str]]:
    """Of the first run that knows its own, and who else has others."""
    known = [(look.name, rows_of_run(look.store)) for look in looks]
    name, first = next(((name, rows) for name, rows in known if rows.tokens), ("", Rows()))
    others = [other for other, rows in known if len(rows.tokens) not in (0, len(first.tokens))]
    return first, [
        f"{other} has other rows than {name}, whose tokens are shown." for other in others
    ]


def _without(look: _Look) -> EmbtieError:
    if look.done:
        return EmbtieError(
            f"The run '{look.name}' has logged no gradient by its two paths.",
            "Record it with `RunRecorder`, or train it here.",
        )
    return EmbtieError(
        f"The run '{look.name}' has logged no step.", "Look again once it has begun."
    )
