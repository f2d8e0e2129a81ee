"""Made-up reports on the gradient bottleneck whose numbers agree with one another, for tests of
what shows them.

No model is behind them: a head and hidden states are drawn at random, and every number is what an
explicit V x V projection of the gradient p - e_y gives.
"""

from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from embtie_widgets.measures.kinds import kinds_of
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.results.bottleneck import (
    Bottleneck,
    BottleneckModel,
    BottleneckReport,
    BottleneckRun,
    EqualSteps,
    GradientSpectrum,
    Vector,
)
from embtie_widgets.results.groups import groups_of
from tests.sample_flow import KEYS, counts

ROWS, WIDTH, PIECES, LENGTH = len(KEYS), 24, 6, 50
SHARES = (0.7, 0.9, 0.999)
FOLDER = "my-run"
WHY = "The head of this model is not stored, so there is nothing to measure."


@lru_cache
def _gradient(seed: int) -> SimpleNamespace:
    """Head, ids, targets, logits and G of one model: frequent tokens have longer rows."""
    rng = np.random.default_rng(seed)
    often = (counts() + 1.0) / (counts() + 1.0).sum()
    head = rng.normal(0, 0.5, (ROWS, WIDTH)) * (0.6 + 0.15 * np.log10(counts() + 1.0))[:, None]
    stream = np.random.default_rng(7).choice(ROWS, (PIECES, LENGTH + 1), p=often)
    ids, targets = stream[:, :-1].ravel(), stream[:, 1:].ravel()
    hidden = rng.normal(0, 1, (len(ids), WIDTH)) + 0.6 * head[targets]
    logits = hidden @ head.T + 0.6 * np.log(often)
    basis = np.linalg.qr(head)[0]
    return SimpleNamespace(
        head=head, ids=ids, targets=targets, logits=logits, basis=basis,
        gradient=_less_target(_softmax(logits), targets),
    )  # fmt: skip


def _softmax(logits: Vector) -> Vector:
    shifted = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(shifted / shifted.sum(1, keepdims=True))


def _less_target(shares: Vector, targets: Vector) -> Vector:
    gradient = shares.copy()
    gradient[np.arange(len(targets)), targets] -= 1
    return gradient


def _loss(logits: Vector, targets: Vector) -> Vector:
    highest = logits.max(1)
    whole = highest + np.log(np.exp(logits - highest[:, None]).sum(1))
    return np.asarray(whole - logits[np.arange(len(targets)), targets])


@lru_cache
def bottleneck(seed: int = 0) -> Bottleneck:
    """All numbers of one model."""
    made = _gradient(seed)
    seen = made.gradient @ made.basis @ made.basis.T
    whole, kept = np.linalg.norm(made.gradient, axis=1), np.linalg.norm(seen, axis=1)
    energy = float((kept**2).sum() / (whole**2).sum())
    visible = (made.basis**2).sum(1)
    place = np.arange(len(made.ids))
    line = float(np.sqrt(1 - WIDTH / ROWS))
    return Bottleneck(
        destroyed=float(np.sqrt(1 - energy)),
        visible_cosine=float(np.sqrt(energy)),
        kept_energy=energy,
        line=line,
        per_position=np.sqrt(1 - (kept / whole) ** 2),
        target_kept=visible[made.targets],
        length=whole,
        loss=_loss(made.logits, made.targets),
        ids=made.ids,
        targets=made.targets,
        piece=place // LENGTH,
        place=place % LENGTH,
        width=WIDTH,
        rows=ROWS,
        rank=WIDTH,
        visible=visible,
        check=3e-8,
        random=_random(made.basis, seed),
        spectrum=_spectrum(made.gradient),
        steps=_steps(made, seen),
        settings={"positions": len(place)},
        hashes={"output": "ab" * 32},
    )  # fmt: skip


def _random(basis: Vector, seed: int) -> float:
    noise = np.random.default_rng(seed).normal(0, 1, (40, ROWS))
    return float(np.linalg.norm(noise - noise @ basis @ basis.T) / np.linalg.norm(noise))


def _spectrum(gradient: Vector) -> GradientSpectrum:
    positions = np.array([10, 25, 50, 100, 200, len(gradient)])
    values = [np.linalg.svd(gradient[:n], compute_uv=False) for n in positions]
    shares = [np.cumsum(one**2) / (one**2).sum() for one in values]
    return GradientSpectrum(
        values=values[-1],
        positions=positions,
        rank=np.array([int((one > 1e-6 * one[0]).sum()) for one in values]),
        shares=SHARES,
        components=np.array([[int((s < share).sum()) + 1 for share in SHARES] for s in shares]),
    )


