"""A made-up report of input scaling whose numbers agree with one another, for tests of what shows
it.

Nothing here was trained: the further the factor is from 1, the further the cosines move.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.measures.kinds import kinds_of
from embtie_widgets.measures.statistics import bootstrap_interval, group_means
from embtie_widgets.results.groups import groups_of
from embtie_widgets.results.scaling import Nearness, ScaledRun, ScalingReport, named
from tests.sample_results import TOKENS

ROWS, STEPS, HELD_LOSS = 300, 60, 5.0
Vector = np.ndarray[Any, Any]


def nearness(level: float, seed: int) -> Nearness:
    """Cosines about a level; token 3 takes no part."""
    noise = np.random.default_rng(seed).normal(0, 0.1, ROWS).clip(-0.25, 0.25)
    cosine = (level + noise).clip(-1, 1)
    cosine[3] = np.nan
    known = cosine[np.isfinite(cosine)]
    held = known[::5] - 0.04
    return Nearness(
        mean=float(known.mean()),
        interval=bootstrap_interval(known, 0),
        heldout=float(held.mean()),
        floor=0.1,
        cosine=cosine,
        heldout_interval=bootstrap_interval(held, 0),
    )


def curves(level: float, share: float, steps: int = STEPS) -> dict[str, Vector]:
    """A loss that falls to a level, and a share that falls from 1."""
    step = np.arange(1, steps + 1)
    noise = np.random.default_rng(9).normal(0, 0.05, STEPS)[:steps]
    output = 0.2 * np.exp(-step / 40)
    norm_share = share + (1 - share) * np.exp(-step / 15)
    return {
        "step": step,
        "loss": level + 3 * np.exp(-step / 12) + noise,
        "input_norm": output * (1 - norm_share) / norm_share,
        "output_norm": output,
        "total_norm": output / norm_share,
        "norm_share": norm_share,
        "output_share": norm_share,
    }


def run(factor: float, steps: int = STEPS, early: int = 0) -> ScaledRun:
    """A tied run that has come to its end, unless it has taken fewer steps than it was to."""
    pull = 0.04 * np.log10(max(factor, 0.1))
    near = {"input": nearness(0.3 + pull, 1), "output": nearness(0.65 - pull, 2)}
    whole = steps == STEPS
    return ScaledRun(
        factor=factor,
        until=early or STEPS,
        nearness=near if whole else {},
        curves=curves(5 + abs(pull), 0.8 / (1 + np.log10(max(factor, 1.0))), steps),
        held_loss=HELD_LOSS + abs(pull) if whole else None,
        about={"device": "cpu", "of": STEPS, "done": steps},
    )


def report(*factors: float, **settings: Any) -> ScalingReport:
    """The plain run and one for each factor; tokens, the first ones hostile."""
    asked = factors or (5.0,)
    tokens = (*TOKENS, *(f" word{i}".encode() for i in range(ROWS - len(TOKENS))))
    made = ScalingReport(
        runs=tuple(run(factor, early=settings.get("until", 0)) for factor in (1.0, *asked)),
        untied={"curves": curves(4.8, 0.7), "held_loss": HELD_LOSS - 0.1},
        tokens=tokens,
        token_counts=np.rint(np.geomspace(100_000, 1, ROWS)).astype(np.int64) - 1,
        kinds=kinds_of(tokens),
        notes=("One row is zero and was left out.",),
        settings={
            "factors": list(asked),
            "steps": STEPS,
            "batch": 8,
            "length": 128,
            "warmup": 50,
            "schedule": "early" if settings.get("until") else "all",
            "map": "orthogonal",
            "holdout": 0.2,
            "share_start": False,
            "seed": 0,
            "preset": "nano-olmo",
            "width": 16,
            "rows": ROWS,
            "device": "cpu",
            **settings,
        },
        hashes={"text": "ab" * 32},
    )
    return grouped(made)


def grouped(made: ScalingReport) -> ScalingReport:
    """With the groups of its scaled runs."""
    scores = {named(one.factor): made.moved(one) for one in made.scaled}
    return replace(made, groups=group_means(groups_of(made), scores) if scores else ())


def growing(done: int = 20, *factors: float) -> ScalingReport:
    """A report while the last run is in training."""
    whole = report(*factors)
    runs = (*whole.runs[:-1], run(whole.runs[-1].factor, done))
    last = runs[-1].factor
    said = f"{done} of {STEPS} steps of the tied model {named(last)}"
    return grouped(replace(whole, runs=runs, groups=(), progress=said))
