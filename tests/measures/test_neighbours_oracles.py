"""Neighbour lists against independent searches: exact fractions, scikit-learn, faiss, float64."""

import json
from fractions import Fraction

import numpy as np
import pytest
import torch
from gguf import GGUFReader, quants
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import embtie_widgets as ew
from embtie_widgets.measures.neighbours import neighbour_lists

CASES = [(m, c) for m in ("cosine", "euclidean") for c in (False, True)]


def exact_order(x, row, metric, center):
    """The other rows of a small matrix of whole numbers, by exact fractions, the lower row first
    where they are equally near; None where the row takes no part."""
    x = [[int(v) for v in line] for line in x]
    n, d = len(x), len(x[0])
    if center:
        sums = [sum(line[j] for line in x) for j in range(d)]
        x = [[n * line[j] - sums[j] for j in range(d)] for line in x]
    squares = [sum(v * v for v in line) for line in x]
    others = [j for j in range(n) if j != row and (metric == "euclidean" or squares[j])]
    if metric == "cosine" and not squares[row]:
        return None

    def farness(j):
        if metric == "euclidean":
            return sum((a - b) ** 2 for a, b in zip(x[row], x[j], strict=True))
        dot = sum(a * b for a, b in zip(x[row], x[j], strict=True))
        return -Fraction(dot * abs(dot), squares[j])

    return sorted(others, key=farness)


@pytest.mark.parametrize(("metric", "center"), CASES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_small_whole_numbers_are_ordered_as_exact_fractions_are(metric, center, data):
    shape = (data.draw(st.integers(2, 12)), data.draw(st.integers(1, 3)))
    x = data.draw(arrays(np.int64, shape, elements=st.integers(-3, 3)))
    orders = [exact_order(x, row, metric, center) for row in range(len(x))]
    taking = [order for order in orders if order is not None]
    if not taking or not taking[0]:
        return
    k = data.draw(st.integers(1, len(taking[0])))
    found = neighbour_lists(x.astype(np.float64), k, metric, center)
    for row, order in enumerate(orders):
        assert found.rows[row].tolist() == ([-1] * k if order is None else order[:k])


@pytest.mark.parametrize(("metric", "center"), CASES)
@pytest.mark.parametrize(("rows", "width", "k"), [(2, 3, 1), (67, 3, 10), (2500, 40, 10)])
def test_they_are_those_of_scikit_learn(normal, metric, center, rows, width, k):
    from sklearn.neighbors import NearestNeighbors

    x = normal(rows, width).float() + 1
    y = x.double().numpy() - (x.double().numpy().mean(0) if center else 0)
    search = NearestNeighbors(n_neighbors=k, algorithm="brute", metric=metric).fit(y)
    expected = search.kneighbors(return_distance=False)
    np.testing.assert_array_equal(neighbour_lists(x, k, metric, center).rows, expected)


@pytest.mark.parametrize("k", [64, 1000])
def test_long_lists_are_those_of_a_full_table(normal, k):
    x = normal(2300, 24).float()
    unit = torch.nn.functional.normalize(x.double(), dim=1)
    table = (unit @ unit.T).fill_diagonal_(-2)
    expected = table.sort(1, descending=True).indices[:, :k]
    np.testing.assert_array_equal(neighbour_lists(x, k).rows, expected.numpy())


def test_they_are_those_of_faiss(normal):
    import faiss

    x = torch.nn.functional.normalize(normal(5000, 64).float(), dim=1).numpy()
    index = faiss.IndexFlatIP(64)
    index.add(x)
    _, found = index.search(x, 11)
    ours = neighbour_lists(x, 10).rows
    same = [set(line) - {i} == set(ours[i]) for i, line in enumerate(found.tolist())]
    assert np.mean(same) > 0.999  # faiss ranks by float32


def nano_roles(shared, name):
    untied = ew.load(str(shared / "models" / "nano-untied"))
    tied = ew.load(str(shared / "models" / name))
    return {"input": untied.input, "output": untied.output, "tied": tied.input}


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("nano-tied", "input", "output"),
        ("nano-tied", "output", "tied"),
        ("nano-tied-x5", "input", "tied"),
        ("nano-tied-x5", "output", "tied"),
    ],
)
def test_the_nano_models_have_their_reference_overlap(shared, name, first, second):
    known = json.loads((shared / "data" / "nano_reference_values.json").read_text())
    matrices = nano_roles(shared, name)
    found = ew.knn_overlap(matrices[first], matrices[second])
    expected = known[f"{name} | {first}->{second}"]["knn10 oracle"]
    assert found.mean == pytest.approx(expected, abs=1e-12)


def test_neighbours_in_a_real_model_are_those_of_float64(smollm2):
    stored = next(t for t in GGUFReader(smollm2).tensors if t.name == "token_embd.weight")
    x = torch.from_numpy(quants.dequantize(stored.data[::4], stored.tensor_type))
    asked = np.arange(5, len(x), 97)
    found = neighbour_lists(x, 10, queries=asked)
    unit = torch.nn.functional.normalize(x.double(), dim=1)
    near = unit[asked] @ unit.T
    near[torch.arange(len(asked)), asked] = -2
    reached = near.gather(1, torch.from_numpy(found.rows).long())  # some of its rows are equal
    np.testing.assert_allclose(reached, near.topk(10).values, rtol=0, atol=1e-14)
