"""Made-up experiments on the gradient bottleneck, for tests of what shows them.

Nothing here was trained: a head of a small rank ends a little higher, a backward pass of a small
rank less so, and a model of repeated symbols knows a symbol once it has been drawn.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.requests.trials import RANKED, BottleneckTrialsRequest, Trial
from embtie_widgets.results.trials import (
    DIVERGED,
    DONE,
    FAILED,
    RUNNING,
    WAITING,
    TrialRun,
    TrialsReport,
)

STEPS, WIDTH, VOCABULARY = 300, 32, 1_024
REASON = "The text has <b>fewer</b> tokens than one batch takes."
_COSTS = {"full": 0.0, "factorised": 0.5, "backward": 0.2, "head-update": 0.6}
Vector = np.ndarray[Any, np.dtype[Any]]


def ranks(
    seeds: Iterable[int] = (0,), tying: Iterable[str] = ("untied",), **fields: Any
) -> TrialsReport:
    """Every way of a head, with ranks of 4, 8 and 16 of 32, done."""
    asked = {"ways": tuple(_COSTS), "ranks": (4, 8, 16), "steps": STEPS, **fields}
    request = BottleneckTrialsRequest(seeds=tuple(seeds), tying=tuple(tying), **asked)
    return report(request, tuple(ranked(one) for one in request.trials))


def spamlang(**fields: Any) -> TrialsReport:
    """Symbols repeated once and 64 times, at the same number of positions, done."""
    request = BottleneckTrialsRequest(experiment="spamlang", **fields)
    runs = tuple(repeated(one, request.budget, request.amount) for one in request.trials)
    return report(request, runs)


def grid() -> TrialsReport:
    """Three numbers of symbols by three widths, once and 64 times."""
    return spamlang(symbols=(256, 1_024, 4_096), widths=(8, 32, 128))


def every_state() -> TrialsReport:
    """A grid in which each state occurs."""
    whole = grid()
    runs = list(whole.trials)
    for place, state in ((1, WAITING), (3, RUNNING), (5, FAILED), (7, DIVERGED)):
        runs[place] = turned(runs[place], state)
    return replace(whole, trials=tuple(runs), progress="16 of 18 runs")


def growing(done: int = 120) -> TrialsReport:
    """Head ranks while the second run is in training and the others wait."""
    whole = ranks()
    first, second, *rest = whole.trials
    runs = (first, until(second, done), *(turned(one, WAITING) for one in rest))
    return replace(whole, trials=runs, excess=(), progress="1 of 8 runs")


def until(one: TrialRun, step: int) -> TrialRun:
    """The same while it is in training."""
    seen = {name: values[one.curves["step"] <= step] for name, values in one.curves.items()}
    nothing = float("nan")
    return replace(one, state=RUNNING, curves=seen, step=step, loss=nothing, accuracy=nothing)


def turned(one: TrialRun, state: str) -> TrialRun:
    """The same in another state."""
    if state == RUNNING:
        return until(one, one.of // 2)
    nothing = float("nan")
    bare = replace(one, state=state, loss=nothing, accuracy=nothing)
    if state == DIVERGED:
        return replace(bare, step=one.of // 2)
    reason = REASON if state == FAILED else ""
    return replace(bare, curves={}, step=0, reason=reason)


def ranked(one: Trial) -> TrialRun:
    """A run of a head's rank that has come to its end."""
    at = np.arange(10, STEPS + 1, 10, dtype=float)
    short = 1 - (one.rank or WIDTH) / WIDTH
    cost = _COSTS[one.way] * (short if one.way in RANKED else 1.0)
    noise = np.random.default_rng(one.seed).normal(0, 0.02, len(at))
    fall = np.exp(-at / (60 * (1 + cost)))
    loss = 3.5 + 0.4 * cost + (np.log(VOCABULARY) - 3.5) * fall + noise
    end = 3.52 + 0.4 * cost + 0.01 * one.seed * cost
    curves = {
        "step": at,
        "loss": loss,
        "lr": one.lr * np.minimum(at / 50, 1),
        "accuracy": 0.35 * (1 - fall) - 0.1 * cost,
        "destroyed": np.sqrt(1 - (one.rank or WIDTH) / VOCABULARY) - 0.002 * fall,
        "positions": at * 1024,
    }
    about = {"width": WIDTH, "vocabulary": VOCABULARY, "parameters": 120_000, "device": "cpu"}
    return _run(one, float(end), 0.3 - 0.1 * cost, curves, STEPS, about | {"seconds": 4.2})


