"""Made-up trainings that climb the staircase, for tests of what shows them.

Nothing here was trained: rows turn from noise to a projection of the order-0 signature and on to
one of order 1, and every other number follows from the rows.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from embtie_widgets.results.staircase import (
    MatrixTrack,
    SignatureTrack,
    StaircaseReport,
    StaircaseRun,
)

Vector = np.ndarray[Any, np.dtype[Any]]
EPOCHS, WIDTH = 1_000, 32
REASON = "The text has <b>fewer</b> tokens than the statistics ask for."
WORDS = (b" the", b" of", b"</script>", b"$x$", b" and", b" \xe4", b" to", b" in", b"\n", b" a")


def cosines(rows: Vector) -> Vector:
    """(A, A) between raw rows."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.clip(unit @ unit.T, -1, 1)


def _pearson(first: Vector, second: Vector) -> float:
    upper = np.triu_indices(len(first), 1)
    a, b = first[upper], second[upper]
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 1e-9 and b.std() > 1e-9 else np.nan


def _points(rows: Vector) -> Vector:
    centred = rows - rows.mean(0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    return left[:, :2] * sizes[:2]


def _signatures(n: int, cyclic: bool) -> tuple[Vector, Vector]:
    """Order 0 and a projection of order 1 of what is about a sum, or one modulo n."""
    at = np.arange(n)
    if cyclic:
        turn = 2 * np.pi * at / n
        return np.full((n, n), 1 / n), np.stack([np.cos(turn), np.sin(turn), 0 * turn + 0.4], 1)
    sums = np.zeros((n, 2 * n - 1))
    for a in at:
        sums[a, a : a + n] = 1 / n
    return sums, np.stack([np.cos(2.6 * at / n), np.sin(2.6 * at / n), 0.2 + 0 * at], 1)


def _shares(steps: Vector) -> tuple[Vector, Vector, Vector]:
    """How much noise, order 0 and order 1 there is in the rows at each step."""
    at = np.log10(steps + 1)
    first, second = 1 / (1 + np.exp(-5 * (at - 1.1))), 1 / (1 + np.exp(-5 * (at - 2.3)))
    return 1.2 * (1 - first) + 0.05, first * (1 - 0.7 * second), 1.4 * second


def run(
    n: int = 20,
    matrices: Iterable[str] = ("embedding", "unembedding"),
    *,
    cyclic: bool = False,
    snapshots: int = 40,
    done: int = EPOCHS,
    names: tuple[str, str] = ("order 0", "order 1"),
    tied: bool | None = None,
    seed: int = 0,
) -> StaircaseRun:
    """A training that has come to epoch `done`."""
    planned = np.unique(np.geomspace(1, EPOCHS + 1, snapshots).round().astype(int)) - 1
    steps = planned[planned <= done]
    made = [_tracks(n, matrix, steps, cyclic, names, seed + i) for i, matrix in enumerate(matrices)]
    at = np.arange(0, done + 1, 5)
    loss = 3.6 * np.exp(-at / 180) + 0.02
    return StaircaseRun(
        steps=steps,
        matrices={track.matrix: track for track, _ in made},
        tracks=tuple(track for _, tracks in made for track in tracks),
        curves={"step": at, "loss": loss, "accuracy": 1 - np.exp(-((at / 300) ** 2))},
        tied=tied,
        about={"width": WIDTH, "gamma": 0.8, "parameters": 7_552, "seconds": 4.2},
    )


def _tracks(
    n: int, matrix: str, steps: Vector, cyclic: bool, names: tuple[str, str], seed: int
) -> tuple[MatrixTrack, list[SignatureTrack]]:
    draw = np.random.default_rng(seed)
    zero, one = _signatures(n, cyclic)
    towards = [sig @ draw.normal(0, 1, (sig.shape[1], WIDTH)) for sig in (zero, one)]
    towards = [rows / np.linalg.norm(rows, axis=1).mean() for rows in towards]
    noise = draw.normal(0, 1, (n, WIDTH)) / np.sqrt(WIDTH)
    rows = [a * noise + b * towards[0] + c * towards[1] for a, b, c in zip(*_shares(steps))]  # noqa: B905
    similarity = np.array([cosines(one) for one in rows], "f4").reshape(-1, n, n)
    points = np.array([_points(one) for one in rows], "f4").reshape(-1, n, 2)
    for before, now in pairwise(points):  # no axis flips between two steps
        now *= np.where((before * now).sum(0) < 0, -1, 1)
    made = MatrixTrack(
        matrix=matrix,
        similarity=similarity,
        points=points,
        variance=np.tile(np.array([0.5, 0.2], "f4"), (len(steps), 1)),
        norms=np.array([np.linalg.norm(one, axis=1) for one in rows], "f4").reshape(-1, n),
    )
    return made, [
        _track(names[0], matrix, zero, similarity, fitted=False),
        _track(names[1], matrix, one, similarity, fitted=True),
    ]


def _track(name: str, matrix: str, signature: Vector, rows: Vector, fitted: bool) -> SignatureTrack:
    own = cosines(signature)
    upper = np.triu_indices(len(own), 1)
    constant = bool(np.ptp(own[upper]) < 1e-9)
    against = np.array([_pearson(own, one) for one in rows])
    fit = np.array([1 - float(((own - one)[upper] ** 2).mean()) for one in rows])
    nothing = np.full(len(rows), np.nan)
    by_step = {"pearson": against, "spearman": against * 0.98, "fit": fit}
    if constant:
        by_step |= {"pearson": nothing, "spearman": nothing}
    if fitted:
        by_step = {
            "held_out": against,
            "in_sample": np.minimum(against + 0.05, 1),
            "beyond": against - 0.15,
            "fit": fit,
        }
    by_step["floor"] = np.linspace(0.04, 0.06, len(rows))
    steps = len(rows) if fitted else 1
    return SignatureTrack(
        signature=name,
        matrix=matrix,
        by_step=by_step,
        similarity=np.tile(own.astype("f4"), (steps, 1, 1)),
        points=np.tile(_points(signature).astype("f4"), (steps, 1, 1)),
        constant=constant,
    )


def toy(n: int = 20, *, done: int = EPOCHS, cyclic: bool = False, **settings: Any) -> Any:
    """A toy task that is trained to its end, or to epoch `done`."""
    return StaircaseReport(
        anchors=tuple(str(i + 1) for i in range(n)),
        ids=np.arange(n),
        tokens=(),
        runs={"feed-forward": run(n, cyclic=cyclic, done=done)},
        task={
            "words": f"(x1 + x2) mod {n}" if cyclic else "x1 + x2",
            "sequences": n**2,
            "labels": n if cyclic else 2 * n - 1,
            "order 0 is constant": cyclic,
        },
        extras={},
        failed={},
        notes=("All sequences are taken at once.",),
        settings={
            "operation": "sum", "tokens": n, "length": 2, "modulus": n if cyclic else 0,
            "model": "ffn", "activation": "relu", "gamma": 0.8, "optimiser": "adam", "lr": 1e-3,
            "epochs": EPOCHS, "batch": 0, "probe_steps": 300, "folds": 5, "seed": 0,
            "device": "cpu", **settings,
        },
        hashes={"feed-forward, embedding": "ab" * 32},
        progress="" if done == EPOCHS else f"epoch {done:,} of {EPOCHS:,}",
    )  # fmt: skip


def beginning() -> StaircaseReport:
    """Curves of a training whose matrices are not known at any step yet."""
    whole = toy()
    (name, one), *_ = whole.runs.items()
    bare = replace(one, steps=one.steps[:0], matrices={}, tracks=())
    return replace(whole, runs={name: bare}, progress="epoch 20 of 1,000")


def text(n: int = 60, *, failed: bool = False, context: bool = False) -> StaircaseReport:
    """Two language models, one of them tied, against what follows and what precedes each token."""
    tokens = (*WORDS, *(f" w{i}".encode() for i in range(n - len(WORDS))))[:n]
    names = ("next", "previous")
    untied, tied = (
        run(n, names=names, tied=False),
        run(n, ("tied",), names=names, tied=True, seed=5),
    )
    runs = {"nano-untied": untied, "nano-tied": tied}
    if context:
        runs = {name: _with_context(one) for name, one in runs.items()}
    missing = {"nano-tied": REASON} if failed else {}
    return StaircaseReport(
        anchors=tuple(key.decode("latin-1").replace(" ", "␣") for key in tokens),
        ids=np.arange(100, 100 + n),
        tokens=tokens,
        runs={name: one for name, one in runs.items() if name not in missing},
        task={"tokens of text": 1_000_000},
        extras={},
        failed=missing,
        notes=("Control tokens are not compared.",),
        settings={
            "source": "model", "anchors": n, "statistics": 1_000_000, "context": 8 * context,
            "directions": names, "folds": 5, "probe_steps": 300, "seed": 0,
        },
        hashes={"nano-untied": "cd" * 32},
        progress="",
    )  # fmt: skip


def _with_context(one: StaircaseRun) -> StaircaseRun:
    """The same with order 1 of what follows, held out."""
    more = tuple(
        replace(
            track,
            signature="next, order 1",
            by_step={
                "held_out": track.by_step["held_out"] * 0.9,
                "in_sample": track.by_step["in_sample"],
                "beyond": track.by_step["beyond"] * 0.5,
            },
        )
        for track in one.tracks
        if track.signature == "previous"
    )
    return replace(one, tracks=(*one.tracks, *more))
