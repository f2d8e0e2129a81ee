"""How far the rows of a model's matrices have turned during its training.

Checkpoints come one after the other, and of all of them only the first, the one before and the
present one are held, so that a series of hundreds needs no more memory than one of three.  Rows are
compared raw: nothing is centred and nothing aligned, all steps of one run share their basis.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.hashing import tensor_hash
from embtie_widgets.measures.matrices import BLOCK, as_matrix
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests.fields import short
from embtie_widgets.results.checkpoints import LOADED, Checkpoint, Distance
from embtie_widgets.results.drift import CURVES, Drift
from embtie_widgets.results.groups import BANDS

Vector = np.ndarray[Any, np.dtype[Any]]
_STAGE = "comparing rows"
_AT_ONCE = 2**17  # numbers of a block that stays in a processor's cache
_TINY, _HUGE = 1e-140, 1e140
_HINT = "Give a list such as [(0, E, U), (100, E, U)]: a step, the input and the output matrix."


def drift(
    checkpoints: Iterable[tuple[Any, Any, Any]], counts: Any = None, progress: Progress = silent
) -> Drift:
    """The drift of a run from its (step, input, output) in any order, matrices (V, d).

    `output` is None where there is none, and the input itself for a shared matrix.  `counts` (V,),
    how often each token occurs, add means by band of frequency.  Source: weight-tying paper,
    figure 3.
    """
    meter = DriftMeter(counts)
    for step, matrix, output in _in_order(checkpoints):
        meter.add(Checkpoint(f"step {step:,}", step=step), matrix, output, progress=progress)
    return meter.result()


def row_cosines(
    a: torch.Tensor, b: torch.Tensor, progress: Progress = silent
) -> tuple[Vector, float]:
    """(V,) in [-1, 1]: the cosine of each row of `a` (V, d) with the same row of `b`, in float64.

    NaN where either row is zero or not finite.  Beside it the mean cosine of every row of `a` with
    every other row of `b`, which is what no relation of a row to itself would give; NaN for fewer
    than two rows.
    """
    found = np.empty(len(a))
    ends = torch.zeros(2, a.shape[1], dtype=torch.float64)
    step = min(max(1, _AT_ONCE // a.shape[1]), BLOCK)
    for start in range(0, len(a), step):
        if start % BLOCK < step:
            progress(_STAGE, start, len(a))
        some = slice(start, start + step)
        (x, long), (y, wide) = _measured(a[some]), _measured(b[some])
        good = (long > 0) & (wide > 0) & long.isfinite() & wide.isfinite()
        cosines = ((x * y).sum(1) / (long * wide)).clamp(-1.0, 1.0)
        found[some] = torch.where(good, cosines, torch.nan).numpy()
        if not bool(good.all()):
            x, y, long, wide = x[good], y[good], long[good], wide[good]
        ends += torch.stack([long.reciprocal() @ x, wide.reciprocal() @ y])
    return found, _others(ends, found[~np.isnan(found)])


def _others(ends: torch.Tensor, known: Vector) -> float:
    """The product of two sums of unit rows holds every pair; without the pairs of a row with itself
    the mean over the rest."""
    pairs = len(known) * (len(known) - 1)
    return (float(ends[0] @ ends[1]) - float(known.sum())) / pairs if pairs else float("nan")


def _measured(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows (n, d) in float64 and their lengths (n,).  Rows so long or so short that a product
    would overflow or vanish are divided by their largest entry, which turns nothing."""
    rows = rows.cpu().double()
    lengths = (rows * rows).sum(1).sqrt()  # as torch has it, this is the quicker way
    odd = ~((lengths > _TINY) & (lengths < _HUGE))
    if bool(odd.any()):
        largest = rows[odd].abs().amax(1, keepdim=True)
        rows = rows.clone()
        rows[odd] /= torch.where((largest > 0) & largest.isfinite(), largest, 1.0)
        lengths[odd] = torch.linalg.vector_norm(rows[odd], dim=1)
    return rows, lengths


@dataclass(frozen=True, eq=False)
class _Held:
    """A checkpoint as it is held: what is known of it, its matrices and their hashes by role."""

    at: Checkpoint
    matrices: Mapping[str, torch.Tensor]
    hashes: Mapping[str, str]