def repeated(one: Trial, budget: str, amount: int) -> TrialRun:
    """A run of repeated symbols that has come to its end."""
    length, symbols = one.length or 1, one.symbols or 2
    sequences = max(amount // length if budget == "positions" else amount, 16)
    seen = np.geomspace(16, sequences, 40).round()
    known = 1 - np.exp(-0.6 * seen / symbols) * (1 + 0.1 * np.log10(1 + (one.extra or 0)))
    known = np.clip(known, 0, 1)
    rows = symbols + (one.extra or 0)
    steps = int(sequences // 16)
    curves = {
        "step": (seen // 16).astype(float),
        "loss": (1 - known) * np.log(rows) + 0.01,
        "lr": np.full(len(seen), one.lr),
        "accuracy": known,
        "destroyed": np.linspace(0.95, 0.9, len(seen)),
        "sequences": seen,
        "positions": seen * length,
    }
    about = {"device": "cpu", "seconds": 2.5, "parameters": 2 * rows * (one.width or 2)}
    return _run(one, float(curves["loss"][-1]), float(known[-1]), curves, steps, about)


def _run(
    one: Trial, loss: float, accuracy: float, curves: dict[str, Vector], steps: int, about: Any
) -> TrialRun:
    return TrialRun(
        way=one.way, rank=one.rank, tied=one.tied, lr=one.lr, seed=one.seed, symbols=one.symbols,
        width=one.width, length=one.length, extra=one.extra, state=DONE, loss=loss,
        accuracy=accuracy, curves=curves, step=steps, of=steps, about=about,
    )  # fmt: skip


def report(request: BottleneckTrialsRequest, runs: tuple[TrialRun, ...]) -> TrialsReport:
    """A report of such runs with their excess over the full head."""
    names = ("experiment", "preset", "size", "steps", "batch", "length", "warmup", "precision",
             "budget", "amount", "layers", "seed")  # fmt: skip
    return TrialsReport(
        experiment=request.experiment,
        trials=runs,
        excess=tuple(excess(runs)) if request.experiment == "ranks" else (),
        notes=("One rate was given twice and counts once.",),
        settings={name: getattr(request, name) for name in names} | {"ran on": "this machine"},
        hashes={"text": "ab" * 32},
    )


def excess(runs: Iterable[TrialRun]) -> list[dict[str, Any]]:
    """The loss above that of the full head, each seed by itself, then mean and 95 % interval."""
    base = {(r.tied, r.lr, r.seed): r.loss for r in runs if r.way == "full" and r.state == DONE}
    found: dict[Any, list[float]] = {}
    for one in runs:
        if one.way != "full" and one.state == DONE and (one.tied, one.lr, one.seed) in base:
            above = one.loss - base[one.tied, one.lr, one.seed]
            found.setdefault((one.way, one.rank, one.tied, one.lr), []).append(above)
    return [
        {"way": way, "rank": rank, "tied": tied, "lr": lr, "mean": float(np.mean(above)),
         "interval": _interval(above), "seeds": len(above)}
        for (way, rank, tied, lr), above in found.items()
    ]  # fmt: skip


def _interval(above: list[float]) -> list[float] | None:
    if len(above) < 2:
        return None
    half = 2 * float(np.std(above, ddof=1)) / len(above) ** 0.5
    return [float(np.mean(above)) - half, float(np.mean(above)) + half]
