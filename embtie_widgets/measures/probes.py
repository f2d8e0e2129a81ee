"""The probe of a signature's context: which mixture of context tokens makes the similarity of the
signature that of the embeddings, and whether that holds for pairs it has not seen."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from embtie_widgets.measures.signatures import cosines, gram, pearson
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.staircase import Vector

RATE = 0.01
HOLD_OUT = ("pairs", "anchors")
_TINY = 1e-12
_LEAST = 3  # pairs in a fold
# So many numbers of the widest array at once, and so many steps between two words to the caller.
_AT_ONCE, _BREATH = 2**23, 20
Tensor = torch.Tensor
Within = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Probed:
    """What the probes of each step (s,) have found.

    held_out    Pearson correlation over pairs that the probe was not fitted on, mean over folds
    in_sample   over all pairs, of a probe fitted on them all; never below that of all ones
    beyond      as `held_out`, of a probe that the order below cannot replace
    floor       as `held_out`, after the anchors of the embeddings were permuted
    similarity  (s, A, A) of the signature as the probe fitted on all pairs sees it
    products    (s, A, A) of the rows that it sees
    numbers     how many numbers a probe has; pairs how many it is fitted on, at most
    """

    held_out: Vector
    in_sample: Vector
    beyond: Vector
    floor: Vector
    similarity: Vector
    products: Vector
    numbers: int
    pairs: int


def fit_probe(
    signature: Any,
    similarity: Any,
    steps: int = 300,
    folds: int = 5,
    seed: int = 0,
    *,
    hold_out: str = "pairs",
    first: int = 0,
    progress: Progress = silent,
) -> Probed:
    """Fit v in h_a = signature_a v to similarities of embeddings, step by step.

    signature (A, labels, X), or (A, labels, X, X) for order 2, whose probe is a symmetric (X, X);
    similarity (s, A, A) or (A, A).  v maximises the Pearson correlation over pairs of anchors
    between the cosine of h and the similarity, by Adam with rate 0.01, from N(0, |v|^-0.5).  The
    best v on the way is taken, and all ones where that is better: it turns the order into order 0.
    `hold_out` leaves out every fold's "pairs" in turn; or its "anchors", and judges on the pairs
    among these.  `beyond` takes v orthogonal to ones, for order 2 in every row and column.

    `seed` draws the start, folds and permutations, one for each step; `first` is the number of the
    first step, so that steps which come later are treated as if they had come together.  Source:
    Context Staircase, its alignment measure, which for language models fits by the squared
    difference; here all are fitted alike.
    """
    targets = np.asarray(similarity, np.float64)
    targets = targets[None] if targets.ndim == 2 else targets
    values, beyond, ones = _flat(np.asarray(signature, np.float64))
    rng = np.random.default_rng(seed)
    masks = _folds(len(values), folds, hold_out, rng)
    everything = np.triu(np.ones((len(values), len(values)), bool), 1)
    shuffled = np.stack([permuted(one, (seed, first + at)) for at, one in enumerate(targets)])
    start = rng.standard_normal(values.shape[-1]) * values.shape[-1] ** -0.25
    fits = {
        "in_sample": (targets, [everything], ones, None),
        "held_out": (targets, [m[0] for m in masks], ones, None),
        "beyond": (targets, [m[0] for m in masks], None, beyond),
        "floor": (shuffled, [m[0] for m in masks], ones, None),
    }
    seen = {}
    for done, (name, (aim, fitted, other, within)) in enumerate(fits.items()):

        def said(_stage: str, at: int, of: int, done: int = done) -> None:
            progress("fitting probes", done * of + at, len(fits) * of)

        seen[name] = _fitted(values, aim, fitted, start, other, within, steps, said)
    judged = {
        name: _judged(values, seen[name], fits[name][0], [m[1] for m in masks])
        for name in ("held_out", "beyond", "floor")
    }
    rows = _rows(values, seen["in_sample"][:, 0])
    products = gram(rows)
    found = cosines(products)
    in_sample = np.array([_pearson(x, y, everything) for x, y in zip(found, targets, strict=True)])
    return Probed(
        **judged, in_sample=in_sample, similarity=found, products=products,
        numbers=values.shape[-1], pairs=int(everything.sum()),
    )  # fmt: skip


def permuted(similarity: Vector, seed: tuple[int, ...]) -> Vector:
    """The similarity (A, A) of the same rows in another order."""
    order = np.random.default_rng(seed).permutation(len(similarity))
    return np.asarray(similarity[order][:, order])


def _flat(signature: Vector) -> tuple[Vector, Within, Vector]:
    """As (A, labels, k); what keeps probes (b, k) beyond the order below; and all ones.

    Order 2 is symmetric in its contexts, so each unordered pair of them has one number.
    """
    count = signature.shape[-1]
    if signature.ndim == 3:
        # The same numbers for all contexts: v is orthogonal to it where its mean is 0.
        centring = torch.from_numpy(np.eye(count) - 1 / count).float()
        return signature, lambda v: v @ centring, np.ones(count)
    upper = np.triu_indices(count)
    weight = np.where(upper[0] == upper[1], 1.0, 2.0)
    values = signature[:, :, upper[0], upper[1]] * weight
    return values, _doubly_centred(upper, count), np.ones(len(weight))


def _doubly_centred(upper: tuple[Vector, Vector], count: int) -> Within:
    """From upper triangles (b, k) of symmetric matrices to those of them centred in rows and
    columns; as a matrix (k, k) it would outgrow the memory."""
    row, column = (torch.from_numpy(one) for one in upper)

    def centred(v: Tensor) -> Tensor:
        full = v.new_empty(len(v), count, count)
        full[:, row, column] = full[:, column, row] = v
        full -= full.mean(1, keepdim=True)
        full -= full.mean(2, keepdim=True)
        return full[:, row, column]

    return centred


def _folds(
    anchors: int, folds: int, hold_out: str, rng: np.random.Generator
) -> list[tuple[Vector, Vector]]:
    """Masks (A, A) of the pairs to fit on and of those to judge on, a fold each."""
    upper = np.triu(np.ones((anchors, anchors), bool), 1)
    if hold_out == "anchors":
        folds = min(folds, max(2, anchors // 3))  # three anchors have pairs that can vary
        drawn = [np.isin(np.arange(anchors), part) for part in
                 np.array_split(rng.permutation(anchors), folds)]  # fmt: skip
        both = [(upper & np.outer(~out, ~out), upper & np.outer(out, out)) for out in drawn]
    else:
        places = np.argwhere(upper)
        # Two pairs always correlate with 1 or -1, and a single one not at all: better no number.
        folds = min(folds, len(places) // _LEAST) if len(places) >= 2 * _LEAST else len(places)
        parts = np.array_split(rng.permutation(len(places)), max(1, folds))
        both = []
        for part in parts:
            out = np.zeros_like(upper)
            out[tuple(places[part].T)] = True
            both.append((upper & ~out, out))
    return both


def _fitted(
    values: Vector,
    targets: Vector,
    masks: list[Vector],
    start: Vector,
    other: Vector | None,
    within: Within | None,
    steps: int,
    progress: Progress,
) -> Vector:
    """The best probes (s, masks, k) for each target (s, A, A) on each mask."""
    anchors, labels, size = values.shape
    each = len(masks) * anchors * max(labels, anchors)
    block = max(1, _AT_ONCE // each)
    found = np.empty((len(targets), len(masks), size))
    for at in range(0, len(targets), block):
        part = targets[at : at + block]
        aim = np.repeat(part, len(masks), 0)
        mask = np.tile(np.stack(masks), (len(part), 1, 1))
        fit = _Fit(values, aim, mask, within)

        def said(done: int, at: int = at, size: int = len(part)) -> None:
            progress("", at * steps + done * size, len(targets) * steps)

        best = fit.run(np.tile(start, (len(aim), 1)), other, steps, said)
        found[at : at + block] = best.reshape(len(part), len(masks), size)
    return found


class _Fit:
    """Many probes at once, each with its own target and pairs."""

    def __init__(
        self, values: Vector, targets: Vector, masks: Vector, within: Within | None
    ) -> None:
        self._shape = values.shape[:2]
        scale = np.abs(values).max() or 1.0
        flat = (values / scale).reshape(-1, values.shape[-1])
        self._flat = torch.from_numpy(flat).float().contiguous()
        self._within = within
        known = torch.from_numpy(masks & np.isfinite(targets))
        self._mask = known.float()
        self._count = self._mask.sum((1, 2), keepdim=True).clamp_min(1)
        aim = torch.from_numpy(np.where(known.numpy(), targets, 0.0))
        aim = (aim - aim.sum((1, 2), keepdim=True) / self._count) * self._mask
        self._aim = (aim / aim.norm(dim=(1, 2), keepdim=True).clamp_min(_TINY)).float()

    def run(self, start: Vector, other: Vector | None, steps: int, progress: Any) -> Vector:
        """The best of each on the way, and of `other`."""
        v = self._inside(torch.from_numpy(start).float())
        best, score = v.clone(), torch.full((len(v),), -torch.inf)
        if other is not None:
            best = torch.from_numpy(np.tile(other, (len(v), 1))).float()
            score = self._slope(best)[0]
        optimiser = torch.optim.Adam([v], lr=RATE, maximize=True)
        for step in range(steps + 1):
            if step % _BREATH == 0:
                progress(step)
            now, v.grad = self._slope(v)
            better = now > score
            score = torch.where(better, now, score)
            best[better] = v[better]
            optimiser.step()
            v.copy_(self._inside(v))
        return np.asarray(best.double().numpy())

    def _inside(self, v: Tensor) -> Tensor:
        return v if self._within is None else self._within(v)

    def _slope(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """Pearson correlation of each probe (b,), and its gradient (b, k)."""
        h = (v @ self._flat.T).view(len(v), *self._shape)
        length = h.norm(dim=2, keepdim=True).clamp_min(_TINY)
        h = h / length
        s = torch.bmm(h, h.transpose(1, 2))
        s = (s - (s * self._mask).sum((1, 2), keepdim=True) / self._count) * self._mask
        spread = s.norm(dim=(1, 2), keepdim=True).clamp_min(_TINY**0.5)
        s = s / spread
        r = (s * self._aim).sum((1, 2), keepdim=True)
        pull = (self._aim - r * s) / spread
        turn = torch.bmm(pull + pull.transpose(1, 2), h)
        turn = (turn - h * (turn * h).sum(2, keepdim=True)) / length
        return r[:, 0, 0], self._inside(turn.view(len(v), -1) @ self._flat)


def _rows(values: Vector, probes: Vector) -> Vector:
    """Rows (s, A, labels) that probes (s, k) see."""
    return np.moveaxis(values @ probes.T, -1, 0)


def _judged(values: Vector, probes: Vector, targets: Vector, masks: list[Vector]) -> Vector:
    """Mean over folds of the correlation on pairs that were held out (s,)."""
    folds = [
        [
            _pearson(x, y, mask)
            for x, y in zip(cosines(gram(_rows(values, probes[:, i]))), targets, strict=True)
        ]
        for i, mask in enumerate(masks)
    ]
    return _mean(np.array(folds))


def _mean(folds: Vector) -> Vector:
    known = np.isfinite(folds)
    total = np.where(known, folds, 0.0).sum(0)
    return np.asarray(np.where(known.any(0), total / np.maximum(known.sum(0), 1), np.nan))


def _pearson(x: Vector, y: Vector, mask: Vector) -> float:
    known = mask & np.isfinite(x) & np.isfinite(y)
    return pearson(x[known], y[known])