class DriftMeter:
    """Takes checkpoints in their order; `result` is the drift up to the last one.

    `counts` (V,) are how often each token occurs, `tied` whether input and output are one matrix;
    None where that is not known.  Then matrices that are equal at every checkpoint are one.
    """

    def __init__(self, counts: Any = None, tied: bool | None = None) -> None:
        self._counts = None if counts is None else np.asarray(counts)
        self._status = tied
        self._first: _Held | None = None
        self._before: _Held | None = None
        self._known: list[Checkpoint] = []
        self._since: list[float] = []
        self._means: dict[str, list[float]] = {name: [] for name in CURVES}
        self._by_band: dict[str, list[list[float]]] = {name: [] for name in CURVES}
        self._chance: dict[str, list[float]] = {name: [] for name in CURVES}
        self._rows: dict[str, Vector] = {}
        self._gone: dict[str, Vector] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(
        self,
        at: Checkpoint,
        input: Any,
        output: Any = None,
        hashes: Mapping[str, str] | None = None,
        progress: Progress = silent,
    ) -> None:
        """The next checkpoint; `hashes` of its matrices by role, where they are known already.

        An EmbtieError, and nothing taken, where its matrices are not those of the same model.
        """
        given = {"input": as_matrix(input, "input")}
        if output is not None:
            given["output"] = given["input"] if output is input else as_matrix(output, "output")
        self._check(at, given)
        now = _Held(at, given, _hashes(given, hashes, progress))
        found = self._compared(now, progress)
        self._note(now, {name: rows for name, (rows, _) in found.items()})
        for name, (_, chance) in found.items():
            self._chance[name].append(chance)
        self._first, self._before = self._first or now, now

    def _check(self, at: Checkpoint, given: Mapping[str, torch.Tensor]) -> None:
        shapes = {role: tuple(matrix.shape) for role, matrix in given.items()}
        if self._counts is not None and len(self._counts) != len(given["input"]):
            raise EmbtieError(
                f"There are {len(self._counts):,} counts for {len(given['input']):,} rows.",
                "Give one count for each row of the matrices.",
            )
        first = self._first
        known = shapes if first is None else {k: tuple(m.shape) for k, m in first.matrices.items()}
        for role in shapes.keys() & known.keys():
            if shapes[role] != known[role]:
                raise EmbtieError(
                    f"The {role} matrix has the shape {shapes[role]} at {at.name}, and "
                    f"{known[role]} at the first checkpoint.",
                    "Compare checkpoints of one and the same model.",
                )

    def _compared(self, now: _Held, progress: Progress) -> dict[str, tuple[Vector, float]]:
        """The four vectors of cosines, each with its chance; what is the same comparison twice is
        made once."""
        others = {"first": self._first or now, "previous": self._before or now}
        made: dict[tuple[str, str], tuple[Vector, float]] = {}
        found = {}
        for role in ("input", "output"):
            for what, other in others.items():
                key = (now.hashes.get(role, ""), other.hashes.get(role, ""))
                if not all(key):
                    made[key] = (np.full(len(now.matrices["input"]), np.nan), float("nan"))
                elif key not in made:
                    made[key] = _cosines(now, other, role, progress)
                found[f"{role}_to_{what}"] = made[key]
        return found

    def _note(self, now: _Held, rows: dict[str, Vector]) -> None:
        before = self._before
        far = None if before is None else _distance(before.at, now.at)
        steps = None if far is None else far.steps
        self._since.append(0.0 if before is None else np.nan if steps is None else steps)
        self._known.append(replace(now.at, state=LOADED, since_loaded=far, hashes=dict(now.hashes)))
        self._rows = rows
        for name, values in rows.items():
            role = name.partition("_")[0]
            if role in now.matrices:
                known = self._gone.get(role, np.zeros(len(values), bool))
                self._gone[role] = known | np.isnan(values)
            self._means[name].append(_mean(values))
            self._by_band[name].append([_mean(values[mask]) for mask in self._masks()])

    def _masks(self) -> list[Vector]:
        counts = self._counts
        if counts is None:
            return []
        return [(counts >= low) & (counts < high) for low, high in BANDS.values()]

    def result(self) -> Drift:
        """The drift of all that was added; an EmbtieError before the first."""
        if not self._known:
            raise EmbtieError("There are no checkpoints to compare.", _HINT)
        steps = [one.step for one in self._known]
        bands = tuple(BANDS) if self._counts is not None else ()
        return Drift(
            steps=_whole(np.array([np.nan if step is None else step for step in steps])),
            since=_whole(np.array(self._since)),
            input_to_first=np.array(self._means["input_to_first"]),
            output_to_first=np.array(self._means["output_to_first"]),
            input_to_previous=np.array(self._means["input_to_previous"]),
            output_to_previous=np.array(self._means["output_to_previous"]),
            same_bytes=_repeats(self._known),
            names=tuple(one.name for one in self._known),
            tied=self._tied(),
            bands=bands,
            by_band={k: np.array(v) for k, v in self._by_band.items()} if bands else {},
            rows=dict(self._rows),
            chance={name: np.array(values) for name, values in self._chance.items()},
            left_out={role: int(gone.sum()) for role, gone in self._gone.items()},
            checkpoints=tuple(self._known),
            settings={"rows": len(next(iter(self._rows.values()))), "centred": False},
            hashes={f"{one.name}: {k}": v for one in self._known for k, v in one.hashes.items()},
        )

    def _tied(self) -> bool | None:
        """Whether input and output are one matrix at every checkpoint; None without output."""
        with_output = [one.hashes for one in self._known if "output" in one.hashes]
        if not with_output or self._status is not None:
            return self._status if with_output else None
        return all(hashes["input"] == hashes["output"] for hashes in with_output)


