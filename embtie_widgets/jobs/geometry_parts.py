"""What a comparison of geometries is made of, each part measured once and kept for later runs."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs.pairs import OpenPair, recent_pair
from embtie_widgets.jobs.parts import kept_part, known_part, part_key
from embtie_widgets.measures.alignment import COMPARISONS
from embtie_widgets.measures.geometry import pair_geometry
from embtie_widgets.measures.neighbours import neighbour_lists, sampled_rows
from embtie_widgets.measures.omnibus import omnibus_distance
from embtie_widgets.measures.participants import usable_rows
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests.geometry import GeometryRequest
from embtie_widgets.results.neighbours import NeighbourLists
from embtie_widgets.results.spectra import MatrixGeometry, SpaceComparison
from embtie_widgets.results.spectral import SpectralDistance
from embtie_widgets.results.storage import storable
from embtie_widgets.sources.kept import keeps

Vector = np.ndarray[Any, np.dtype[Any]]
Names = tuple[str, str]
_GRAPHS = ("cosine", False)


@dataclass(frozen=True)
class Rows:
    """The tokens that take part in a search, and how many do not, by reason."""

    mask: torch.Tensor
    left_out: dict[str, int]

    @cached_property
    def places(self) -> Vector:
        """Their places, rising."""
        return np.flatnonzero(self.mask.numpy())

    @cached_property
    def name(self) -> str:
        """Which tokens they are: what has to do with them is kept under it."""
        return hashlib.sha256(self.mask.numpy().tobytes()).hexdigest()


@storable
@dataclass(frozen=True)
class Wholes:
    """What is said of matrices by name, and of two of them by the comparison's name."""

    matrices: dict[str, MatrixGeometry]
    spaces: dict[str, SpaceComparison]


