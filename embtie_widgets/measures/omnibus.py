"""Spectral distance: how far apart the neighbour graphs of two matrices are, embedded together.

The omnibus graph distance of arXiv 2305.05126 as the weight-tying paper's code uses it
(table 5).  With its eigenvectors Q and eigenvalues the omnibus matrix gives each token two places
Z = Q |Lambda|^(1/2), one for each graph.  The distance depends on the eigenvectors only by the
spaces they span, so neither their signs nor their choice among equal eigenvalues matter.  Only
where the cut after the last component falls among equal magnitudes is there a choice: it is not
left to chance, but all of them are kept with the share that the cut leaves to them, the average
over all choices.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.devices import full_float32, has_float64, pick_device
from embtie_widgets.measures.eigen import TIED, TOLERANCE, Eigenpairs, largest_pairs
from embtie_widgets.measures.graphs import Graph, Omnibus, neighbour_graph
from embtie_widgets.measures.hashes import watched
from embtie_widgets.measures.matrices import as_matrix, check_heights, survey
from embtie_widgets.measures.neighbours import neighbour_lists
from embtie_widgets.measures.participants import check_k, usable_rows
from embtie_widgets.measures.pausing import Remembered
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.alignment import Vector
from embtie_widgets.results.spectral import SpectralDistance


def spectral_distance(
    x: Any,
    y: Any,
    k: int = 64,
    components: int = 128,
    *,
    floor: bool = True,
    seed: int = 0,
    device: str = "auto",
    progress: Progress = silent,
) -> SpectralDistance:
    """How far apart the neighbour graphs of x (V, d1) and y (V, d2) are: 0 for equal ones.

    Each graph joins a row with the k rows of largest cosine, uncentred; the distance is that of
    the two halves of their omnibus embedding in `components` dimensions.  Beside it stands the
    floor: the same with the rows of y permuted by `seed`, which costs one more solution.  Rows
    that are zero or not finite in x or y take no part.  Source: weight-tying paper, table 5.
    """
    matrices = {"x": as_matrix(x, "x"), "y": as_matrix(y, "y")}
    check_heights(matrices)
    usable, left_out = usable_rows(list(matrices.values()), progress=progress)
    used = int(usable.sum())
    check_k(k, used, left_out)
    _check_components(components, used)
    place = (usable.cumsum(0) - 1).numpy()
    lists, duplicates = {}, {}
    for name, matrix in matrices.items():
        found = neighbour_lists(matrix, k, usable=usable, device=device, progress=progress)
        lists[name] = place[found.rows[usable.numpy()]]
        duplicates[name] = int(found.duplicates.sum())
    result = omnibus_distance(
        lists["x"],
        lists["y"],
        components,
        floor=floor,
        seed=seed,
        device=device,
        progress=progress,
    )
    rows = {"rows": len(usable), "rows_left_out": left_out, "duplicates": duplicates}
    norms = {name: survey(matrix)[0] for name, matrix in matrices.items()}
    hashes = watched({"x": x, "y": y}, norms)
    return replace(result, settings=result.settings | rows, hashes=hashes)


def omnibus_distance(
    first: Vector,
    second: Vector,
    components: int = 128,
    *,
    floor: bool = True,
    seed: int = 0,
    device: str = "auto",
    progress: Progress = silent,
) -> SpectralDistance:
    """The spectral distance of two graphs given as neighbour lists (n, k) of the same n rows.

    Row numbers count from 0 to n - 1; -1 stands for no neighbour.
    """
    where = pick_device(device)
    where = where if has_float64(where) else torch.device("cpu")
    first, second = np.asarray(first), np.asarray(second)
    if len(first) != len(second):
        raise EmbtieError(
            f"The neighbour lists are of {len(first)} and {len(second)} rows.",
            "Make both of the same rows.",
        )
    _check_components(components, len(first))
    said = Remembered(progress)
    graphs = [_graph(lists, where, said) for lists in (first, second)]
    solve = _Solver(components, where, seed, said)
    distance, pairs = solve(*graphs)
    chance = None
    if floor:
        chance, _ = solve(graphs[0], _graph(_permuted(second, seed), where, said))
    magnitudes = pairs.values.abs()
    return SpectralDistance(
        distance=distance,
        floor=chance,
        eigenvalues=pairs.values[:components].numpy().copy(),
        settings={
            "k": first.shape[1],
            "components": components,
            "rows_used": len(first),
            "seed": seed,
            "equal_graphs": graphs[0].same(graphs[1]),
            "tied_at_cut": int((magnitudes <= magnitudes[components - 1] * (1 + TIED)).sum())
            if len(magnitudes) > components
            else 0,
            "tolerance": TOLERANCE,
            "residual": pairs.residual,
            "products": pairs.products,
            "arithmetic": pairs.arithmetic,
            "device": where.type,
        },
    )


def _graph(lists: Vector, device: torch.device, said: Remembered) -> Graph:
    said("joining neighbours", 0, 1)
    return neighbour_graph(lists, device, said.again)


class _Solver:
    """Distances of pairs of graphs, all with the same settings."""

    def __init__(self, components: int, device: torch.device, seed: int, said: Remembered) -> None:
        self._components, self._device = components, device
        self._seed, self._said = seed, said

    def __call__(self, first: Graph, second: Graph) -> tuple[float, Eigenpairs]:
        """The distance, and the eigenpairs that it comes from."""
        omnibus = Omnibus(first, second, self._said.again)
        with full_float32():
            pairs = largest_pairs(
                omnibus,
                len(omnibus),
                self._components,
                device=self._device,
                seed=self._seed,
                progress=self._said,
            )
        if first.same(second):
            return 0.0, pairs
        if not pairs.settled:
            raise EmbtieError(
                f"The cut after {self._components} components falls among more than "
                f"{len(pairs.values) - self._components} equal eigenvalues, so the distance is "
                "not defined.",
                "Choose another number of components.",
            )
        return _distance(pairs, self._components), pairs


def _distance(pairs: Eigenpairs, components: int) -> float:
    """|Z1 - Z2|_2 / min(|Z1|_2, |Z2|_2) of the two halves of Z = Q |Lambda|^(1/2)."""
    sizes = _shares(pairs.values.abs(), components).sqrt()
    places = pairs.vectors * sizes.to(pairs.vectors.device)
    n = len(places) // 2
    first, second = places[:n], places[n:]
    smaller = min(_spectral_norm(first), _spectral_norm(second))
    return _spectral_norm(first - second) / smaller


def _shares(magnitudes: torch.Tensor, components: int) -> torch.Tensor:
    """The magnitudes, those that the cut falls among weighted by the share that it takes."""
    tied = magnitudes <= magnitudes[components - 1] * (1 + TIED)
    share = (components - int((~tied).sum())) / int(tied.sum())
    return torch.where(tied, share * magnitudes, magnitudes)


def _spectral_norm(places: torch.Tensor) -> float:
    squares = torch.linalg.eigvalsh(places.T @ places)
    return float(squares[-1].clamp_min(0).sqrt())


def _permuted(lists: Vector, seed: int) -> Vector:
    """The lists of the same graph with its rows in another order."""
    order = torch.randperm(len(lists), generator=torch.Generator().manual_seed(seed)).numpy()
    renamed = np.where(lists >= 0, order[lists], -1)
    moved = np.empty_like(renamed)
    moved[order] = renamed
    return moved


def _check_components(components: int, rows: int) -> None:
    if (
        isinstance(components, bool)
        or not isinstance(components, int)
        or not (1 <= components <= 2 * rows)
    ):
        raise EmbtieError(
            f"components is {components!r}; expected a whole number from 1 to {2 * rows}, twice "
            f"the {rows} rows that take part.",
            "Choose fewer.",
        )
