"""Made-up gradient flows whose numbers agree with one another, for tests of what shows them.

Nothing here is of a real training: lengths of the two parts and the angle between them are planted,
and all else follows from these.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.measures.kinds import kinds_of
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.results.gradient import CURVES, FlowRun, GradientFlow, Vector
from embtie_widgets.results.groups import BANDS, groups_of
from tests.sample_results import TOKENS

ROWS = 640
KEYS = (*TOKENS, *(f" word{i}".encode() for i in range(ROWS - len(TOKENS))))
FILE = "run.csv"


def counts() -> Vector:
    """From never to 50,000 times, the first tokens most often."""
    many = 50_000 / (1 + np.arange(ROWS)) ** 1.6
    return np.where(np.arange(ROWS) < ROWS - 40, many.astype(int), 0)


def flow_run(steps: int = 300, tied: bool = True, seed: int = 0, every: int = 1) -> FlowRun:
    """The output's part is long at first and falls; the input's part rises to near its length."""
    at = np.arange(1, steps + 1, every)
    noise = np.exp(np.random.default_rng(seed).normal(0, 0.12, (3, len(at))))
    inside = (0.05 + 0.10 * (1 - np.exp(-at / 60))) * noise[0]
    out = (0.16 + 0.70 * np.exp(-at / 35)) * noise[1] * (1 if tied else 0.8)
    return FlowRun(
        curves=curves(at, inside, out, 0.08 + 0.05 * np.log(noise[2]), tied),
        tied=tied,
        bands=tuple(BANDS),
        by_band=by_band(inside, out),
        rows=rows(seed),
        about={"preset": "nano-olmo", "batch": 8, "length": 128, "warmup": 50, "device": "cpu"},
    )


def curves(at: Vector, inside: Vector, out: Vector, cosine: Vector, tied: bool) -> dict[str, Any]:
    """All curves that the lengths of the parts and the cosine between them decide."""
    between = cosine * inside * out
    total = np.sqrt(inside**2 + out**2 + 2 * between)
    proxy = 0.8 * inside
    return {
        "step": at.astype(float),
        "loss": 3 + 5.2 * np.exp(-at / 90),
        "lr": 3e-3 * np.minimum(at / 50, 1),
        "input_norm": inside,
        "output_norm": out,
        "total_norm": total,
        "cosine": cosine,
        "output_share": (out**2 + between) / total**2,
        "norm_share": out / (inside + out),
        "proxy_norm": proxy,
        "proxy_share": out / (proxy + out),
        "update_input_norm": 0.6 * inside,
        "update_output_norm": out,
        "update_share": (out**2 + 0.6 * between) / (out**2 + 0.36 * inside**2 + 1.2 * between),
        "update_norm_share": out / (0.6 * inside + out),
        "check": np.full(len(at), 3e-8 if tied else 0.0),
    }


def by_band(inside: Vector, out: Vector) -> dict[str, Vector]:
    """Rows of tokens that never come have no input part; the more often, the more of it."""
    often = np.linspace(0, 1.6, len(BANDS))
    left, right = inside[:, None] * often, out[:, None] * np.full(len(BANDS), 0.7)
    share = right / (left + right)
    return {
        "input_norm": left,
        "output_norm": right,
        "output_share": right**2 / (left**2 + right**2),
        "norm_share": share,
    }


def rows(seed: int = 0) -> dict[str, Vector]:
    """Of every token; one that never came has no input part."""
    rng = np.random.default_rng(seed)
    often = np.log10(counts() + 1.0)
    inside = np.where(counts() > 0, 0.002 * 10 ** (0.35 * often + rng.normal(0, 0.12, ROWS)), 0)
    out = 0.004 * 10 ** (0.2 * often + rng.normal(0, 0.1, ROWS))
    return {
        "input": inside,
        "output": out,
        "output_share": out**2 / (inside**2 + out**2),
        "norm_share": out / (inside + out),
        "times": np.minimum(counts(), 300).astype(float),
    }


def flow(steps: int = 300, progress: str = "", **settings: Any) -> GradientFlow:
    """Both twins, trained for so many steps."""
    runs = {"tied": flow_run(steps), "untied": flow_run(steps, tied=False, seed=1)}
    result = GradientFlow(
        runs=runs,
        tokens=KEYS,
        token_counts=counts(),
        kinds=kinds_of(list(KEYS)),
        failed={},
        notes=("The text was read 0.4 times.",),
        settings={"source": "train", "steps": 300, "batch": 8, "every": 1, "seed": 0, **settings},
        hashes={"tied": "ab" * 32, "untied": "cd" * 32},
        progress=progress,
    )
    shares = {name: run.rows["norm_share"] for name, run in runs.items()}
    return replace(result, groups=group_means(groups_of(result), shares, (0.0, 1.0)))


def growing(steps: int = 90) -> GradientFlow:
    """Of a training that is under way: the tied twin alone, no rows yet."""
    whole = flow(300)
    run = flow_run(300)
    cut = {name: values[:steps] for name, values in run.curves.items()}
    bands = {name: values[:steps] for name, values in run.by_band.items()}
    part = replace(run, curves=cut, by_band=bands, rows={})
    said = f"{steps} of 300 steps of the tied twin"
    return replace(whole, runs={"tied": part}, groups=(), progress=said)


def recorded(steps: int = 2_000) -> GradientFlow:
    """As of the paper's released log: lengths alone, that of the input being the proxy."""
    known = ("step", "loss", "proxy_norm", "output_norm", "proxy_share")
    run = flow_run(steps)
    kept = {name: run.curves[name] for name in known if name in CURVES}
    return GradientFlow(
        runs={FILE: FlowRun(kept, tied=True, about={"format": "the paper's gradient log"})},
        tokens=(),
        token_counts=None,
        kinds=None,
        failed={},
        notes=(),
        settings={"source": "file", "file": FILE, "seed": 0},
        hashes={FILE: "ef" * 32},
    )


def failed() -> GradientFlow:
    """Whose only run did not pass the check."""
    why = "At step 7 the two parts add up to the gradient only to 3 %, so no share is drawn."
    return replace(flow(), runs={}, tokens=(), token_counts=None, kinds=None, groups=(),
                   failed={"tied": why})  # fmt: skip