def _cosines(now: _Held, other: _Held, role: str, progress: Progress) -> tuple[Vector, float]:
    """As `row_cosines`; of rows with their own copies exactly 1."""
    found, chance = row_cosines(now.matrices[role], other.matrices[role], progress)
    if now.hashes[role] == other.hashes[role]:
        found[~np.isnan(found)] = 1.0
    return found, chance


def _hashes(
    given: Mapping[str, torch.Tensor], known: Mapping[str, str] | None, progress: Progress
) -> dict[str, str]:
    """By role; a shared matrix is read once."""
    found: dict[str, str] = {}
    for role, matrix in given.items():
        if known is not None and role in known:
            found[role] = known[role]
        elif role == "output" and matrix is given["input"]:
            found[role] = found["input"]
        else:
            found[role] = tensor_hash(matrix, progress)
    return found


def _mean(values: Vector) -> float:
    """Over the rows that have a cosine; NaN without any."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _distance(before: Checkpoint, now: Checkpoint) -> Distance | None:
    """How far the one is after the other, within one stage of a training."""
    if before.track != now.track or now.value is None:
        return None
    steps, tokens = (
        None if a is None or b is None else b - a
        for a, b in ((before.step, now.step), (before.tokens, now.tokens))
    )
    return Distance(before.name, steps, tokens)


def _whole(values: Vector) -> Vector:
    return values if np.isnan(values).any() else values.astype(np.int64)


def _repeats(known: list[Checkpoint]) -> tuple[tuple[str, int | None, int | None], ...]:
    """Each pair of checkpoints that share a matrix; a tied one is told once."""
    pairs = []
    for place, one in enumerate(known):
        for other in known[:place]:
            same = {r for r, value in one.hashes.items() if other.hashes.get(r) == value}
            both = one.hashes["input"] == one.hashes.get("output")
            roles = ["tied"] if both and same else sorted(same)
            pairs += [(role, other.step, one.step) for role in roles]
    return tuple(pairs)


def _in_order(checkpoints: Any) -> list[tuple[int, Any, Any]]:
    """Sorted by step; EmbtieError for what is no such list, and for steps that stand twice."""
    try:
        listed = [(step, matrix, output) for step, matrix, output in checkpoints]
    except (TypeError, ValueError):
        raise EmbtieError(f"{short(checkpoints)} is no list of checkpoints.", _HINT) from None
    steps = [_step(step) for step, *_ in listed]
    twice = sorted({step for step in steps if steps.count(step) > 1})
    if twice:
        raise EmbtieError(
            f"Step {twice[0]:,} is given more than once.",
            "Keep one checkpoint for each step; which of two is meant cannot be told.",
        )
    order = np.argsort(steps, kind="stable")
    return [(steps[i], listed[i][1], listed[i][2]) for i in order]


def _step(value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise EmbtieError(f"A step is {short(value)}; expected a whole number from 0.", _HINT)
    return int(value)
