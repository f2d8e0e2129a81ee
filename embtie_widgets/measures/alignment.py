"""How well one embedding matrix maps onto another, against hold-out and chance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures import maps
from embtie_widgets.measures.devices import pick_device
from embtie_widgets.measures.matrices import Matrix, Rows, as_matrix, prepare
from embtie_widgets.measures.moments import Arithmetic, Moments, Pair, accumulate
from embtie_widgets.measures.scoring import Side, cosines
from embtie_widgets.measures.statistics import bootstrap_interval
from embtie_widgets.measures.triangular import triangular_factors
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results import Alignment
from embtie_widgets.results.alignment import Vector

# Up to this many multiplications float64 costs well under a second, so it is simply used.
_EXACT_UP_TO = 5e9
COMPARISONS: dict[str, Pair] = {
    "In->Out": ("In", "Out"),
    "Out->Tied": ("Out", "Tied"),
    "In->Tied": ("In", "Tied"),
}


def align(
    x: Any,
    y: Any,
    map: str = "linear",
    center: bool = True,
    ridge: float = 0.0,
    holdout: float = 0.2,
    seed: int = 0,
    *,
    floor: bool = True,
    device: str = "auto",
    progress: Progress = silent,
) -> Alignment:
    """Per-token cosine in [-1, 1] between the mapped rows of x (V, d1) and the rows of y (V, d2).

    The map x -> y is "identity", "orthogonal" (Procrustes, reflections allowed; for unequal widths
    the partial isometry of largest trace) or "linear" (least squares of minimum norm, plus
    `ridge` times the squared norm of the map).  `center` takes the column means off first.  The
    fit on all rows is the published number; beside it stand the mean on the share `holdout` of
    the rows that took no part in a second fit, and the floor: the same fit with the rows of y
    permuted.  Rows that are zero or not finite are NaN and take no part.  Cosines are within 1e-5
    of float64.  Source: weight-tying paper, section 1.1 of METHODS.
    """
    settings = Settings(map, center, ridge, holdout, seed, floor, device)
    return align_many({"x": x, "y": y}, [("x", "y")], settings, progress)["x", "y"]


def align_pair(
    input: Any,
    output: Any,
    tied: Any,
    map: str = "linear",
    center: bool = True,
    ridge: float = 0.0,
    holdout: float = 0.2,
    seed: int = 0,
    *,
    floor: bool = True,
    device: str = "auto",
    progress: Progress = silent,
) -> dict[str, Alignment]:
    """In->Out, Out->Tied and In->Tied at once, sharing their means, splits and products.

    input, output and tied (V, d) hold the same tokens row by row; see `align` for the rest.
    """
    settings = Settings(map, center, ridge, holdout, seed, floor, device)
    found = align_many(
        {"In": input, "Out": output, "Tied": tied}, list(COMPARISONS.values()), settings, progress
    )
    return {name: found[pair] for name, pair in COMPARISONS.items()}


@dataclass(frozen=True)
class Settings:
    """The options of an alignment, as plain values."""

    map: str
    center: bool
    ridge: float
    holdout: float
    seed: int
    floor: bool
    device: str


def align_many(
    values: Mapping[str, Any],
    pairs: Sequence[Pair],
    settings: Settings,
    progress: Progress = silent,
) -> dict[Pair, Alignment]:
    """Several comparisons among named matrices (V, d) with the same tokens row by row."""
    tensors = {name: as_matrix(value, name) for name, value in values.items()}
    _check(tensors, pairs, settings)
    matrices, rows, left_out = prepare(tensors, settings.center, progress)
    for source, target in pairs:
        widths = (matrices[source].width, matrices[target].width)
        maps.check_fit(settings.map, len(rows), widths, settings.ridge)
    work = _Work(matrices, rows, list(pairs), settings, progress)
    return {pair: work.result(pair, left_out) for pair in pairs}


def _check(tensors: Mapping[str, torch.Tensor], pairs: Sequence[Pair], settings: Settings) -> None:
    heights = {name: len(tensor) for name, tensor in tensors.items()}
    if len(set(heights.values())) > 1:
        shown = ", ".join(f"{name} {rows}" for name, rows in heights.items())
        raise EmbtieError(
            f"The matrices have different numbers of rows: {shown}.",
            "Match their vocabularies first (ew.match) and take the common rows.",
        )
    if not 0 <= settings.holdout < 1:
        raise EmbtieError(
            f"holdout is {settings.holdout}; expected a share from 0 to below 1.",
            "Use 0.2, or 0 for none.",
        )
    for source, target in pairs:
        widths = (tensors[source].shape[1], tensors[target].shape[1])
        maps.check_fit(settings.map, len(tensors[source]), widths, settings.ridge)


class _Work:
    """The fits and scores of one call; what pairs share is computed once."""

    def __init__(
        self,
        matrices: dict[str, Matrix],
        rows: Rows,
        pairs: list[Pair],
        settings: Settings,
        progress: Progress,
    ) -> None:
        self.matrices, self.rows, self.pairs = matrices, rows, pairs
        self.settings, self.progress = settings, progress
        self.device = pick_device(settings.device)
        generator = torch.Generator().manual_seed(settings.seed)
        n = len(rows)
        held = min(round(settings.holdout * n), n - 2)
        order = torch.randperm(n, generator=generator) if held > 0 else None
        self.train = rows if order is None else rows.take(order[held:].sort().values)
        self.test = None if order is None else rows.take(order[:held].sort().values)
        self.permuted = rows.take(torch.randperm(n, generator=generator))
        how = self._arithmetic()
        self.fits = self._fit_all(pairs, how)
        self.how = dict.fromkeys(pairs, how)
        doubtful = [pair for pair in pairs if self._doubtful(pair)]
        if doubtful and not how.exact:
            self.fits |= self._fit_all(doubtful, how.in_float64())
            self.how |= dict.fromkeys(doubtful, how.in_float64())
        for pair in pairs:
            if settings.map == "linear" and self._doubtful(pair):
                self.fits[pair] = self._fit_by_qr(pair)
                self.how[pair] = how.in_float64()

    def _arithmetic(self) -> Arithmetic:
        wanted = Arithmetic(self.device, torch.float32)
        widest = max(matrix.width for matrix in self.matrices.values())
        stored = {matrix.values.dtype for matrix in self.matrices.values()}
        small = len(self.rows) * widest**2 <= _EXACT_UP_TO
        return wanted.in_float64() if small or torch.float64 in stored else wanted

    def _doubtful(self, pair: Pair) -> bool:
        found = self.fits[pair]
        return any(fit.error > maps.TOLERANCE for fit in found.values())

    def _moments(self, pairs: list[Pair], how: Arithmetic, source: Rows, target: Rows) -> Moments:
        """Of sources at `source` and targets at `target`; a target is named apart when permuted."""
        other = target is not source
        chosen = {a: self.matrices[a] for a, _ in pairs}
        chosen |= {_alias(b, other): self.matrices[b] for _, b in pairs}
        rows = {name: target if name.endswith("*") else source for name in chosen}
        products = [(a, _alias(b, other)) for a, b in pairs]
        grams = sorted({a for a, _ in pairs}) if self.settings.map == "linear" and not other else []
        if self.settings.map == "identity":
            products = []
        return accumulate(chosen, rows, products, grams, how, self.progress)

    def _fit_all(self, pairs: list[Pair], how: Arithmetic) -> dict[Pair, "dict[str, maps.Map]"]:
        """By pair: the map on all rows ("all"), on the training rows ("train"), by chance
        ("floor"), as far as they were asked for."""
        train = self._moments(pairs, how, self.train, self.train)
        whole = train
        if self.test is not None:
            whole = train + self._moments(pairs, how, self.test, self.test)
        found: dict[Pair, dict[str, maps.Map]] = {}
        chance = self._floor_moments(pairs, how, whole) if self.settings.floor else None
        own = train.about_own_mean() if self.settings.center else train
        for pair in pairs:
            self.progress("fitting", len(found), len(pairs))
            found[pair] = {"all": self._fit(whole, pair, how)}
            if self.test is not None and self._enough_to_hold_out(pair):
                found[pair]["train"] = self._fit(own, pair, how)
            if chance is not None:
                found[pair]["floor"] = self._fit(chance, (pair[0], _alias(pair[1], True)), how)
        return found

    def _floor_moments(self, pairs: list[Pair], how: Arithmetic, whole: Moments) -> Moments:
        chance = self._moments(pairs, how, self.rows, self.permuted)
        return replace(chance, gram=whole.gram)

    def _fit(self, moments: Moments, pair: Pair, how: Arithmetic) -> maps.Map:
        scale = self.matrices[pair[0]].scale
        scaled = self.settings.ridge * scale * scale
        return maps.fit(self.settings.map, moments, pair, scaled, maps.ROUNDING[how.dtype])

    def _enough_to_hold_out(self, pair: Pair) -> bool:
        free = self.settings.map != "linear" or self.settings.ridge > 0
        return free or len(self.train) > self.matrices[pair[0]].width

    def _fit_by_qr(self, pair: Pair) -> dict[str, maps.Map]:
        return {
            name: maps.fit_triangular(
                *triangular_factors(*self._sides(pair, name, fitting=True), self.progress),
                len(self.train if name == "train" else self.rows),
            )
            for name in self.fits[pair]
        }

    def _sides(self, pair: Pair, name: str, fitting: bool = False) -> tuple[Side, Side]:
        """Source and target with the rows that a fit is made on, or scored on."""
        source, target = (self.matrices[side] for side in pair)
        if name == "floor":
            return Side(source, self.rows), Side(target, self.permuted)
        if name == "all" or self.test is None:
            return Side(source, self.rows), Side(target, self.rows)
        rows = self.train if fitting else self.test
        return tuple(Side(m, rows, self._train_shift(m)) for m in (source, target))  # type: ignore[return-value]

    def _train_shift(self, matrix: Matrix) -> torch.Tensor | None:
        if not self.settings.center:
            return None
        like = torch.empty(0, dtype=torch.float64)
        total = torch.zeros(matrix.width, dtype=torch.float64)
        for index in self.train.blocks():
            total += matrix.block(index, like).sum(0)
        return total / len(self.train)

    def _score(self, pair: Pair, name: str) -> Vector:
        fitted = self.fits[pair][name]
        found = cosines(fitted, *self._sides(pair, name), self.how[pair], self.progress)
        return np.asarray(found.numpy(), dtype=np.float64)

    def result(self, pair: Pair, left_out: dict[str, int]) -> Alignment:
        """Scores, hold-out and floor of one comparison."""
        scored = self._score(pair, "all")
        cosine = np.full(self.rows.total, np.nan)
        cosine[slice(None) if self.rows.index is None else self.rows.index.numpy()] = scored
        known = scored[np.isfinite(scored)]
        if not len(known):
            raise EmbtieError(
                f"Every row of {pair[0]} or {pair[1]} equals the mean row, so no cosine is defined.",
                "Switch centring off, or check the checkpoint.",
            )
        seed = self.settings.seed
        heldout, heldout_interval = self._heldout(pair)
        return Alignment(
            cosine=cosine,
            mean=float(known.mean()),
            median=float(np.median(known)),
            interval=bootstrap_interval(known, seed),
            heldout_mean=heldout,
            heldout_interval=heldout_interval,
            floor_mean=self._floor(pair),
            floor_expected=self._expected(pair),
            description=self.fits[pair]["all"].describe(),
            settings=self._settings(pair, left_out, len(scored) - len(known)),
        )

    def _heldout(self, pair: Pair) -> tuple[float | None, tuple[float, float] | None]:
        if "train" not in self.fits[pair]:
            return None, None
        scored = self._score(pair, "train")
        known = scored[np.isfinite(scored)]
        if not len(known):
            return None, None
        return float(known.mean()), bootstrap_interval(known, self.settings.seed)

    def _floor(self, pair: Pair) -> float | None:
        if "floor" not in self.fits[pair]:
            return None
        return float(np.nanmean(self._score(pair, "floor")))

    def _expected(self, pair: Pair) -> float | None:
        source, target = (self.matrices[side].width for side in pair)
        ratio = math.sqrt(source / len(self.rows))
        if self.settings.map == "linear":
            return min(1.0, ratio) if self.settings.ridge == 0 else None
        if self.settings.map == "identity":
            return 0.0
        return min(1.0, 8 / (3 * math.pi) * ratio) if source == target else None

    def _settings(self, pair: Pair, left_out: dict[str, int], equal_mean: int) -> dict[str, Any]:
        how = self.how[pair]
        notes = []
        if self.test is not None and "train" not in self.fits[pair]:
            notes.append(
                f"No hold-out: {len(self.train)} training rows for "
                f"{self.matrices[pair[0]].width} columns are too few for a linear map."
            )
        return {
            **vars(self.settings),
            "rows": self.rows.total,
            "rows_used": len(self.rows),
            "rows_left_out": {**left_out, "equal to the mean": equal_mean},
            "rows_held_out": 0 if self.test is None else len(self.test),
            "device": how.device.type,
            "arithmetic": str(how.dtype).removeprefix("torch."),
            "stored": {n: str(self.matrices[n].values.dtype).removeprefix("torch.") for n in pair},
            "notes": notes,
        }


def _alias(name: str, permuted: bool) -> str:
    return name + "*" if permuted else name
