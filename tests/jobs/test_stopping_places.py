"""Work can be called off soon: what is done between two reports does not grow with the matrices.

Work is counted, not timed: the numbers that each operation of torch reads and writes, and the
multiplications of its products.  Factorisations cannot be cut; they stand in stages of their own.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled
from embtie_widgets.jobs import geometry
from embtie_widgets.measures import axes, graphs, matrices, pausing
from embtie_widgets.measures.geometry import pair_geometry
from embtie_widgets.measures.graphs import neighbour_graph
from embtie_widgets.measures.krylov import turn_rows
from embtie_widgets.measures.nearest_lists import exact_lists
from embtie_widgets.measures.participants import first_equals
from embtie_widgets.measures.points import points_of
from embtie_widgets.requests import AlignRequest, GeometryRequest, ModelRef
from embtie_widgets.sources.tokens import read_vocabulary

FACTORS = ("linalg_qr", "linalg_inv", "_linalg_")
SMALL = 128 * 128  # such a one takes a few milliseconds
WHOLE = ("eigenvectors of", "singular values of", "directions of")


class Counted(TorchDispatchMode):
    """What was done since the last report, and the most of any such time, with its stage."""

    def __init__(self) -> None:
        super().__init__()
        self.stage, self.numbers, self.products = "", 0, 0
        self.longest: list[tuple[int, str]] = []
        self.largest: list[tuple[int, str]] = []
        self.factors: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        name = func.name().removeprefix("aten::")
        if name.startswith(FACTORS):
            size = max(one.numel() for one in _tensors(args))
            self.factors |= {self.stage} if size > SMALL else set()
            return found
        if not func.is_view:
            read = found if name.startswith("index") else (args, found)
            self.numbers += sum(one.numel() for one in _tensors(read))
        if name in ("mm", "bmm", "addmm") or name.startswith(("mm.", "bmm.", "addmm")):
            *left, right = [one for one in _tensors(args) if one.ndim > 1][-2:]
            self.products += sum(one.numel() * right.shape[-1] for one in left)  # none: sparse
        return found

    def progress(self, stage: str, _done: int, _total: int) -> None:
        between = f"{self.stage} -> {stage}"
        self.longest.append((self.numbers, between))
        self.largest.append((self.products, between))
        self.stage, self.numbers, self.products = stage, 0, 0


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor) and value.layout == torch.strided:
        yield value
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _tensors(inner)


def folder_of(folder: Path, rows: int, width: int) -> dict[str, ModelRef]:
    """Both models of a pair whose tokens stand in opposite orders, so that rows are gathered."""
    generator = torch.Generator().manual_seed(rows)
    folder.mkdir()
    for name in ("e", "u", "w"):
        np.save(folder / f"{name}.npy", torch.randn(rows, width, generator=generator).numpy())
    tokens = [f"t{row}" for row in range(rows)]
    (folder / "a.txt").write_text("\n".join(tokens) + "\n")
    (folder / "b.txt").write_text("\n".join(tokens[::-1]) + "\n")
    a = ModelRef(str(folder / "e.npy"), None, str(folder / "u.npy"), str(folder / "a.txt"))
    return {"a": a, "b": ModelRef(str(folder / "w.npy"), None, None, str(folder / "b.txt"), True)}


GEOMETRY: dict[str, Any] = {"sample": 32, "k": 4, "spectral": False, "top": 4}
REQUESTS = {
    "neighbours and spectra": (GeometryRequest, GEOMETRY),
    "centred": (GeometryRequest, {**GEOMETRY, "center": True, "spaces": False}),
    "distances": (GeometryRequest, {**GEOMETRY, "metric": "euclidean", "spaces": False}),
    "alignment": (AlignRequest, {"map": "linear"}),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_twice_as_many_tokens_make_no_wait_longer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    monkeypatch.setattr(axes, "_DIRECT_UP_TO", 0)
    # The identity check is of a few hundred rows whatever the matrix, and would hide the others.
    monkeypatch.setattr(geometry, "self_geometry", lambda *_: {})
    kind, options = REQUESTS[name]
    most = []
    for rows in (6000, 12_000):
        pair = folder_of(tmp_path / str(rows), rows, 64)
        with Counted() as counted:
            ew.run(kind(**pair, **options), progress=counted.progress)
        most.append(max(counted.longest))
    (before, _), (after, where) = most
    assert after < 1.5 * before, where


def test_products_are_cut_where_they_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 4_000_000
    monkeypatch.setattr(pausing, "_AT_ONCE", most)
    monkeypatch.setattr(axes, "_DIRECT_UP_TO", 0)
    x, y = torch.randn(2, 5000, 160, generator=torch.Generator().manual_seed(0))
    with Counted() as counted:
        pair_geometry({"x": x, "y": y}, [("x", "y")], progress=counted.progress)
    work, where = max(counted.largest)
    # A single column of a product cannot be cut, and two products may lie between two reports.
    assert work <= 2 * (most + matrices.BLOCK * 160), where
    whole = [stage for stage in counted.factors if not stage.startswith(WHOLE)]
    assert whole == []


def test_cut_products_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = torch.randn(2, 700, 90, generator=torch.Generator().manual_seed(1)).double()
    values = {"x": x, "y": y}
    whole, spaces = pair_geometry(values, [("x", "y")])
    monkeypatch.setattr(pausing, "_AT_ONCE", 1e6)
    cut, cut_spaces = pair_geometry(values, [("x", "y")])
    for name in values:
        then, now = whole[name], cut[name]
        np.testing.assert_allclose(
            now.spectrum.singular_values, then.spectrum.singular_values, rtol=1e-12
        )
        assert now.isotropy.value == pytest.approx(then.isotropy.value, rel=1e-10)
    then, now = spaces["x", "y"], cut_spaces["x", "y"]
    assert now.cka.value == pytest.approx(then.cka.value, rel=1e-12)
    assert now.tokens.mean == pytest.approx(then.tokens.mean, rel=1e-9)


def test_a_graph_multiplies_in_parts_and_gives_the_very_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n, k = 500, 6
    rng = np.random.default_rng(0)
    lists = (np.arange(n)[:, None] + rng.integers(1, n, (n, k))) % n
    block = torch.randn(n, 16, generator=torch.Generator().manual_seed(0))
    graph = neighbour_graph(lists, torch.device("cpu"))
    whole = graph.times(block)
    monkeypatch.setattr(graphs, "_MULTIPLIED", len(graph.columns) // 10)
    pauses: list[int] = []
    parts = neighbour_graph(lists, torch.device("cpu")).times(block, lambda: pauses.append(1))
    assert len(pauses) >= 10
    assert torch.equal(parts, whole)


def test_a_row_with_more_edges_than_a_part_holds_stands_in_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n = 40
    star = np.zeros((n, 1), np.int64)
    star[0] = -1
    monkeypatch.setattr(graphs, "_MULTIPLIED", 3)
    graph = neighbour_graph(star, torch.device("cpu"))
    expected = torch.zeros(n, n)
    expected[0, 1:] = expected[1:, 0] = 0.5
    assert torch.equal(graph.times(torch.eye(n)), expected)


def test_a_basis_is_turned_with_a_pause_every_few_thousand_rows() -> None:
    pauses: list[int] = []
    turn_rows(torch.randn(30_000, 4), torch.eye(4), lambda: pauses.append(1))
    assert len(pauses) >= 3


def test_copies_of_one_row_are_compared_in_blocks() -> None:
    x = torch.zeros(3 * matrices.BLOCK, 4)
    x[5] = 1
    x[-1, 0] = -0.0
    done: list[int] = []
    usable = torch.ones(len(x), dtype=torch.bool)
    first = first_equals(x, usable, lambda _stage, part, _total: done.append(part))
    assert len(done) >= 6
    assert first[5] == 5
    assert set(first.tolist()) == {0, 5}


def test_a_row_is_looked_at_in_pieces_where_all_values_count() -> None:
    x = torch.randn(5000, 512, generator=torch.Generator().manual_seed(0))
    points = points_of(x, torch.ones(5000, dtype=torch.bool), "cosine", False)
    with Counted() as counted:
        exact_lists(points, 3, torch.arange(2), counted.progress)
    assert max(counted.longest)[0] < 1.5 * x.numel()


def test_a_long_list_of_tokens_says_how_far_it_is_and_can_be_called_off() -> None:
    done: list[int] = []
    tokens = [f"t{row}" for row in range(200_000)]
    read_vocabulary(tokens, lambda _stage, part, _total: done.append(part))
    assert len(done) >= 5

    def stop(_stage: str, part: int, _total: int) -> None:
        if part:
            raise Cancelled

    with pytest.raises(Cancelled):
        read_vocabulary({token: row for row, token in enumerate(tokens)}, stop)