class Parts:
    """The parts of one request on the matrices of one pair."""

    def __init__(
        self, request: GeometryRequest, pair: OpenPair, progress: Progress = silent
    ) -> None:
        self.request, self.pair, self._progress = request, pair, progress
        self._rows: dict[tuple[str, bool], Rows] = {}
        self._found: dict[str, NeighbourLists] = {}
        self._asked: set[str] = set()
        self._made: set[str] = set()
        self.failures: list[str] = []

    @cached_property
    def values(self) -> dict[str, torch.Tensor]:
        """The matched rows of every matrix, (n, d) each."""
        return self.pair.roles.values(self._progress)

    @cached_property
    def wanted(self) -> dict[str, Names]:
        """The comparisons that these matrices allow, each with the two it is of."""
        return {n: two for n, two in COMPARISONS.items() if self.values.keys() >= set(two)}

    @property
    def rows(self) -> Rows:
        """The tokens that take part in the neighbours that the request asks for."""
        return self._taking_part(self.request.metric, self.request.center)

    @cached_property
    def lists(self) -> dict[str, NeighbourLists]:
        """The neighbours that the request asks for, by matrix; longer lists than that where the
        graphs are made of the same."""
        asked = self.request
        how = (asked.metric, asked.center)
        k = max(asked.k, asked.spectral_k) if self.graphs and how == _GRAPHS else asked.k
        return {name: self._lists(name, k, how, self._queries()) for name in self.values}

    @property
    def graphs(self) -> bool:
        """Whether graphs are asked for, and there are tokens enough for them."""
        enough = self.request.spectral_k < len(self._taking_part(*_GRAPHS).places)
        return self.request.spectral and enough

    def spectral(self, names: Names) -> SpectralDistance | None:
        """The omnibus distance of two graphs of neighbours; None where these have none, and why
        that is among the `failures`."""
        asked = self.request
        # The third matrix may take tokens out of the graphs of these two.
        facts = {
            "k": asked.spectral_k,
            "components": asked.components,
            "seed": asked.seed,
            "rows": self._taking_part(*_GRAPHS).name,
        }
        both = " and ".join(names)

        def make() -> Any:
            self._progress(f"comparing graphs: {both}", 0, 1)
            first, second = (self._graph(name) for name in names)
            return omnibus_distance(
                first,
                second,
                asked.components,
                seed=asked.seed,
                device=asked.device,
                progress=self._saying(both),
            )

        try:
            found: SpectralDistance = self._kept("omnibus", names, facts, make)
        except Interrupted:
            raise
        except EmbtieError as error:
            said = f"{error.message} {error.hint}"
            self.failures.append(f"No spectral distance of {names[0]} and {names[1]}: {said}")
            return None
        return found

    @cached_property
    def wholes(self) -> Wholes:
        """What is said of every matrix as a whole, and of every two; nothing where that is not
        asked for."""
        if not self.request.spaces:
            return Wholes({}, {})
        asked, names = self.request, tuple(self.values)
        facts = {"center": asked.center, "top": asked.top, "seed": asked.seed}

        def make() -> Wholes:
            matrices, spaces = pair_geometry(
                self.values,
                list(self.wanted.values()),
                asked.center,
                top=asked.top,
                seed=asked.seed,
                device=asked.device,
                progress=self._progress,
            )
            return Wholes(
                {name: self._named(one, (name,)) for name, one in matrices.items()},
                {n: self._named(spaces[two], two) for n, two in self.wanted.items()},
            )

        found: Wholes = self._kept("wholes", names, facts, make)
        return found

    def _named(self, value: Any, names: tuple[str, ...]) -> Any:
        """The result with the hashes of the matrices as they are stored in every part of it."""
        hashes = {name: self.pair.roles.hashes[name] for name in names}
        changed = {
            part.name: hashes if part.name == "hashes" else self._named(inner, names)
            for part in fields(value)
            if is_dataclass(inner := getattr(value, part.name)) or part.name == "hashes"
        }
        return replace(value, **changed)

    def _kept(
        self, what: str, names: tuple[str, ...], facts: dict[str, Any], make: Callable[[], Any]
    ) -> Any:
        return self._part(part_key(what, self.pair.roles, names, facts), make)

    def _part(
        self, key: str, make: Callable[[], Any], serves: Callable[[Any], bool] = lambda found: True
    ) -> Any:
        """The part that is kept, else a new one, with a note of which of the two it was."""

        def new() -> Any:
            self._made.add(key)
            return make()

        self._asked.add(key)
        return kept_part(key, new, serves)

    def are_new(self) -> bool:
        """Whether every part so far was made for this request: then its time tells the speed."""
        return self._asked == self._made

    def _taking_part(self, metric: str, center: bool) -> Rows:
        how = (metric, center)
        if how not in self._rows:
            matrices = list(self.values.values())
            self._rows[how] = Rows(*usable_rows(matrices, metric, center, self._progress))
        return self._rows[how]

    def _queries(self) -> Vector | None:
        """The tokens that are asked, rising; None for all."""
        if not 0 < self.request.sample < len(self.rows.places):
            return None
        found: Vector = sampled_rows(self.rows.mask, self.request.sample, self.request.seed)
        return found

    def _lists(
        self, name: str, k: int, how: tuple[str, bool], queries: Vector | None
    ) -> NeighbourLists:
        """The lists of one matrix: those kept if they are long enough, else new ones, which are
        kept if they are of every token."""
        metric, center = how
        rows = self._taking_part(metric, center)
        facts = {"metric": metric, "center": center, "rows": rows.name}
        key = part_key("neighbours", self.pair.roles, (name,), facts)

        def make(asked: Vector | None = None) -> NeighbourLists:
            return neighbour_lists(
                self.values[name],
                k,
                metric,
                center,
                queries=asked,
                usable=rows.mask,
                device=self.request.device,
                progress=self._saying(name),
            )

        def is_long_enough(found: NeighbourLists) -> bool:
            return bool(found.rows.shape[1] >= k)

        if queries is None:
            # Every graph asks again, and there may be no cache to ask.
            if key not in self._found or not is_long_enough(self._found[key]):
                self._found[key] = self._part(key, make, is_long_enough)
            return self._found[key]
        whole: NeighbourLists | None = known_part(key)
        if whole is None or not is_long_enough(whole):
            return make(queries)
        self._asked.add(key)
        return replace(whole, rows=whole.rows[queries], queries=queries)

    def _graph(self, name: str) -> Vector:
        """(n, spectral_k) the neighbours of the tokens that take part, counted among these."""
        lists = self._lists(name, self.request.spectral_k, _GRAPHS, None)
        usable = lists.usable
        place = np.cumsum(usable) - 1
        return place[lists.rows[usable, : self.request.spectral_k]]

    def _saying(self, what: str) -> Progress:
        """The progress, with what is being measured in every stage."""
        return lambda stage, done, total: self._progress(f"{stage}: {what}", done, total)


_last: list[tuple[OpenPair, dict[tuple[str, bool], Rows]]] = []


keeps(_last.clear)


def recent_parts(request: GeometryRequest) -> Parts:
    """The parts for quick questions about a request, with what the last one has found out about
    rows; matrices are not held for them."""
    pair = recent_pair(request)
    parts = Parts(request, pair)
    for held, rows in _last:
        if held is pair:
            parts._rows = rows
    _last[:] = [(pair, parts._rows)]
    return parts
