"""Recorded files as results: which file is meant, what stands in it, and what it says."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.jobs.uploads import TABLE, UPLOADED, uploaded_path
from embtie_widgets.results.drift import CURVES as DRIFT_CURVES
from embtie_widgets.results.drift import Drift
from embtie_widgets.results.gradient import CURVES, FlowRun
from embtie_widgets.sources.permission import run_path
from embtie_widgets.sources.recorded import Peek as Peek
from embtie_widgets.sources.recorded import Recorded, peek, read_recorded

if TYPE_CHECKING:
    from embtie_widgets.training.run_store import RunStore


def recorded_path(named: str) -> Path:
    """The file that a request names: one that was uploaded, or one on this machine that its user
    or a visitor may name."""
    return uploaded_path(TABLE, named) if named.startswith(UPLOADED) else run_path(named)


def look_into(named: str, wanted: str) -> Peek:
    """Headers, first rows and what is taken for what, of such a file."""
    return peek(recorded_path(named), wanted)


def look_into_run(named: str) -> str:
    """What runs lie in a folder that a request names, and how far they have come."""
    from embtie_widgets.jobs.following import stores

    return " ".join(_words_of(name, store) for name, store in stores(run_path(named), {}))


def _words_of(name: str, store: "RunStore") -> str:
    known = store.manifest
    of = f" of {known['of']:,}" if known["of"] else ""
    return f"The run '{name}': {store.done:,}{of} steps, {known['state']}."


def recorded_flow(path: Path, columns: Mapping[str, str] | None = None) -> tuple[FlowRun, Recorded]:
    """The gradient log in a file; notes and hash stand on what was read.

    The run's `about` says of which file, what was taken for what, and over which steps the output
    has which share (`measures.recorded.Share`).
    """
    from embtie_widgets.measures.recorded import filled, shares_of

    read = read_recorded(path, "gradient", columns)
    curves = {name: values for name, values in filled(read.columns).items() if name in CURVES}
    tied = True if read.format == "paper-gradient" else None
    run = FlowRun(curves, tied, about=_about(read))
    run.about["shares"] = [asdict(share) for share in shares_of(run)]
    return run, read


def recorded_drift(path: Path, columns: Mapping[str, str] | None = None) -> tuple[Drift, Recorded]:
    """The drift series in a file; notes and hash stand on what was read too.

    A curve that the file lacks is all gaps.  Whether two checkpoints hold the same bytes a file
    cannot say; where nothing has turned at all, a note says so.
    """
    read = read_recorded(path, "drift", columns)
    steps = read.columns["step"]
    gaps = np.full(len(steps), np.nan)
    curves: dict[str, Any] = {name: read.columns.get(name, gaps) for name in DRIFT_CURVES}
    drift = Drift(
        steps,
        **curves,
        since=np.diff(steps, prepend=steps[:1]),
        names=read.names,
        notes=read.notes,
        settings=_about(read),
        hashes={"file": read.sha256},
    )
    return drift, read


def _about(read: Recorded) -> dict[str, Any]:
    model = {"model": read.model} if read.model else {}
    return {"file": read.name, "format": read.format, "columns": read.mapping, **model}
