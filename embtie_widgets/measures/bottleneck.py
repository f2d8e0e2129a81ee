"""How much of the logit gradient a loaded model's head transmits to the hidden state.

The destroyed ratio is the share of the gradient's length that lies outside the column space of U,
the visible cosine that of the rest; their squares sum to 1.  Neither a table of V x V nor one of
positions x V is held.  Source: gradient-bottleneck paper, destroyed ratio and visible cosine.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.hashing import tensor_hash
from embtie_widgets.measures.devices import has_float64
from embtie_widgets.measures.equal_steps import equal_steps
from embtie_widgets.measures.gradient_spectrum import TOLERANCE, gradient_spectrum
from embtie_widgets.measures.head import Head, refuse_others
from embtie_widgets.measures.head_factor import HeadFactor, bottleneck_numbers, ratios
from embtie_widgets.measures.head_inputs import HeadInputs, evaluating, head_inputs
from embtie_widgets.measures.logit_gradients import GradientRows, gradient_rows, slope
from embtie_widgets.measures.predicted import IGNORED, predicted
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.bottleneck import Bottleneck, EqualSteps, GradientSpectrum
from embtie_widgets.sources.alone import alone_with

STAGE = "measuring the gradient"
_CHECKED, _TOLERANCE = 8, 1e-3
# Rows of a random gradient: for a small head more, which cost nothing and settle the mean.
_FEWEST_DRAWN, _MOST_DRAWN, _NUMBERS_DRAWN = 16, 4_096, 2**20
_ROWS = 4_096  # of U in a wider type at a time


def bottleneck(
    model: Any,
    ids: Any,
    labels: Any = None,
    *,
    gram: int = 0,
    steps_at: Sequence[float] = (),
    seed: int = 0,
    progress: Progress = silent,
) -> Bottleneck:
    """What of the gradient of next-token cross-entropy reaches the hidden state.

    ids     (B, T) token ids, or rows of different lengths
    labels  likewise what stands at each place, as in transformers, -100 where nothing is predicted;
            the ids themselves where none are given
    gram    so many positions at most, the first, give the singular spectrum; 0 for none
    steps_at  lengths of the equal steps in logit space that the same positions are tried with

    The model computes in evaluation mode and is left as it was; its head is read in float32.
    `seed` draws the random gradient beside the model's own.  An EmbtieError where the model is no
    decoder with a head, where the gradient is not finite, or where the check fails.
    """
    refuse_others(model)
    known, targets = predicted(model, ids, labels)
    waiting = partial(progress, STAGE, 0, 1)
    with alone_with(model, waiting), evaluating(model):
        head = Head.of(model)
        total = int((targets != IGNORED).sum())
        work = _Work(head, HeadFactor.of(head.weight, progress), total, gram, steps_at)
        for part in head_inputs(model, head, known, targets, progress):
            work.add(part, progress)
        found = work.result(seed, progress)
    return replace(
        found,
        settings={"sequences": len(known), "length": known.shape[1], **found.settings},
        hashes={"text": tensor_hash(torch.stack([known, targets]).flatten(0, 1))},
    )


class _Work:
    """What is gathered of n positions, in the order of the text."""

    def __init__(
        self, head: Head, factor: HeadFactor, total: int, gram: int, steps_at: Sequence[float]
    ) -> None:
        self.head, self.factor, self.total = head, factor, total
        self.gram, self.steps_at = gram, steps_at
        self.most = max(gram, _CHECKED)  # positions that are kept with their states
        self.parts: list[HeadInputs] = []
        self.numbers: list[Tensor] = []
        self.states: list[Tensor] = []
        self.known: list[GradientRows] = []

    def add(self, part: HeadInputs, progress: Progress) -> None:
        """Some more positions."""

        tell = partial(progress, STAGE, sum(map(len, self.numbers)), self.total)
        found = gradient_rows(self.head, part.hidden, part.targets, tell)
        kept = self.factor.transmitted(found.at_hidden, found.squared).to(found.scale)
        self.numbers.append(torch.stack([found.scale, found.squared, kept, found.loss], 1).cpu())
        room = slice(0, max(0, self.most - sum(map(len, self.states))))
        self.states.append(part.hidden[room].clone())
        self.known.append(found[room])
        self.parts.append(replace(part, hidden=part.hidden[:0]))

    def result(self, seed: int, progress: Progress) -> Bottleneck:
        """All of it."""
        scale, squared, kept, loss = torch.cat(self.numbers).unbind(1)
        destroyed, _ = ratios(kept, squared)
        _refuse_odd(destroyed)
        whole = (2 * (scale - scale.max())).exp()
        together = ratios((kept * whole).sum(), (squared * whole).sum())
        factor, head = self.factor, self.head
        visible = factor.visible(head.weight, progress).cpu()
        ids, targets, row, place = (
            torch.cat([getattr(part, name) for part in self.parts])
            for name in ("ids", "targets", "row", "place")
        )
        states, known = torch.cat(self.states), GradientRows.joined(self.known)
        spectrum, steps = self._beyond(states, targets.to(head.device), known, progress)
        return Bottleneck(
            destroyed=float(together[0]),
            visible_cosine=float(together[1]),
            kept_energy=float(together[1]) ** 2,
            line=math.sqrt(max(0.0, 1 - factor.width / factor.rows)),
            per_position=destroyed.numpy(),
            target_kept=visible[targets].numpy(),
            length=(squared.sqrt() * scale.exp()).numpy(),
            loss=loss.numpy(),
            ids=ids.numpy(),
            targets=targets.numpy(),
            piece=row.numpy(),
            place=place.numpy(),
            width=factor.width,
            rows=factor.rows,
            rank=factor.rank,
            visible=visible.float().numpy(),
            check=self._check(states, targets, known),
            random=_random(head, factor, seed, progress),
            spectrum=spectrum,
            steps=steps,
            notes=tuple(self._notes(len(loss))),
            settings=self._settings(len(loss), seed),
        )

    def _beyond(
        self, states: Tensor, targets: Tensor, known: GradientRows, progress: Progress
    ) -> tuple[GradientSpectrum | None, EqualSteps | None]:
        at = slice(0, self.gram)
        chosen = (states[at], targets[: len(states)][at], known[at])
        spectrum = gradient_spectrum(self.head, *chosen, progress=progress) if self.gram else None
        if not (self.gram and len(self.steps_at)):
            return spectrum, None
        return spectrum, equal_steps(self.head, self.factor, *chosen, self.steps_at, progress)

    def _check(self, states: Tensor, targets: Tensor, known: GradientRows) -> float:
        """The largest difference from parts that are written out, for a few positions."""
        at = slice(0, _CHECKED)
        apart = _apart(self.head, self.factor, states[at], targets[: len(states)][at], known[at])
        if not apart <= _TOLERANCE:
            raise EmbtieError(
                f"The parts of the gradient are off by {apart:.2g} of their size from parts that "
                "were written out, so they are not shown.",
                "Try another device, or the model in float32.",
            )
        return apart

    def _settings(self, n: int, seed: int) -> dict[str, Any]:
        readout = self.head.readout
        return {
            "positions": n,
            "spectrum and steps at": min(self.gram, n),
            "seed": seed,
            "random rows": _drawn(self.factor.rows),
            "precision": str(self.head.precision).removeprefix("torch."),
            "logits in": "float32",
            "device": self.head.device.type,
            "rank tolerance": self.factor.tolerance,
            "spectrum tolerance": TOLERANCE,
            "logit factor": readout.logits,
            "logit cap": readout.cap,
            "head bias": self.head.bias is not None,
        }

    def _notes(self, n: int) -> Iterator[str]:
        factor, cap = self.factor, self.head.readout.cap
        if factor.rank < min(factor.width, factor.rows):
            yield (
                f"The head has {factor.width:,} columns of which {factor.rank:,} are independent: "
                f"a direction without preference gives {factor.line:.4f}."
            )
        if cap is not None:
            yield (
                f"The model caps its logits at {cap:g}: the gradient is taken before the cap, with "
                "its slope, where the hidden state enters."
            )
        if 0 < self.gram < n:
            yield f"Spectrum and steps are those of the first {self.gram:,} of {n:,} positions."


def _refuse_odd(destroyed: Tensor) -> None:
    odd = int((~destroyed.isfinite()).sum())
    if odd:
        raise EmbtieError(
            f"At {odd:,} of {len(destroyed):,} positions the gradient is not finite.",
            "Load the model in float32: in half precision its numbers may be too large.",
        )


def _apart(
    head: Head, factor: HeadFactor, states: Tensor, targets: Tensor, known: GradientRows
) -> float:
    """How far lengths and parts are from those of G and its projection written out, relative to
    |G|: the projection is told by leaving nothing along any column of U."""
    G, scale = _written(head, states, targets)
    G, U = G.to(factor.whiten), head.weight
    combined = factor.combination(_through(G, U))
    seen = torch.cat([combined @ part.to(G).T for part in U.split(_ROWS)], 1)
    squared, kept = G.square().sum(-1), seen.square().sum(-1)
    columns = torch.linalg.vector_norm(U, dim=0, dtype=torch.float32).to(G).clamp_min(1e-300)
    left = (_through(G - seen, U) / columns).abs().amax(-1) / squared.sqrt()
    ours = factor.transmitted(known.at_hidden, known.squared).to(known.squared) / known.squared
    lengths = (known.scale - scale.to(known.scale)) + (known.squared / squared.to(ours)).log() / 2
    energy = ours - (kept / squared).to(ours)
    return max(float(part.abs().max()) for part in (left, lengths, energy))


def _written(head: Head, states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """G (k, V) from all logits at once, over the mass of all but the target, and its logarithm."""
    logits = head.read(states)
    made = logits.double() if has_float64(logits.device) else logits.cpu().double()
    at = torch.arange(len(made)), targets.to(made.device)
    rest = made.clone()
    rest[at] = -torch.inf
    G = rest.softmax(-1)
    G[at] = -1
    cap, mass = head.readout.cap, rest.logsumexp(-1)
    return G if cap is None else G * slope(cap, made), mass - torch.logaddexp(mass, made[at])


def _through(G: Tensor, U: Tensor) -> Tensor:
    """G U (k, d) in G's precision, some rows of U at a time."""
    total = G.new_zeros(len(G), U.shape[1])
    for some, part in zip(G.split(_ROWS, 1), U.split(_ROWS), strict=True):
        total += some @ part.to(G)
    return total


def _drawn(rows: int) -> int:
    """How many rows a random gradient has."""
    return min(_MOST_DRAWN, max(_FEWEST_DRAWN, _NUMBERS_DRAWN // rows))


def _random(head: Head, factor: HeadFactor, seed: int, progress: Progress) -> float:
    """The destroyed ratio of a gradient of normal numbers."""
    generator = torch.Generator().manual_seed(seed)
    many = _drawn(factor.rows)
    squared = torch.zeros(many, dtype=torch.float64)
    into = torch.zeros(many, factor.width, dtype=torch.float64)
    for part in head.weight.split(_ROWS):
        progress("measuring a random gradient", 0, 1)
        drawn = torch.randn(many, len(part), generator=generator)
        squared += drawn.square().sum(-1)
        into += (drawn.to(part) @ part).cpu()
    kept = factor.transmitted(into, squared.to(factor.whiten))
    return bottleneck_numbers(kept, squared.to(kept))["destroyed"]
