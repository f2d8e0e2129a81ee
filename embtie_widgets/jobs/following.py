"""Runs that somebody else trains, shown as they grow and afterwards."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embtie_widgets.progress import Progress, hand_on, silent
from embtie_widgets.training.run_store import METRICS, RUNNING, RunStore, is_run

# A run is looked at so often, unless looking takes long, and for so long without news of it.
LOOK_SECONDS, _WORTH, PATIENCE_SECONDS = 0.5, 5, 600.0
MOST_RUNS = 8


@dataclass(frozen=True)
class Watched:
    """A run as it stands.

    grows  whether more may come
    of     how many steps it is to have; 0 where that is not known
    notes  what could not be read, and why it is not waited for
    """

    name: str
    store: RunStore
    grows: bool
    done: int
    of: int
    notes: tuple[str, ...]


def follow(
    path: Path,
    made: Callable[[list[Watched], str], Any],
    progress: Progress = silent,
    most: int = MOST_RUNS,
) -> Any:
    """What `made(runs, "")` gives once no run grows any more; until then what it gives with a
    sentence on how far they have come, handed on as they grow, unless that is None.

    The folder holds one run, or several in folders of their own, as twins lie, of which at most
    `most` are looked at.  A run that says that it is in training is left when nothing has been
    written for ten minutes.
    """
    known: dict[str, RunStore] = {}
    told = -1
    while True:
        begun = time.monotonic()
        runs = [_watched(name, store) for name, store in stores(path, known, most)]
        runs[0] = replace(runs[0], notes=(*runs[0].notes, *_left_out(path, most)))
        done, of = sum(run.done for run in runs), sum(run.of for run in runs)
        if not any(run.grows for run in runs):
            return made(runs, "")
        part = made(runs, f"{done:,} steps so far") if done != told else None
        if part is not None:
            hand_on(progress, part)
        told, stage = done, f"following {', '.join(run.name for run in runs)}"
        if not all(run.of for run in runs):  # no end is known that it could come nearer to
            stage, done, of = f"{stage}, {done:,} steps so far", 0, 1
        until = time.monotonic() + max(LOOK_SECONDS, _WORTH * (time.monotonic() - begun))
        while time.monotonic() < until:
            progress(stage, done, max(of, done))
            time.sleep(LOOK_SECONDS)


def stores(
    path: Path, known: dict[str, RunStore], most: int = MOST_RUNS
) -> Iterator[tuple[str, RunStore]]:
    """The run of a folder, or those of its folders, by name; `known` ones need not be read anew."""
    inside = [] if is_run(path) else sorted(_folders(path))
    for name, folder in inside[:most] or [("", path)]:
        if name not in known:
            known[name] = RunStore.open(folder)
        yield name or str(known[name].manifest["name"]), known[name]


def _left_out(path: Path, most: int) -> Iterator[str]:
    many = 0 if is_run(path) else sum(1 for _ in _folders(path))
    if many > most:
        yield f"The folder holds {many:,} runs; the first {most} by name are shown."


def _folders(path: Path) -> Iterator[tuple[str, Path]]:
    try:
        yield from ((inside.name, inside) for inside in path.iterdir() if is_run(inside))
    except OSError:  # what is wrong with it is told where it is opened
        return


def _watched(name: str, store: RunStore) -> Watched:
    manifest, notes = store.manifest, list(store.notes())
    grows = manifest["state"] == RUNNING
    if grows and (quiet := _quiet_seconds(store)) > PATIENCE_SECONDS:
        grows = False
        notes.append(
            f"{name} says that it is in training, but nothing has been written for "
            f"{quiet / 60:,.0f} minutes; it is shown as it stands."
        )
    return Watched(name, store, grows, store.done, manifest["of"] or 0, tuple(notes))


def _quiet_seconds(store: RunStore) -> float:
    """How long ago the run was written to."""
    try:
        path = store.folder / METRICS
        known = (path if path.exists() else store.folder).stat()
    except OSError:
        return 0.0
    return time.time() - known.st_mtime
