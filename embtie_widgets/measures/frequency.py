"""Row norm against token frequency: the weight-tying paper's figure 5, with what chance gives."""

import hashlib
import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.correlation import correlate
from embtie_widgets.measures.hashes import watched
from embtie_widgets.measures.matrices import as_matrix, survey
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.alignment import Vector
from embtie_widgets.results.norms import NormFrequency, RunningMedian, UnseenRows

_PLACES = 48
_SMALLEST_WINDOW = 25
_NAMED = 20
_SAMPLE = 2_000
_CLOSE = 1e-6
_QUARTILES = (0.25, 0.5, 0.75)
_WHOLE = "Give one whole number for each row, 0 for a token that does not occur."


def norm_frequency(
    x: Any, counts: Any, *, seed: int = 0, progress: Progress = silent
) -> NormFrequency:
    """Euclidean norm of each row of x (V, d) against log10(count + 1), counts (V,) whole numbers.

    Correlations, running median and quartiles are over the rows with a count above 0; rows of
    count 0 stand apart.  Rows that are not finite, and zero rows of count 0, take no part and are
    named in `.settings`.  `seed` draws the shuffles behind chance.  Source: weight-tying paper,
    figure 5.
    """
    matrix = as_matrix(x)
    known = as_counts(counts, len(matrix))
    norms = survey(matrix, progress)[0]
    found = of_norms(norms.numpy(), known, seed)
    return replace(
        found,
        settings=found.settings | {"stored": str(matrix.dtype).removeprefix("torch.")},
        hashes=watched({"x": x}, {"x": norms}),
    )


def of_norms(norms: Vector, counts: Vector, seed: int = 0) -> NormFrequency:
    """The same for norms (V,) that are there already."""
    finite = np.isfinite(norms)
    usable = finite & (norms > 0)
    if not usable.any():
        raise EmbtieError(
            f"None of the {len(norms)} rows can be used: {int((~finite).sum())} are not finite, "
            f"{int((finite & ~usable).sum())} are zero.",
            "Check the checkpoint; it holds no embedding whose norms could be shown.",
        )
    log_count, norm = np.log10(counts.astype(float) + 1), np.where(finite, norms, np.nan)
    # A zero row of a token that occurs has a norm like any other; of one that does not it is empty.
    used, apart = finite & (counts > 0), usable & (counts == 0)
    out = {"not finite": np.flatnonzero(~finite), "zero": np.flatnonzero(~(~finite | used | apart))}
    return NormFrequency(
        norm=norm,
        counts=counts,
        used=used,
        correlation=correlate(log_count[used], norm[used], seed),
        curve=running_median(log_count[used], norm[used]),
        unseen=_unseen(norm[apart]),
        settings={
            "seed": seed,
            "rows": len(norms),
            "rows_used": int(used.sum()),
            "rows_unseen": int(apart.sum()),
            "rows_left_out": {reason: len(rows) for reason, rows in out.items()},
            "left_out": {reason: rows[:_NAMED].tolist() for reason, rows in out.items()},
            "counts": hashlib.sha256(np.ascontiguousarray(counts, "<i8").tobytes()).hexdigest(),
        },
    )


def check_norms(matrix: torch.Tensor, norms: Vector) -> float:
    """The largest relative error of norms (V,) against float64 numpy, from an even sample of rows.

    Raises where it is not that of rounding: then no norm can be believed.
    """
    rows = np.arange(0, len(matrix), max(1, len(matrix) // _SAMPLE))
    sample = matrix[torch.from_numpy(rows)].detach().cpu().double().numpy()
    right, found = _lengths(sample), norms[rows]
    known = np.isfinite(right) & (right > 0)
    error = np.abs(found[known] / right[known] - 1).max(initial=0.0)
    same = np.array_equal(np.isfinite(found), np.isfinite(right))
    if not (same and error <= _CLOSE):
        raise EmbtieError(
            f"The identity check failed: row norms differ from those of float64 by {error:.1e}.",
            "The result is withheld. Please report the model and the settings.",
        )
    return float(error)


def _lengths(rows: Vector) -> Vector:
    """Norms of float64 rows whose squares may leave the arithmetic's range."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    safe = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
    return np.asarray(np.sqrt(np.square(rows / safe).sum(axis=1)) * safe[:, 0])


def as_counts(value: Any, rows: int) -> Vector:
    """Counts as (V,) int64; an EmbtieError for what are none."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    try:
        given = np.asarray(value)
        numbers = given.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise EmbtieError("counts holds something that is no number.", _WHOLE) from None
    if given.shape != (rows,):
        raise EmbtieError(
            f"counts has the shape {given.shape}; expected ({rows},), one for each row.", _WHOLE
        )
    good = np.isfinite(numbers) & (numbers >= 0) & (numbers == np.floor(numbers))
    good &= numbers < 2.0**63
    if not good.all():
        first = int(np.argmin(good))
        raise EmbtieError(f"counts has {given[first]} in row {first}.", _WHOLE)
    return given.astype(np.int64)


def running_median(position: Vector, values: Vector) -> RunningMedian:
    """Median and quartiles of `values` (n,) along `position` (n,), in windows of equal size.

    Windows stand at 48 evenly spaced positions.  Each holds the sqrt(n) values, at least 25, that
    are next to its place in the order of the positions, as many on the one side as on the other;
    so it is narrower near the two ends, down to 25.  Values of equal position are never parted, and
    the order of the rows does not count.  A window stands where the median of its positions is; of
    those that fall on one place, the first is kept.
    """
    order = np.argsort(position, kind="stable")
    position, values = position[order], values[order]
    edges = _windows(position)
    places = np.array([np.median(position[a:b]) for a, b in edges])
    _, kept = np.unique(places, return_index=True)
    cuts = [np.quantile(values[slice(*edges[i])], _QUARTILES) for i in kept]
    lower, median, upper = np.array(cuts).reshape(-1, 3).T
    sizes = np.array([edges[i][1] - edges[i][0] for i in kept], np.int64)
    return RunningMedian(places[kept], median, lower, upper, sizes)


def _windows(position: Vector) -> list[tuple[int, int]]:
    """First and last place (open) of each window among rising positions."""
    n = len(position)
    if not n:
        return []
    grid = np.linspace(position[0], position[-1], _PLACES)
    centre = (np.searchsorted(position, grid) + np.searchsorted(position, grid, "right")) // 2
    smallest, largest = _SMALLEST_WINDOW // 2, max(_SMALLEST_WINDOW, round(math.sqrt(n))) // 2
    half = np.clip(np.minimum(centre, n - 1 - centre), smallest, largest)
    width = np.minimum(2 * half + 1, n)
    first = np.clip(centre - half, 0, n - width)
    starts = np.searchsorted(position, position[first])
    stops = np.searchsorted(position, position[first + width - 1], "right")
    return sorted(set(zip(starts.tolist(), stops.tolist(), strict=True)))


def _unseen(norms: Vector) -> UnseenRows:
    if not len(norms):
        return UnseenRows(0, *[float("nan")] * 3)
    lower, median, upper = np.quantile(norms, _QUARTILES).tolist()
    return UnseenRows(len(norms), median, lower, upper)
