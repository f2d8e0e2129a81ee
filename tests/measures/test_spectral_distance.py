"""Spectral distance against eigsh on the omnibus matrix written out, and planted graphs."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import eigsh

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.measures import eigen
from embtie_widgets.measures.omnibus import omnibus_distance


def nearest(x, k):
    """Cosine neighbours by brute force."""
    x = torch.nn.functional.normalize(torch.as_tensor(x).double(), dim=1)
    cosines = (x @ x.T).fill_diagonal_(-2)
    return cosines.topk(k).indices.numpy()


def adjacency(lists):
    n, k = lists.shape
    whose = np.repeat(np.arange(n), k)
    listed = sp.csr_matrix((np.ones(n * k), (whose, lists.ravel())), (n, n))
    return (listed + listed.T) / 2


def oracle(first, second, components):
    """The distance, and the eigenvalues by magnitude, of the omnibus matrix written out."""
    a, b = adjacency(first), adjacency(second)
    whole = sp.bmat([[a, (a + b) / 2], [(a + b) / 2, b]], format="csr")
    if components >= whole.shape[0] - 1:
        values, vectors = np.linalg.eigh(whole.toarray())
    else:
        values, vectors = eigsh(whole, k=components, which="LM")
    order = np.argsort(-abs(values), kind="stable")[:components]
    places = vectors[:, order] * np.sqrt(abs(values[order]))
    one, two = np.split(places, 2)
    norms = np.linalg.norm(one, 2), np.linalg.norm(two, 2)
    return np.linalg.norm(one - two, 2) / min(norms), values[order]


@pytest.fixture
def clustered(normal):
    """Rows around some centres of their own, the clusters of unequal size."""

    def draw(rows, width, clusters):
        sizes = torch.rand(clusters, generator=torch.Generator().manual_seed(clusters)) + 0.1
        member = torch.multinomial(
            sizes, rows, replacement=True, generator=torch.Generator().manual_seed(rows + width)
        )
        return 2 * normal(clusters, width)[member] + normal(rows, width)

    return draw


@pytest.fixture
def large_work(monkeypatch):
    """Small work goes the way of large work: iterated, in float32."""
    monkeypatch.setattr(eigen, "_EXACT_UP_TO", 0)


@pytest.mark.parametrize(("rows", "components"), [(300, 16), (300, 128), (40, 80), (1500, 24)])
def test_random_matrices_give_what_eigsh_gives(normal, rows, components):
    x, y = normal(rows, 20), normal(rows, 12)
    found = ew.spectral_distance(x, y, 8, components, floor=False)
    distance, values = oracle(nearest(x, 8), nearest(y, 8), components)
    assert found.distance == pytest.approx(distance, abs=1e-6)
    np.testing.assert_allclose(abs(found.eigenvalues), abs(values), atol=1e-6)


@pytest.mark.usefixtures("large_work")
@pytest.mark.parametrize("related", [True, False])
def test_float32_products_give_what_eigsh_gives(clustered, normal, related):
    x = clustered(2000, 24, 30)
    y = x + 0.5 * normal(2000, 24) if related else clustered(2000, 32, 25)
    first, second = nearest(x, 20), nearest(y, 20)
    found = omnibus_distance(first, second, 32, floor=False)
    assert found.settings["arithmetic"] == "float32"
    distance, values = oracle(first, second, 32)
    assert found.distance == pytest.approx(distance, abs=1e-6)
    np.testing.assert_allclose(found.eigenvalues, values, atol=1e-5)


@pytest.mark.usefixtures("large_work")
def test_the_reference_values_of_the_nano_models_are_met(shared):
    values = json.loads((shared / "data" / "nano_reference_values.json").read_text())
    untied = ew.load(shared / "models" / "nano-untied")
    matrices = {"input": untied.input, "output": untied.output}
    found = {name: nearest(matrix, 64) for name, matrix in matrices.items()}
    for tied in ("nano-tied", "nano-tied-x5"):
        found["tied"] = nearest(ew.load(shared / "models" / tied).input, 64)
        for pair in (("input", "output"), ("output", "tied"), ("input", "tied")):
            if pair == ("input", "output") and tied != "nano-tied":
                continue
            expected = values[f"{tied} | {'->'.join(pair)}"]
            distance = omnibus_distance(*(found[name] for name in pair), floor=False).distance
            assert distance == pytest.approx(
                expected["spectral distance authors k=64 d=128"], abs=1e-4
            )


def test_two_isotropic_clouds_and_two_clustered_ones_have_their_known_distances(normal, clustered):
    isotropic = ew.spectral_distance(normal(1500, 64), normal(1500, 64), floor=False)
    apart = ew.spectral_distance(clustered(1500, 64, 20), clustered(1500, 48, 30), floor=False)
    assert 0.25 < isotropic.distance < 0.45
    assert apart.distance > 2 * isotropic.distance


@pytest.mark.parametrize("rows", [200, 1500])
def test_a_matrix_is_at_no_distance_from_itself_however_scaled_or_turned(normal, rotation, rows):
    x = normal(rows, 16)
    assert ew.spectral_distance(x, x, 10, 16, floor=False).distance == 0
    turned = ew.spectral_distance(x, 3 * x @ rotation(16), 10, 16, floor=False)
    assert turned.distance == 0
    assert turned.settings["equal_graphs"]


def test_the_order_of_the_two_matrices_does_not_matter(clustered):
    x, y = clustered(900, 16, 12), clustered(900, 20, 9)
    there = ew.spectral_distance(x, y, 10, 24, floor=False).distance
    back = ew.spectral_distance(y, x, 10, 24, floor=False).distance
    assert there == pytest.approx(back, abs=1e-7)


def test_rows_in_another_order_in_both_matrices_change_nothing(clustered):
    x, y = clustered(900, 16, 12), clustered(900, 20, 9)
    order = torch.randperm(900, generator=torch.Generator().manual_seed(1))
    plain = ew.spectral_distance(x, y, 10, 24, floor=False).distance
    moved = ew.spectral_distance(x[order], y[order], 10, 24, floor=False).distance
    assert plain == pytest.approx(moved, abs=1e-7)


def test_the_floor_is_the_distance_to_the_second_graph_with_its_rows_permuted(clustered):
    x = clustered(700, 16, 12)
    found = ew.spectral_distance(x, x, 10, 24, seed=3)
    order = torch.randperm(700, generator=torch.Generator().manual_seed(3))
    moved = torch.empty_like(x)
    moved[order] = x
    expected, _ = oracle(nearest(x, 10), nearest(moved, 10), 24)
    assert found.distance == 0
    assert found.floor == pytest.approx(expected, abs=1e-6)
    assert ew.spectral_distance(x, x, 10, 24, floor=False).floor is None


@pytest.mark.usefixtures("large_work")
def test_neither_the_seed_nor_the_number_of_threads_changes_the_distance(clustered):
    lists = nearest(clustered(1200, 16, 20), 16), nearest(clustered(1200, 24, 25), 16)
    found = [omnibus_distance(*lists, 32, floor=False, seed=seed).distance for seed in range(4)]
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if threads > 1 else 2)
    try:
        found.append(omnibus_distance(*lists, 32, floor=False).distance)
    finally:
        torch.set_num_threads(threads)
    assert max(found) - min(found) < 1e-6


def dense(first, second):
    a, b = adjacency(first).toarray(), adjacency(second).toarray()
    return np.block([[a, (a + b) / 2], [(a + b) / 2, b]])


def average_distance(first, second, components):
    """What the cut among equal magnitudes gives on average: each of them with an equal share."""
    values, vectors = np.linalg.eigh(dense(first, second))
    order = np.argsort(-abs(values))
    values, vectors = abs(values[order]), vectors[:, order]
    last = values[components - 1]
    tied = np.isclose(values, last, rtol=1e-9)
    above = (values > last) & ~tied
    shares = np.where(above, 1.0, np.where(tied, (components - above.sum()) / tied.sum(), 0.0))
    one, two = np.split(vectors * np.sqrt(values * shares), 2)
    return np.linalg.norm(one - two, 2) / min(np.linalg.norm(one, 2), np.linalg.norm(two, 2))


def copies_of(normal, copies):
    """A pair of graphs of 40 rows several times over, unconnected: each eigenvalue so often."""
    pair = nearest(normal(40, 6), 8), nearest(normal(40, 9), 8)
    return [np.concatenate([lists + 40 * copy for copy in range(copies)]) for lists in pair]


@pytest.mark.usefixtures("large_work")
@pytest.mark.parametrize("copies", [3, 20])
def test_a_cut_among_equal_eigenvalues_takes_its_share_of_each(normal, copies):
    first, second = copies_of(normal, copies)
    components = 3 * copies + copies // 2
    found = omnibus_distance(first, second, components, floor=False)
    assert found.settings["tied_at_cut"] == copies
    assert found.distance == pytest.approx(average_distance(first, second, components), abs=1e-6)


def test_a_cut_among_more_equal_eigenvalues_than_can_be_followed_is_refused(normal):
    first, second = copies_of(normal, 60)
    with pytest.raises(EmbtieError, match="equal eigenvalues"):
        omnibus_distance(first, second, 3, floor=False)
    assert omnibus_distance(first, first, 3, floor=False).distance == 0


def test_graphs_in_pieces_give_what_eigsh_gives(normal):
    far = torch.eye(4, dtype=torch.float64).repeat_interleave(100, 0) * 50
    x, y = (torch.cat([far, normal(400, 8)], 1) for _ in range(2))
    found = ew.spectral_distance(x, y, 10, 20, floor=False)
    expected, _ = oracle(nearest(x, 10), nearest(y, 10), 20)
    assert found.distance == pytest.approx(expected, abs=1e-6)


def test_rows_that_are_zero_or_not_finite_on_one_side_take_no_part_on_both(normal):
    x, y = normal(200, 16), normal(200, 8)
    x[7, 3], y[9, 1], y[11] = float("nan"), float("inf"), 0
    found = ew.spectral_distance(x, y, 10, 16)
    clean = [row for row in range(200) if row not in (7, 9, 11)]
    expected = ew.spectral_distance(x[clean], y[clean], 10, 16)
    assert found.distance == pytest.approx(expected.distance, abs=1e-12)
    assert found.floor == pytest.approx(expected.floor, abs=1e-12)
    assert found.settings["rows_used"] == 197
    assert found.settings["rows_left_out"] == {"not finite": 2, "zero": 1}


def test_duplicates_are_kept_and_counted(normal):
    x, y = normal(150, 8), normal(150, 8)
    x[40:45] = x[3]
    found = ew.spectral_distance(x, y, 10, 16, floor=False)
    assert found.settings["duplicates"] == {"x": 6, "y": 0}
    assert 0 < found.distance < 2


@pytest.mark.parametrize(("change", "word"), [({"k": 50}, "k is 50"), ({"k": 0}, "k is 0")])
def test_a_k_that_the_rows_cannot_give_is_refused(normal, change, word):
    with pytest.raises(EmbtieError, match=word):
        ew.spectral_distance(normal(50, 8), normal(50, 8), components=4, **change)


@pytest.mark.parametrize("components", [0, -1, 101, 2.0, True])
def test_a_number_of_components_that_the_graph_does_not_have_is_refused(normal, components):
    with pytest.raises(EmbtieError, match="components is"):
        ew.spectral_distance(normal(50, 8), normal(50, 8), 5, components)


def test_matrices_of_unequal_heights_are_refused(normal):
    with pytest.raises(EmbtieError, match="x 50, y 49"):
        ew.spectral_distance(normal(50, 8), normal(49, 8), 5, 4)


@pytest.mark.parametrize(
    "lists", [[[1], [3], [0]], [[0], [2], [1]], [[-2], [0], [1]], [[0.5], [1.5], [2.5]], [1, 2, 0]]
)
def test_lists_that_are_no_neighbours_are_refused(lists):
    sound = np.array([[1], [2], [0]])
    with pytest.raises(EmbtieError, match="neighbour lists"):
        omnibus_distance(sound, np.array(lists), 2, floor=False)


def test_a_row_without_neighbours_stands_alone(normal):
    first, second = nearest(normal(50, 4), 5), nearest(normal(50, 4), 5)
    widened = [np.concatenate([lists, np.full((3, 5), -1)]) for lists in (first, second)]
    found = omnibus_distance(*widened, 12, floor=False)
    assert found.distance == pytest.approx(
        omnibus_distance(first, second, 12, floor=False).distance, abs=1e-9
    )


def test_progress_is_said_between_products_and_may_stop_the_work(clustered):
    lists = nearest(clustered(1000, 16, 20), 10), nearest(clustered(1000, 24, 25), 10)
    said = []
    omnibus_distance(
        *lists,
        16,
        floor=False,
        progress=lambda stage, done, total: said.append((stage, done, total)),
    )
    searching = [(done, total) for stage, done, total in said if stage == "finding eigenvectors"]
    assert len(searching) > 5
    assert searching == sorted(searching)
    assert all(done <= total for done, total in searching)

    def stop(stage, done, total):
        if len(said) == 3:
            raise Cancelled
        said.append(stage)

    said.clear()
    with pytest.raises(Cancelled):
        omnibus_distance(*lists, 16, floor=False, progress=stop)
    assert len(said) == 3


def test_a_search_that_does_not_converge_says_so(clustered, monkeypatch):
    monkeypatch.setattr(eigen, "_MOST_CYCLES", 1)
    lists = nearest(clustered(1000, 16, 20), 10), nearest(clustered(1000, 24, 25), 10)
    with pytest.raises(EmbtieError, match="did not converge"):
        omnibus_distance(*lists, 16, floor=False)


def test_the_result_prints_its_floor_and_survives_storage(normal):
    from embtie_widgets.results.storage import from_bytes, to_bytes

    x, y = normal(60, 8), normal(60, 8)
    found = ew.spectral_distance(x, y, 5, 4)
    assert f"{found.distance:.4f}, permuted {found.floor:.4f}" in repr(found)
    again = from_bytes(to_bytes(found))
    assert (again.distance, again.floor, again.settings) == (
        found.distance,
        found.floor,
        found.settings,
    )
    assert list(found.to_frame()["eigenvalue"]) == list(again.eigenvalues)
    assert set(found.hashes) == {"x", "y"}


@pytest.mark.gpu
def test_a_gpu_gives_what_the_cpu_gives(clustered):
    lists = nearest(clustered(1500, 16, 20), 16), nearest(clustered(1500, 24, 25), 16)
    here = omnibus_distance(*lists, 32, device="cpu").distance
    assert omnibus_distance(*lists, 32).distance == pytest.approx(here, abs=1e-6)
