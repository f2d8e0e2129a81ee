"""The information floor: how near any lens at the embedding could come to a model's own answer.

What enters the first block is the same wherever the token is the same (or token and position,
where a model adds learned positions), so any lens there, however it was made, says one
distribution q for all n places of such a group.  Of these places the mean KL(p_i || q) is

    KL(p_i || m), its mean over i   +   KL(m || q),        m the mean of the p_i,

so the first term, which is the Jensen-Shannon divergence of the p_i, is what the best lens has.
On these very positions that bound is exact.  Of endless text it tells too little, since m fits the
few p_i that it is the mean of.  To first order in 1 / n the jackknife takes that away: it sees how
much more is lacking with a part of the p_i left out.  What remains lacking is of higher order, so
for tokens that are rare the estimate is low still.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from embtie_widgets.measures.devices import full_float32, has_float64
from embtie_widgets.measures.head import Head
from embtie_widgets.measures.statistics import resamples_for
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.lens import InformationFloor

Vector = np.ndarray[Any, np.dtype[Any]]

TOKEN, PLACED, CONTEXT = "token", "token and position", "context"
LEAST = 8
STAGE = "finding the information floor"
# A floor that speaks for fewer of the positions says nothing of the text.
_SHARE = 0.05
# Where the places of a group hardly share an answer, 1 / n is no guide: with nothing in common the
# jackknife adds one nat, whatever the truth.  A quarter of that limit is too much.
_TOO_APART = 0.25 / math.log(2)
_PARTS = 64  # of a group, each left out once; up to so many occurrences each is its own
_SAME = 1e-4  # of a state's largest entry: below what positions add, above rounding
_NUMBERS = 2**22  # of probabilities held at once


def seen_at_input(states: Tensor, ids: Vector, places: Vector) -> str:
    """What the states (n, d) at the embedding are a function of: "token", "token and position", or
    "context" where even these two do not settle them.

    It is measured: states of one token are compared with each other.
    """
    if _settled(states, ids):
        return TOKEN
    return PLACED if _settled(states, _joint(ids, places)) else CONTEXT


def information_floor(
    final_states: Tensor,
    head: Head,
    ids: Vector,
    places: Vector,
    lens_kl: Vector,
    *,
    same_state: bool,
    least: int = LEAST,
    seed: int = 0,
    progress: Progress = silent,
) -> InformationFloor | None:
    """The least mean KL(final || lens), in bits, that a lens at the embedding can have.

    final_states (n, d) are what leaves the last block, `ids` and `places` (n,) the token and its
    place, `lens_kl` (n,) the KL of the measured lens at the embedding, in bits, NaN where it is
    not known.  `same_state` says that the state there depends on the token alone.  A token (with
    its place) counts where it occurs `least` times; None where hardly any does.
    """
    keys = np.asarray(ids) if same_state else _joint(ids, places)
    known = np.isfinite(lens_kl) & final_states.isfinite().all(-1).cpu().numpy()
    _, group, counts = np.unique(keys[known], return_inverse=True, return_counts=True)
    often = counts[group] >= least
    if often.sum() < max(1, _SHARE * len(keys)):
        return None
    order = np.flatnonzero(often)[np.argsort(group[often], kind="stable")]
    at = np.flatnonzero(known)[order]
    with torch.no_grad(), full_float32():
        groups = _measured(final_states, head, at, counts[counts >= least], progress)
    sizes, bits, missing = (np.array(column) for column in zip(*groups, strict=True))
    lacking = float(np.average(missing, weights=sizes))
    floor = float(np.average(bits, weights=sizes))
    return InformationFloor(
        bits=floor,
        estimate=None if lacking > _TOO_APART else floor + lacking,
        interval=_interval(bits, sizes, seed),
        lens_bits=float(np.asarray(lens_kl)[at].mean()),
        sees=TOKEN if same_state else PLACED,
        positions=len(at),
        left_out=len(keys) - len(at),
        tokens=len(groups),
        tokens_left_out=len(np.unique(keys)) - len(groups),
        least=least,
    )


def no_floor(sees: str, least: int = LEAST) -> str:
    """The sentence that stands where there is no floor."""
    if sees == CONTEXT:
        return (
            "No information floor: in this model the state at the embedding depends on the context "
            "already, so a lens there may know more than the token."
        )
    what = "tokens" if sees == TOKEN else "tokens at the same place"
    return (
        f"No information floor: hardly any {what} occur {least} times or more in this text. "
        "Measure more positions."
    )


def _joint(ids: Vector, places: Vector) -> Vector:
    """One number for token and place."""
    ids, places = np.asarray(ids, np.int64), np.asarray(places, np.int64)
    joint: Vector = ids * (1 + places.max(initial=0)) + places
    return joint


def _settled(states: Tensor, keys: Vector) -> bool:
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    like = states[torch.from_numpy(first[group]).to(states.device)]
    # What is not finite differs from itself, and says nothing here.
    off = (states - like).abs() > _SAME * like.abs().amax(-1, keepdim=True)
    return not bool(off.any())


class _Sums:
    """Of the distributions of one group of n so far: sums, numbers and entropies of its parts."""

    def __init__(self, n: int, like: Tensor) -> None:
        self.n, self.seen, parts = n, 0, min(n, _PARTS)
        self.total = like.new_zeros(parts, len(like))
        self.entropy, self.number = like.new_zeros(parts), like.new_zeros(parts)

    def add(self, shares: Tensor, entropies: Tensor) -> None:
        # Neighbours in the text are alike, so they are left out together.
        place = torch.arange(self.seen, self.seen + len(shares), device=shares.device)
        part = place * len(self.total) // self.n
        self.total.index_add_(0, part, shares)
        self.entropy.index_add_(0, part, entropies)
        self.number += torch.bincount(part, minlength=len(self.total))
        self.seen += len(shares)

    def told(self) -> tuple[int, float, float]:
        """How many there are, their divergence in bits, and what that lacks by the jackknife."""
        whole, entropy = self.total.sum(0), self.entropy.sum()
        divergence = float(torch.special.entr(whole / self.n).sum() - entropy / self.n)
        lacking = 0.0
        for total, spread, number in zip(self.total, self.entropy, self.number, strict=True):
            left = self.n - number
            mean = (whole - total).clamp_min(0) / left
            without = float(torch.special.entr(mean).sum() - (entropy - spread) / left)
            lacking += float(1 - number / self.n) * (divergence - without)
        return self.n, max(divergence, 0.0) / math.log(2), lacking / math.log(2)


def _measured(
    states: Tensor, head: Head, at: Vector, counts: Vector, progress: Progress
) -> list[tuple[int, float, float]]:
    """What each group tells; `at` holds the positions group after group, `counts` their numbers.

    Distributions are made a bounded number at a time, and a group larger than that in parts.
    """
    exact = head.device if has_float64(head.device) else torch.device("cpu")
    ends = np.cumsum(counts)
    told: list[tuple[int, float, float]] = []
    sums: _Sums | None = None
    step = max(1, _NUMBERS // len(head.weight))
    for start in range(0, len(at), step):
        progress(STAGE, start, len(at))
        rows = torch.from_numpy(at[start : start + step]).to(states.device)
        shares = head.logits(states[rows].to(head.device)).softmax(-1).to(exact).double()
        entropies = torch.special.entr(shares).sum(-1)
        first, beyond = np.searchsorted(ends, [start, start + len(rows)], side="right")
        inside = [int(end) - start for end in ends[first:beyond]]
        for low, high in zip([0, *inside], [*inside, len(rows)], strict=True):
            if low == high:
                continue
            sums = sums or _Sums(int(counts[len(told)]), shares[0])
            sums.add(shares[low:high], entropies[low:high])
            if high in inside:
                told.append(sums.told())
                sums = None
    progress(STAGE, len(at), len(at))
    return told


def _interval(bits: Vector, sizes: Vector, seed: int) -> tuple[float, float]:
    """95 % of the mean over positions, the groups drawn anew; unknown for a single group."""
    if len(bits) < 2:
        return (math.nan, math.nan)
    rng = np.random.default_rng(seed)
    even = np.full(len(bits), 1 / len(bits))
    drawn = rng.multinomial(len(bits), even, size=resamples_for(len(bits)))
    means = drawn @ (sizes * bits) / (drawn @ sizes)
    low, high = np.quantile(means, [0.025, 0.975])
    return (float(low), float(high))
