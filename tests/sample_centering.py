"""Made-up sweeps over methods and learning rates, for tests of what shows them.

Nothing here was trained: without a method the mean of the logits grows with the rate and the step,
and the loss is the worse for it; all other numbers follow from these two.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.results.centering import (
    DIVERGED,
    DONE,
    FAILED,
    MISSING,
    RUNNING,
    WAITING,
    CenteringReport,
    CenteringRun,
    Effect,
    Sensitivity,
)

STEPS, VOCABULARY = 300, 4096
INITIAL = float(np.log(VOCABULARY))
METHODS = ("none", "mu-centering", "mu-loss", "z-loss", "soft-cap")
RATES = (3e-3, 1e-2, 3e-2, 1e-1, 3e-1)
REASON = "The text has <b>fewer</b> tokens than one batch takes."
Vector = np.ndarray[Any, np.dtype[Any]]

_DRIFT = {"none": 1.0, "soft-cap": 0.8, "z-loss": 1.4, "mu-loss": 0.02, "mu-centering": 0.0}
_MEAN = {"none": 1.0, "soft-cap": 0.6, "z-loss": -0.04, "mu-loss": 0.02, "mu-centering": 0.0}
_HURT = {"none": 1.0, "soft-cap": 0.1, "z-loss": 0.15, "mu-loss": 0.02, "mu-centering": 0.02}
_WEIGHTS = {"mu-loss": 1e-4, "z-loss": 1e-4}
_ENDS = 0.3  # at this rate a run without a method ends early


def run(
    method: str = "none",
    lr: float = 1e-2,
    *,
    tied: bool | None = False,
    coefficient: float | None = None,
    size: str = "nano",
    seed: int | None = 0,
    done: int = STEPS,
    curves: bool = True,
) -> CenteringRun:
    """A run that has come to step `done` of STEPS; one without a method diverges at high rates."""
    weight = coefficient if coefficient is not None else _WEIGHTS.get(method)
    ends = method == "none" and lr >= _ENDS and not tied
    last = min(done, STEPS * 2 // 3) if ends else done
    made = curves_of(method, lr, bool(tied), seed or 0, last, ends)
    state = DIVERGED if ends and done > last else DONE if done == STEPS else RUNNING
    numbers = {name: float(values[-1]) for name, values in made.items() if name != "step"}
    return CenteringRun(
        method=method,
        tied=tied,
        lr=lr,
        coefficient=weight,
        size=size,
        seed=seed,
        state=state,
        loss=float(made["loss"][-1]) + 0.03 if state == DONE else float("nan"),
        numbers=numbers if state != RUNNING else {},
        curves=made if curves else {},
        step=last,
        of=STEPS,
        about={"device": "cpu", "batch": 8, "length": 128, "seconds": 12.5},
    )


def curves_of(method: str, lr: float, tied: bool, seed: int, last: int, ends: bool) -> Any:
    """Every curve, each tenth step; the last loss of a run that ends is not finite."""
    at = np.arange(10, last + 1, 10, dtype=float)
    share, noise = at / STEPS, np.random.default_rng(seed).normal(0, 0.03, len(at))
    part = method.split("+")[0]
    pull = 0.2 if tied else 1.0
    mu = 0.03 + 600 * lr * pull * _DRIFT.get(part, 0.5) * share
    mu = mu * (part != "mu-centering")
    mean = 3.0 * 600 * lr * pull * _MEAN.get(part, 0.5) * share**1.3
    hurt = _HURT.get(part, 0.5) * pull * np.maximum(mean - 60, 0) / 250
    late = 0.02 * (1 + abs(np.log10(max(lr, 1e-4) / 1e-2))) ** 2
    loss = 3.4 + late + (INITIAL - 3.4) * np.exp(-at / 40) + hurt + noise
    if ends and last:
        loss[-1] = np.nan
    spread = 3.0 + 0.6 * np.log10(1 + at) / 2
    own = 0.5 + 2 * np.sqrt(lr) * 10 * share
    return {
        "step": at,
        "loss": loss,
        "lr": lr * np.minimum(at / 50, 1),
        "gradient_norm": 0.5 + np.exp(-at / 50),
        "logit_mean": mean,
        "logit_mean_spread": 0.1 + 0.05 * np.abs(mean),
        "logit_std": spread,
        "logit_max": np.abs(mean) + 5 * spread,
        "common_fraction": mean**2 / (mean**2 + spread**2),
        "mu_output": mu,
        "mu_output_all": 0.9 * mu,
        "row_norm_output": np.hypot(own, mu),
        "bound_ratio": np.where(mu > 0, np.clip(own / np.maximum(mu, 1e-9), 0.3, 1.1), np.nan),
        "mu_input": mu if tied else 0.05 + 0 * at,
    }


def report(
    rates: Iterable[float] = RATES,
    methods: Iterable[str] = METHODS,
    tying: Iterable[bool] = (False,),
    sizes: Iterable[str] = ("nano",),
    seeds: Iterable[int] = (0,),
    coefficients: Iterable[float] = (1e-4,),
    **settings: Any,
) -> CenteringReport:
    """A sweep that has come to its end; without a method it diverges at a rate of 0.3."""
    runs = tuple(
        run(method, lr, tied=tied, coefficient=weight, size=size, seed=seed)
        for size in sizes
        for seed in seeds
        for lr in rates
        for tied in tying
        for method in methods
        for weight in (tuple(coefficients) if method in _WEIGHTS else (None,))
    )
    return finished(runs, **settings)


def finished(runs: tuple[CenteringRun, ...], **settings: Any) -> CenteringReport:
    """A report of such runs with its sensitivities and effects."""
    return CenteringReport(
        runs=runs,
        sensitivity=sensitivities(runs),
        effects=tuple(effects()),
        initial_loss=INITIAL,
        notes=("One rate was given twice and counts once.",),
        settings={
            "source": "train",
            "preset": "nano-olmo",
            "steps": STEPS,
            "batch": 8,
            "length": 128,
            "warmup": 50,
            "precision": "float32",
            "cap": 30.0,
            "interval": 1,
            "rows": "tokens",
            "extra_rows": 0,
            "seed": 0,
            "device": "cpu",
            "ran on": "this machine",
            **settings,
        },
        hashes={"text": "ab" * 32},
    )


def one_rate(lr: float = 1e-1, **settings: Any) -> CenteringReport:
    """Several methods side by side."""
    return report((lr,), **settings)


def growing(done: int = 120) -> CenteringReport:
    """Five runs of one rate while the third is in training and the others wait."""
    whole = one_rate()
    runs = (*whole.runs[:2], run("mu-loss", 1e-1, done=done), *map(waiting, whole.runs[3:]))
    said = f"step {done} of {STEPS} of run 3 of 5"
    return replace(whole, runs=runs, sensitivity=(), effects=(), progress=said)


def waiting(one: CenteringRun) -> CenteringRun:
    """The same before it has begun."""
    return replace(one, state=WAITING, loss=float("nan"), numbers={}, curves={}, step=0)


def every_state() -> CenteringReport:
    """A sweep in which each state occurs: done, diverged, failed, missing, running, waiting."""
    whole = report()
    by_place = {(one.method, one.lr): one for one in whole.runs}

    def changed(one: CenteringRun, state: str, **more: Any) -> None:
        bare = waiting(one)
        by_place[one.method, one.lr] = replace(bare, state=state, **more)

    changed(by_place["soft-cap", RATES[0]], FAILED, reason=REASON)
    changed(by_place["z-loss", RATES[1]], MISSING)
    changed(by_place["mu-loss", RATES[4]], WAITING)
    by_place["mu-centering", RATES[4]] = run("mu-centering", RATES[4], done=120)
    runs = tuple(by_place.values())
    said = "24 of 25 runs"
    return replace(whole, runs=runs, sensitivity=sensitivities(runs), effects=(), progress=said)


def recorded() -> CenteringReport:
    """A recorded sweep: two sizes, no curves, one cell missing."""
    made = tuple(
        run(method, lr, size=size, seed=1, curves=False)
        for size in ("16M", "57M")
        for lr in RATES
        for method in ("none", "mu-centering", "mu-loss", "z-loss")
    )
    runs = (*made[:-1], replace(waiting(made[-1]), state=MISSING))
    settings = {"source": "file", "file": "sweep.csv", "ran on": ""}
    return finished(runs, **settings)


def sensitivities(runs: Iterable[CenteringRun]) -> tuple[Sensitivity, ...]:
    """By the formula, over the rates whose loss is known or that diverged."""
    groups: dict[Any, list[CenteringRun]] = {}
    for one in runs:
        groups.setdefault(one.group, []).append(one)
    return tuple(_sensitivity(group) for group in groups.values() if len(group) > 1)


def _sensitivity(group: list[CenteringRun]) -> Sensitivity:
    one = group[0]
    known = [r for r in group if r.state in (DONE, DIVERGED)]
    losses = np.array([INITIAL if r.state == DIVERGED else min(r.loss, INITIAL) for r in known])
    best = int(np.argmin(losses))
    value = float((losses - losses[best]).sum() / (len(losses) - 1))
    return Sensitivity(
        size=one.size,
        tied=one.tied,
        method=one.method,
        coefficient=one.coefficient,
        seed=one.seed,
        value=value,
        best_lr=known[best].lr,
        best_loss=float(losses[best]),
        rates=tuple(r.lr for r in known),
        unknown=len(group) - len(known),
        initial_loss=INITIAL,
    )


def effects() -> list[Effect]:
    """Untied and tied, with and without a cap: unchanged in the first case alone."""
    why = "a shift of all logits by one number leaves the softmax as it is"
    return [
        Effect("none", False, False, 3e-16, 2e-16, 12.0, f"Nothing changes: {why}."),
        Effect("none", False, True, 0.04, 2e-16, 12.0, "The cap comes after the shift."),
        Effect("none", True, False, 0.21, 2e-16, 12.0, "Every input embedding moves too."),
        Effect("none", True, True, 0.23, 2e-16, 12.0, "Inputs move, and the cap comes after."),
    ]
