"""The nearest rows of rows: which tokens stand near a token in one space, and in two."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.devices import full_float32, pick_device
from embtie_widgets.measures.hashes import watched
from embtie_widgets.measures.matrices import as_matrix, check_heights, survey
from embtie_widgets.measures.nearest_lists import exact_lists, nearest_lists
from embtie_widgets.measures.participants import check_k, first_equals, usable_rows
from embtie_widgets.measures.points import points_of
from embtie_widgets.measures.statistics import bootstrap_interval
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.alignment import Vector
from embtie_widgets.results.neighbours import KnnOverlap, NeighbourLists, Neighbours

METRICS = ("cosine", "euclidean")
# So many numbers of each side are put in order at once.
_SORTED = 1_000_000


def nearest(
    x: Any, row: int, k: int = 10, metric: str = "cosine", center: bool = False
) -> Neighbours:
    """The k rows of x (V, d) nearest to `row`, which is not among them.

    Cosine similarity in [-1, 1], the largest first, or Euclidean distance, the smallest first, in
    float64 of the stored values.  Equal ones come in the order of their rows; duplicates of the
    row are kept; rows that are zero (for the cosine) or not finite are no neighbours.
    """
    matrix = as_matrix(x)
    _check_metric(metric)
    if not 0 <= row < len(matrix):
        raise EmbtieError(
            f"There is no row {row}; the matrix has {len(matrix)}.", "Choose another token."
        )
    usable, _ = usable_rows([matrix], metric, center)
    settings = {"row": row, "k": k, "metric": metric, "center": center}
    k = min(k, int(usable.sum()) - 1)
    if not usable[row] or k < 1:
        return Neighbours(np.empty(0, np.int64), np.empty(0), settings)
    points = points_of(matrix, usable, metric, center)
    here = usable[:row].sum()[None]
    found = exact_lists(points, k, here)
    values = points.nearness(here, found)[0].numpy()
    if metric == "euclidean":
        values = np.sqrt(-values) / points.scale
    return Neighbours(points.index[found[0]].numpy(), values, settings)


def neighbour_lists(
    x: Any,
    k: int = 10,
    metric: str = "cosine",
    center: bool = False,
    *,
    queries: Any = None,
    usable: Any = None,
    device: str = "auto",
    progress: Progress = silent,
) -> NeighbourLists:
    """The k nearest rows of each row of x (V, d), or of the rows `queries` (m,).

    By cosine or Euclidean distance, of the rows less their mean with `center`.  The candidates
    are all rows that take part: those of the mask `usable` (V,), or else those that are finite
    and, for the cosine, have a direction.  Only the row itself is left out.  Exact: the order is
    that of float64 on the stored values, and what is equal up to its rounding goes to the lower
    row number.
    """
    matrix = as_matrix(x)
    _check_metric(metric)
    mask, left_out = usable_rows([matrix], metric, center, progress)
    if usable is not None:
        mask, left_out = _restricted(mask, left_out, usable)
    check_k(k, int(mask.sum()), left_out)
    asked = np.arange(len(matrix)) if queries is None else _row_numbers(queries, len(matrix))
    settings = {"k": int(k), "metric": metric, "center": center, "rows_left_out": left_out}
    return _lists(matrix, mask, asked, settings, pick_device(device), progress)


def _lists(
    matrix: torch.Tensor,
    usable: torch.Tensor,
    asked: Vector,
    settings: dict[str, Any],
    device: torch.device,
    progress: Progress,
) -> NeighbourLists:
    """What was asked, all of it checked."""
    k = settings["k"]
    points = points_of(matrix, usable, settings["metric"], settings["center"], progress)
    taking = usable[asked]
    number = usable.cumsum(0) - 1
    first = first_equals(matrix, usable, progress)
    with full_float32():
        equals = number[first[usable]]
        found = nearest_lists(points, equals, k, number[asked][taking], device, progress)
    rows = np.full((len(asked), k), -1, np.int32)
    rows[taking.numpy()] = points.index[found].numpy()
    duplicates = (first.bincount(minlength=len(matrix))[first] > 1).numpy()
    known = {
        "rows": len(matrix),
        "rows_used": len(points),
        "duplicates": int(duplicates.sum()),
        "device": device.type,
    }
    return NeighbourLists(rows, asked, usable.numpy(), duplicates, settings | known)


def knn_overlap(
    x: Any,
    y: Any,
    k: int = 10,
    metric: str = "cosine",
    center: bool = False,
    *,
    sample: int = 0,
    seed: int = 0,
    device: str = "auto",
    progress: Progress = silent,
) -> KnnOverlap:
    """The share of the k nearest rows that x (V, d1) and y (V, d2) have in common, row by row.

    In [0, 1]; pure chance gives k / (n - 1) of n rows.  Candidates are all rows that both can
    use, whose mean is taken off with `center`; only the row itself is left out, duplicates stay,
    equal distances go to the lower row number.  `sample` asks so many rows, spread by `seed`,
    instead of all.  Exact in the sense of `neighbour_lists`.  Source: weight-tying paper,
    table 5.
    """
    matrices = {"x": as_matrix(x, "x"), "y": as_matrix(y, "y")}
    _check_metric(metric)
    check_heights(matrices)
    usable, left_out = usable_rows(list(matrices.values()), metric, center, progress)
    check_k(k, int(usable.sum()), left_out)
    asked = sampled_rows(usable.numpy(), sample, seed) if sample else np.arange(len(usable))
    settings = {"k": int(k), "metric": metric, "center": center, "rows_left_out": left_out}
    first, second = (
        _lists(matrix, usable, asked, settings, pick_device(device), progress)
        for matrix in matrices.values()
    )
    norms = {name: survey(matrix)[0] for name, matrix in matrices.items()}
    hashes = watched({"x": x, "y": y}, norms)
    found = overlap_of(first, second, k, seed=seed, progress=progress)
    return replace(found, hashes=hashes)


def sampled_rows(usable: Any, sample: int, seed: int) -> Any:
    """(m,) row numbers in rising order: so many of the usable rows (V,), or all there are."""
    rows = np.flatnonzero(usable)
    if sample >= len(rows):
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, sample, replace=False))


def overlap_of(
    first: NeighbourLists,
    second: NeighbourLists,
    k: int,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> KnnOverlap:
    """The share of the first k of their neighbours that two matrices have in common.

    Both lists are of the same rows and candidates, and hold k neighbours or more.
    """
    _check_lists(first, second, k)
    asked = first.rows[:, 0] >= 0
    per_token = np.full(len(first.usable), np.nan)
    per_token[first.queries[asked]] = _common(first, second, asked, k, progress) / k
    known = per_token[np.isfinite(per_token)]
    shared = ("metric", "center", "rows", "rows_used", "rows_left_out", "device")
    return KnnOverlap(
        per_token=per_token,
        mean=float(known.mean()) if len(known) else float("nan"),
        interval=bootstrap_interval(known, seed),
        floor=k / (first.settings["rows_used"] - 1),
        settings={
            "k": k,
            **{name: first.settings[name] for name in shared},
            "duplicates": {"x": int(first.duplicates.sum()), "y": int(second.duplicates.sum())},
            "sampled": len(known),
            "seed": seed,
        },
    )


def _common(
    first: NeighbourLists, second: NeighbourLists, asked: Vector, k: int, progress: Progress
) -> Vector:
    """(m,) how many of their first k neighbours the asked rows have in common."""
    places = np.flatnonzero(asked)
    common = np.zeros(len(places), np.int64)
    step = max(1, _SORTED // k)
    for start in range(0, len(places), step):
        progress("comparing neighbours", start, len(places))
        some = places[start : start + step]
        pair = np.concatenate([first.rows[some, :k], second.rows[some, :k]], axis=1)
        pair.sort(axis=1)
        common[start : start + step] = (pair[:, 1:] == pair[:, :-1]).sum(1)
    return common


def _check_lists(first: NeighbourLists, second: NeighbourLists, k: int) -> None:
    columns = min(first.rows.shape[1], second.rows.shape[1])
    if not 1 <= k <= columns:
        raise EmbtieError(f"k is {k}; these lists hold {columns} neighbours.", "Make longer ones.")
    same = np.array_equal(first.usable, second.usable)
    if not same or not np.array_equal(first.queries, second.queries):
        raise EmbtieError(
            "The two neighbour lists are not of the same rows and candidates.",
            "Make both with the same `queries` and `usable`.",
        )


def _check_metric(metric: str) -> None:
    if metric not in METRICS:
        raise EmbtieError(f"metric is {metric!r}; expected 'cosine' or 'euclidean'.", "Choose one.")


def _restricted(
    mask: torch.Tensor, left_out: dict[str, int], usable: Any
) -> tuple[torch.Tensor, dict[str, int]]:
    wanted = torch.as_tensor(np.asarray(usable))
    if wanted.dtype != torch.bool or wanted.shape != mask.shape:
        raise EmbtieError(
            f"usable is {tuple(wanted.shape)} of {wanted.dtype}; expected {len(mask)} times "
            "true or false.",
            "Give one for each row.",
        )
    return mask & wanted, {**left_out, "not chosen": int((mask & ~wanted).sum())}


def _row_numbers(queries: Any, rows: int) -> Any:
    asked = np.asarray(queries)
    whole = asked.ndim == 1 and np.issubdtype(asked.dtype, np.integer)
    if not whole or (len(asked) and not (asked.min() >= 0 and asked.max() < rows)):
        raise EmbtieError(
            f"queries are no row numbers of a matrix of {rows} rows.",
            f"Give whole numbers from 0 to {rows - 1}.",
        )
    return asked.astype(np.int64)