def _steps(made: SimpleNamespace, seen: Vector) -> EqualSteps:
    sizes = np.array([0.1, 0.3, 1.0, 3.0, 10.0])
    own = np.sqrt((made.gradient**2).sum(1).mean())
    ways = (made.gradient, seen, made.gradient - seen)
    units = [way / np.sqrt((way**2).sum(1).mean()) * own for way in ways]
    losses = [
        [float(_loss(made.logits - size * way, made.targets).mean()) for way in units]
        for size in sizes
    ]
    return EqualSteps(sizes, np.array(losses), float(_loss(made.logits, made.targets).mean()))


def model(seed: int = 0, tied: bool | None = False) -> BottleneckModel:
    """With what is known of its vocabulary."""
    one, kinds = bottleneck(seed), kinds_of(list(KEYS))
    asked = SimpleNamespace(kinds=kinds[one.targets], token_counts=counts()[one.targets])
    scores = {"destroyed": one.per_position, "target_kept": one.target_kept}
    return BottleneckModel(
        bottleneck=one,
        tokens=KEYS,
        kinds=kinds,
        counts=counts(),
        tied=tied,
        groups=group_means(groups_of(asked), scores, (0.0, 1.0)),
        about={"name": "made up", "dtype": "float32", "device": "cpu"},
    )


def report(progress: str = "", **settings: Any) -> BottleneckReport:
    """Two models on a text, the untied one first."""
    return BottleneckReport(
        models={"nano-untied": model(), "nano-tied": model(1, tied=True)},
        runs={},
        failed={},
        notes=("The text was read once.",),
        settings={"source": "text", "positions": PIECES * LENGTH, "seed": 0, **settings},
        hashes={"nano-untied": "ab" * 32, "nano-tied": "cd" * 32},
        progress=progress,
    )


def alone() -> BottleneckReport:
    """One model, as the first of two is handed on."""
    whole = report("1 of 2 models")
    return replace(whole, models={"nano-untied": whole.models["nano-untied"]})


def other_vocabulary() -> BottleneckReport:
    """Two models whose rows stand for different tokens."""
    whole, keys = report(), tuple(reversed(KEYS))
    tied = replace(whole.models["nano-tied"], tokens=keys, kinds=kinds_of(list(keys)))
    return replace(whole, models={**whole.models, "nano-tied": tied})


def run(steps: int = 200, tied: bool = True, seed: int = 0) -> BottleneckRun:
    """The ratio begins on the line and falls below it, the target is seen less and less."""
    at = np.arange(1, steps + 1).astype(float)
    noise = np.random.default_rng(seed).normal(0, 1, (2, steps))
    line = float(np.sqrt(1 - WIDTH / ROWS))
    energy = (WIDTH / ROWS) * (1 + (1.5 if tied else 1.0) * (1 - np.exp(-at / 40)))
    energy = energy * np.exp(0.08 * noise[0])
    return BottleneckRun(
        curves={
            "step": at,
            "loss": 3 + 5.2 * np.exp(-at / 60) + 0.1 * noise[1],
            "lr": 3e-3 * np.minimum(at / 50, 1),
            "destroyed": np.sqrt(1 - energy),
            "visible_cosine": np.sqrt(energy),
            "kept_energy": energy,
            "target_kept": 0.04 * np.exp(-at / 300),
            "line": np.full(steps, line),
        },
        tied=tied,
        about={"preset": "nano-olmo", "batch": 8, "length": 128, "rows": ROWS, "width": WIDTH},
    )


def of_runs(steps: int = 200, progress: str = "", **settings: Any) -> BottleneckReport:
    """Twins in training."""
    return BottleneckReport(
        models={},
        runs={"tied": run(steps), "untied": run(steps, tied=False, seed=1)},
        failed={},
        notes=("The text was read 0.4 times.",),
        settings={"source": "train", "steps": 200, "seed": 0, **settings},
        hashes={"tied": "ab" * 32, "untied": "cd" * 32},
        progress=progress,
    )


def growing(steps: int = 60) -> BottleneckReport:
    """Of a training that is under way: the tied twin alone."""
    said = f"{steps} of 200 steps of the tied twin"
    return replace(of_runs(progress=said), runs={"tied": run(steps)})


def recorded() -> BottleneckReport:
    """A folder that `RunRecorder` wrote, of a model whose tying is not known."""
    one = replace(run(), tied=None, about={})
    settings = {"source": "run", "file": FOLDER, "seed": 0}
    return replace(of_runs(), runs={FOLDER: one}, settings=settings, hashes={})


def failed(half: bool = False) -> BottleneckReport:
    """Whose second model, or both, could not be measured."""
    whole = report()
    models = {"nano-untied": whole.models["nano-untied"]} if half else {}
    names = ["nano-tied"] if half else ["nano-untied", "nano-tied"]
    return replace(whole, models=models, failed=dict.fromkeys(names, WHY))
