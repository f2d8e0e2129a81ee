"""What the runs of an experiment on the bottleneck come to: one run from its folder, and losses
above that of the full head."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from embtie_widgets.jobs.centering_report import why_diverged
from embtie_widgets.requests.trials import FULL, Trial
from embtie_widgets.results.trials import CURVES, DIVERGED, DONE, TrialRun
from embtie_widgets.training.run_store import RunStore, curves_of

_TOLD = ("batch", "length", "steps", "warmup", "precision", "threads", "torch")
_WIDTHS = ("hidden_size", "n_embd")


def run_of_trial(one: Trial, **known: Any) -> TrialRun:
    """A run by its trial, and what else is known of it."""
    nothing: dict[str, Any] = {"loss": math.nan, "accuracy": math.nan, "curves": {}}
    return TrialRun(
        way=one.way, rank=one.rank, tied=one.tied, lr=one.lr, seed=one.seed, symbols=one.symbols,
        width=one.width, length=one.length, extra=one.extra, **(nothing | known),
    )  # fmt: skip


def finished_trial(
    one: Trial,
    store: RunStore,
    loss: float | None,
    accuracy: float | None,
    about: Mapping[str, Any],
) -> TrialRun:
    """A run that has come to its end; `loss` and `accuracy` on what is held out, None for unknown.

    A loss above that of equal guesses is no divergence here: whoever has met few of the symbols is
    sure of them, and wrong about the others.
    """
    manifest, curves = store.manifest, trial_curves(store.rows())
    losses = curves.get("loss", np.zeros(0))
    judged = float(losses[-1]) if loss is None and len(losses) else loss
    unknown = math.nan if judged is None else judged
    reason = why_diverged(manifest.get("diverged"), unknown, math.inf)
    return run_of_trial(
        one,
        state=DIVERGED if reason else DONE,
        loss=math.nan if loss is None else loss,
        accuracy=math.nan if accuracy is None else accuracy,
        curves=curves,
        step=manifest["done"],
        of=manifest["of"] or manifest["done"],
        reason=reason,
        about={**_about(manifest, store), **about},
    )


def trial_curves(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Those of CURVES that logged rows have."""
    return {name: curve for name, curve in curves_of(rows).items() if name in CURVES}


def seen_of(one: Trial, store: RunStore) -> dict[str, Any]:
    """How much data a run of SpamLang has seen."""
    settings, done = store.manifest["settings"], store.manifest["done"]
    sequences = settings["batch"] * done
    return {
        "sequences": sequences,
        "positions": sequences * settings["length"],
        "sequences_per_symbol": sequences / (one.symbols or 1),
    }


def excess_of(runs: Iterable[TrialRun]) -> tuple[dict[str, Any], ...]:
    """As `TrialsReport.excess` says; a run without its full head beside it has no line."""
    runs = [run for run in runs if run.state == DONE and math.isfinite(run.loss)]
    full = {(run.tied, run.lr, run.seed): run.loss for run in runs if run.way == FULL}
    above: dict[Any, list[float]] = {}
    for run in runs:
        same = full.get((run.tied, run.lr, run.seed))
        if run.way != FULL and same is not None:
            line = (run.way, run.rank, run.tied, run.lr)
            above.setdefault(line, []).append(run.loss - same)
    names = ("way", "rank", "tied", "lr")
    return tuple(
        dict(zip(names, line, strict=True))
        | {"mean": float(np.mean(found)), "interval": interval(found), "seeds": len(found)}
        for line, found in above.items()
    )


def interval(values: list[float]) -> list[float] | None:
    """95 % of the mean by Student's law; None for one value."""
    if len(values) < 2:
        return None
    from scipy import stats  # slow to import

    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    mean = float(np.mean(values))
    return [mean - float(half), mean + float(half)]


def _about(manifest: Mapping[str, Any], store: RunStore) -> dict[str, Any]:
    settings = manifest["settings"]
    model = settings.get("model", {})
    told = {name: settings[name] for name in _TOLD if name in settings}
    seconds = {"seconds": manifest["seconds"]} if "seconds" in manifest else {}
    width = next((model[name] for name in _WIDTHS if name in model), None)
    shape = {"width": width, "vocabulary": _vocabulary(manifest)}
    return {
        **shape, **told, "device": manifest.get("device"), **seconds, "key": store.folder.name,
    }  # fmt: skip


def _vocabulary(manifest: Mapping[str, Any]) -> int | None:
    found = manifest["settings"].get("model", {}).get("vocab_size")
    return found if isinstance(found, int) else None
