"""Runs that somebody else trains, as a sweep: their logits and mean rows as they grow and
afterwards."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.centering_report import known_of, sensitivities, why_diverged
from embtie_widgets.jobs.following import Watched, follow
from embtie_widgets.jobs.training_rows import shape_of
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.requests.centering import NONE, PARTS
from embtie_widgets.results.centering import (
    DIVERGED,
    DONE,
    RUNNING,
    CenteringReport,
    CenteringRun,
    Vector,
)
from embtie_widgets.sources.permission import run_path
from embtie_widgets.sources.recorded_methods import RECORDED, is_method, method_of
from embtie_widgets.training.run_store import STOPPED

MOST_RUNS = 200
_AVERAGED = 10  # logged batches
_TOLD = ("batch", "length", "steps", "warmup", "precision", "torch", "architecture")
_BY_NAME = (
    "Of a run that was recorded nobody writes down its method; one that is called such as "
    "'mu-centering' or 'baseline' is taken for that."
)
_OWN_BATCHES = (
    f"The loss of a run that was not measured on text held out is the mean of its last "
    f"{_AVERAGED} logged batches."
)
_HELD, _BATCHES = "text held out", "its last batches"
_NO_RATE = "Of some runs no learning rate is recorded; they stand at 0."


def run_recorded(request: CenteringRequest, progress: Progress = silent) -> CenteringReport:
    """All that the run, or each of several, has logged, handed on as it grows."""
    made = partial(_report, request)
    found: CenteringReport = follow(run_path(request.file), made, progress, MOST_RUNS)
    return found


def _report(
    request: CenteringRequest, watched: list[Watched], progress: str
) -> CenteringReport | None:
    """What there is; None while nothing is, and an error where nothing will be."""
    known = [(one, _run(one, len(watched) == 1)) for one in watched]
    runs = _told_apart([run for _, run in known if run is not None])
    if not runs and progress:
        return None
    if not runs:
        raise EmbtieError(
            f"The run '{watched[0].name}' has logged no step.", "Look again once it has begun."
        )
    initial = {run.size: _initial(run) for run in runs}
    return CenteringReport(
        runs=runs,
        sensitivity=sensitivities(runs, lambda size: initial[size]),
        initial_loss=initial[runs[0].size] if len(set(initial.values())) == 1 else math.nan,
        notes=tuple(dict.fromkeys((*_notes(runs), *(n for one in watched for n in one.notes)))),
        settings={**request.to_dict(), "file": run_path(request.file).name},
        hashes={
            f"{one.name} {what}": sha
            for one in watched
            for what, sha in one.store.manifest["hashes"].items()
        },
        progress=progress,
    )


def _run(watched: Watched, alone: bool) -> CenteringRun | None:
    """A run as far as it has come; None where it has logged nothing."""
    manifest, rows = watched.store.manifest, watched.store.rows()
    if not rows:
        return None
    settings, known = manifest["settings"], known_of(rows)
    method, coefficient = _method(settings, watched, alone)
    rate = settings.get("lr", _largest(known["curves"].get("lr")))
    held = _held_loss(manifest)
    made = CenteringRun(
        method=method,
        tied=manifest["tied"],
        lr=_finite(rate) or 0.0,
        coefficient=coefficient,
        seed=settings["seed"] if isinstance(settings.get("seed"), int) else None,
        state=RUNNING if watched.grows else DONE,
        loss=_mean_loss(known["curves"].get("loss")) if held is None else held,
        step=watched.done,
        of=watched.of,
        about=_about(watched, manifest) | {"loss on": _HELD if held is not None else _BATCHES},
        **known,
    )
    return _judged(made, manifest)


def _method(settings: Mapping[str, Any], watched: Watched, alone: bool) -> tuple[str, float | None]:
    """What a run trained here says of itself; of another, what its name or that of its folder
    says."""
    plugs = settings.get("interventions")
    if isinstance(plugs, list):
        kinds = {str(plug.get("kind")): plug for plug in plugs if isinstance(plug, dict)}
        parts = [part for part in PARTS if part in kinds]
        weights = [_finite(kinds[part].get("coefficient")) for part in parts]
        known = [weight for weight in weights if weight is not None]
        return method_of("+".join(parts) or NONE), known[0] if known else None
    names = (watched.name, str(watched.store.manifest["name"]))
    methods = [method for method in map(method_of, names) if is_method(method)]
    return next(iter(methods), RECORDED if alone else watched.name), None


def _held_loss(manifest: Mapping[str, Any]) -> float | None:
    """On text held out, where that was measured once."""
    held = [v for k, v in manifest.items() if k.startswith("held_loss ") and isinstance(v, float)]
    return held[0] if len(held) == 1 else None


def _mean_loss(losses: Vector | None) -> float:
    """Of the last batches; NaN where the last has none."""
    if losses is None or not np.isfinite(losses[-1]):
        return math.nan
    return float(np.nanmean(losses[-_AVERAGED:]))


def _judged(run: CenteringRun, manifest: Mapping[str, Any]) -> CenteringRun:
    """Whether it has diverged, or was stopped."""
    losses = run.curves.get("loss", np.array([]))
    if not np.isfinite(losses).any() or run.state == RUNNING:  # a loop may give no loss at all
        return run
    most = max(float(np.nanmax(losses[:1], initial=0.0)), _initial(run))
    reason = why_diverged(manifest.get("diverged"), float(losses[-1]), most)
    if reason:
        lost = manifest.get("diverged") is not None  # what it had learnt is no loss of its end
        return replace(run, state=DIVERGED, reason=reason, loss=math.nan if lost else run.loss)
    stopped = manifest["state"] == STOPPED
    return replace(run, reason=f"It was stopped after step {run.step:,}.") if stopped else run


def _about(watched: Watched, manifest: Mapping[str, Any]) -> dict[str, Any]:
    settings = manifest["settings"]
    told = {name: settings[name] for name in _TOLD if name in settings}
    rows, width = shape_of(settings)
    shape = {"vocabulary": rows, "width": width} if rows and width else {}
    device = {"device": manifest["device"]} if manifest.get("device") else {}
    recorded = {"recorded": True} if settings.get("recorded") else {}
    return {"name": watched.name, **shape, **told, **device, **recorded}


def _initial(run: CenteringRun) -> float:
    """Loss of equal guesses at all rows; NaN where nobody says how many there are."""
    rows = run.about.get("vocabulary", 0)
    return math.log(rows) if rows > 1 else math.nan


def _told_apart(runs: Sequence[CenteringRun]) -> tuple[CenteringRun, ...]:
    """With a size, where widths differ."""
    if len({run.about.get("width") for run in runs}) < 2:
        return tuple(runs)
    return tuple(replace(run, size=f"width {run.about.get('width', '?')}") for run in runs)


def _notes(runs: Sequence[CenteringRun]) -> list[str]:
    recorded = [run for run in runs if run.about.get("recorded")]
    silent_ones = [run.about["name"] for run in runs if not run.knows("logit_mean")]
    found = [
        f"{name} has logged nothing of its logits: it was recorded by an earlier version, or by "
        "another panel."
        for name in silent_ones
    ]
    if recorded:
        found.append(_BY_NAME)
    if any(run.about["loss on"] == _BATCHES for run in runs):
        found.append(_OWN_BATCHES)
    return found + ([_NO_RATE] if any(run.lr == 0 for run in runs) else [])


def _largest(values: Vector | None) -> float:
    known = np.array([]) if values is None else values[np.isfinite(values)]
    return float(known.max()) if len(known) else math.nan


def _finite(value: Any) -> float | None:
    """A number that a manifest gives; None for what is none."""
    try:
        found = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
