"""A made-up pair under the lens whose numbers agree with one another, for tests of what shows it.

Nothing here is of a real model: the model's own distributions are drawn at random, and what the
lens says at each layer mixes them with what the token alone would say.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.results.lens import InformationFloor, Lens, PairLens, Readings
from tests.sample_results import TOKENS

PIECES, LENGTH, ROWS, TOP = 8, 40, 64, 5
KEYS = (*TOKENS, *(f" word{i}".encode() for i in range(ROWS - len(TOKENS))))
Vector = np.ndarray[Any, Any]


def lens(layers: int = 4, distance: float = 2.0, seed: int = 0, **settings: Any) -> Lens:
    """A lens over `PIECES` pieces of `LENGTH` tokens; the further, the higher its curve."""
    text = np.random.default_rng(7)
    n = PIECES * LENGTH
    ids = np.minimum(text.geometric(0.08, n) - 1, ROWS - 1)
    ids[: len(TOKENS)] = np.arange(len(TOKENS))
    rng = np.random.default_rng(seed)
    by_token = rng.normal(0, 2, (ROWS, ROWS))[ids]
    final = by_token + rng.normal(0, 2, (n, ROWS))
    away = np.linspace(1, 0, layers + 1) ** 0.8
    wrong = rng.normal(0, distance, (n, ROWS))
    said = np.stack([a * by_token + (1 - a) * final + a * wrong for a in away])
    return _measured(said, final, ids, rng, {"lens": "logit", "mode": "corrected", **settings})


def _measured(said: Vector, final: Vector, ids: Vector, rng: Any, settings: dict[str, Any]) -> Lens:
    logp, own = _log_softmax(said), _log_softmax(final)
    kl = (np.exp(own) * (own - logp)).sum(-1) / np.log(2)
    entropy = -(np.exp(logp) * logp).sum(-1) / np.log(2)
    likeliest = own.argmax(-1)
    chosen = np.take_along_axis(logp, likeliest[None, :, None], 2)
    ranks = (logp > chosen).sum(-1) + 1
    spread = 1.96 * kl.std(-1) / np.sqrt(kl.shape[1])
    mean = kl.mean(-1)
    parts = np.abs(rng.normal(1, 0.4, len(mean)))
    piece = np.repeat(np.arange(PIECES), LENGTH)
    return Lens(
        kl_bits=mean,
        intervals=np.stack([mean - spread, mean + spread], 1),
        entropy_bits=entropy.mean(-1),
        agreement=(logp.argmax(-1) == likeliest).mean(-1),
        mean_rank=ranks.mean(-1),
        per_token=kl.astype("float32"),
        ids=ids,
        piece=piece,
        place=np.tile(np.arange(LENGTH), PIECES),
        tokens=tuple(KEYS[i] for i in ids),
        finite=np.full(len(mean), len(ids)),
        drop_bits=-np.diff(mean),
        share=parts / parts.sum(),
        write=0.2 + rng.random(len(mean) - 1),
        last_layer_check=2e-7,
        floor=_floor(own, ids, kl[0]),
        readings=_readings(logp, np.flatnonzero(piece < 3)),
        settings={"layers": len(mean) - 1, "intervals": "pieces", "length": LENGTH, **settings},
        hashes={"model": "ab" * 32, "text": "cd" * 32},
    )


def _log_softmax(logits: Vector) -> Vector:
    high = logits - logits.max(-1, keepdims=True)
    out: Vector = high - np.log(np.exp(high).sum(-1, keepdims=True))
    return out


def _floor(own: Vector, ids: Vector, first: Vector, least: int = 8) -> InformationFloor:
    """What the best function of the token alone leaves, over tokens that occur often enough."""
    found, counted = [], []
    for token in np.unique(ids):
        here = np.flatnonzero(ids == token)
        if len(here) >= least:
            p = np.exp(own[here])
            found.append((p * (own[here] - np.log(p.mean(0)))).sum(-1) / np.log(2))
            counted.append(here)
    bits, places = np.concatenate(found), np.concatenate(counted)
    half = 1.96 * bits.std() / np.sqrt(len(bits))
    mean = float(bits.mean())
    kinds = len(np.unique(ids))
    return InformationFloor(
        bits=mean,
        estimate=mean * 1.1,
        interval=(mean - half, mean + half),
        lens_bits=float(first[places].mean()),
        sees="token",
        positions=len(places),
        left_out=len(ids) - len(places),
        tokens=len(counted),
        tokens_left_out=kinds - len(counted),
        least=least,
    )


def _readings(logp: Vector, places: Vector) -> Readings:
    top = np.argsort(-logp[:, places], axis=-1, kind="stable")[..., :TOP]
    shares = np.exp(np.take_along_axis(logp[:, places], top, -1)).astype("float32")
    ids = np.unique(top)
    return Readings(places, np.searchsorted(ids, top), shares, tuple(KEYS[i] for i in ids), ids)


def training(layers: int = 4, steps: int = 40, level: float = 6.0) -> dict[str, Vector]:
    """A curve of training: every layer falls to its own level."""
    step = np.arange(0, steps + 1, 4)
    goal = level * np.linspace(0.7, 0.15, layers)
    kl = goal + (level - goal) * np.exp(-step / 12)[:, None]
    return {"step": step, "kl_bits": kl, "loss_bits": kl.mean(-1)}


def pair_lens(
    layers: tuple[int, int] = (4, 4), trained: bool = False, progress: str = "", **settings: Any
) -> PairLens:
    """An untied A and a tied B whose curve lies higher."""
    lenses = {
        "A": lens(layers[0], 1.6, 1, **settings),
        "B": lens(layers[1], 2.6, 2, **settings),
    }
    models: dict[str, dict[str, Any]] = {
        side: {
            "name": f"model-{word}",
            "revision": None,
            "tied": word,
            "rows": ROWS,
            "width": 16,
            "layers": count,
            "dtype": "float32",
            "notes": [],
        }
        for side, word, count in zip("AB", ("untied", "tied"), layers, strict=True)
    }
    return PairLens(
        lenses=lenses,
        failed={},
        models=models,
        text={"name": "a text", "sha256": "cd" * 32, "pieces": PIECES, "documents": 2},
        training={
            "A": training(layers[0]) if trained else {},
            "B": training(layers[1], level=8.0) if trained else {},
        },
        notes=("Two ends shorter than 2 tokens were left out.",),
        settings={"lens": "logit", "mode": "corrected", "device": "cpu", **settings},
        hashes={"A": "ab" * 32, "B": "ef" * 32},
        progress=progress,
    )


def failed_pair(side: str = "B", why: str = "Its last layer does not give its own logits.") -> Any:
    """A pair of which one model has failed its check."""
    whole = pair_lens()
    kept = {name: one for name, one in whole.lenses.items() if name != side}
    return replace(whole, lenses=kept, failed={side: why})
