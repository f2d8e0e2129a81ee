"""Signatures of sequences with labels, against their definition draw by draw."""

from itertools import permutations, product

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures import signatures
from embtie_widgets.measures.signatures import (
    cosines,
    gram,
    is_constant,
    pairs,
    pairs_correlation,
    principal_points,
    signature,
)

DRAWN = np.random.default_rng(0)
SEQUENCES = DRAWN.integers(3, 8, (60, 4))
LABELS = DRAWN.integers(-2, 2, 60)


def brute(order: int, labelled: bool = True) -> dict[tuple[int, ...], float]:
    """Probability by (anchor, label, tokens): each position and tuple of others once."""
    found: dict[tuple[int, ...], float] = {}
    total: dict[int, float] = {}
    for row, label in zip(SEQUENCES.tolist(), LABELS.tolist(), strict=True):
        for at, anchor in enumerate(row):
            total[anchor] = total.get(anchor, 0) + 1
            others = [i for i in range(4) if i != at]
            tuples = list(permutations(others, order))
            for chosen in tuples:
                key = (anchor, *([label] if labelled else []), *(row[i] for i in chosen))
                found[key] = found.get(key, 0) + 1 / len(tuples)
    return {key: value / total[key[0]] for key, value in found.items()}


@pytest.mark.parametrize(
    ("order", "labelled"), [(0, True), (1, True), (2, True), (1, False), (2, False)]
)
def test_every_entry_is_that_of_enumeration(order: int, labelled: bool) -> None:
    found = signature(SEQUENCES, LABELS if labelled else None, order)
    axes = [found.anchors, *([found.labels] if labelled else []), *[found.context] * order]
    right = np.zeros(found.values.shape)
    for key, value in brute(order, labelled).items():
        right[tuple(np.searchsorted(a, k) for a, k in zip(axes, key, strict=True))] = value
    np.testing.assert_allclose(found.values, right, atol=1e-15)


def test_rows_sum_to_1_and_a_context_summed_out_leaves_the_order_below() -> None:
    found = [signature(SEQUENCES, LABELS, order).values for order in range(3)]
    for values in found:
        np.testing.assert_allclose(values.reshape(len(values), -1).sum(1), 1)
    for above, below in zip(found[1:], found[:-1], strict=True):
        np.testing.assert_allclose(above.sum(-1), below, atol=1e-15)
        np.testing.assert_allclose(
            np.moveaxis(above, -1, -2 if above.ndim > 3 else -1).sum(-1), below
        )


def test_counts_are_the_places_of_an_anchor_and_chosen_anchors_are_those_rows() -> None:
    whole = signature(SEQUENCES, LABELS, 1)
    assert whole.counts.tolist() == np.bincount(SEQUENCES.ravel())[3:].tolist()
    some = signature(torch.tensor(SEQUENCES), torch.tensor(LABELS), 1, anchors=[6, 4])
    np.testing.assert_array_equal(some.values, whole.values[[3, 1]])
    assert (some.counts.tolist(), some.context.tolist()) == (
        whole.counts[[3, 1]].tolist(),
        whole.context.tolist(),
    )


def test_the_table_counted_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = signature(SEQUENCES, LABELS, 2).values
    monkeypatch.setattr(signatures, "_AT_ONCE", 1)
    np.testing.assert_array_equal(signature(SEQUENCES, LABELS, 2).values, whole)


def test_of_two_tokens_and_the_larger_label_the_closed_form_holds() -> None:
    """METHODS: with anchor "max", P(y | a) = (2y - 1) / N^2; of a token x, half of [y = x] + 1/2N
    over both tasks."""
    n = 6
    both = list(product(range(1, n + 1), repeat=2))
    rows = [[20, a, b] for a, b in both] + [[30, a, b] for a, b in both]
    labels = [max(s) for s in both] + [min(s) for s in both]
    found = signature(rows, labels, 0)
    y = np.arange(1, n + 1)
    by = dict(zip(found.anchors.tolist(), found.values, strict=True))
    np.testing.assert_allclose(by[20], (2 * y - 1) / n**2)
    np.testing.assert_allclose(by[30], (2 * (n - y) + 1) / n**2)
    for x in y:
        np.testing.assert_allclose(by[int(x)], 0.5 * (y == x) + 1 / (2 * n))


def test_the_public_name_gives_a_table_of_what_is_not_zero() -> None:
    frame = ew.signature([[1, 2], [2, 1]], [0, 1], 1).to_frame()
    assert frame.to_dict("list") == {
        "anchor": [1, 1, 2, 2], "label": [0, 1, 0, 1], "context_1": [2, 2, 1, 1],
        "probability": [0.5] * 4,
    }  # fmt: skip
    alone = ew.signature([[1, 2], [2, 1]], None, 1).to_frame()
    assert alone.to_dict("list") == {"anchor": [1, 2], "context_1": [2, 1], "probability": [1, 1]}


@pytest.mark.parametrize(
    ("sequences", "labels", "order", "said"),
    [
        ([[1, 2]], [0], 2, "at least 3 tokens"),
        ([[1, 2]], [0], 3, "order 3 is not known"),
        ([[1, 2]], [0], 1.0, "order 1.0 is not known"),
        ([[1, 2]], None, 0, "expected 1 to 2"),
        ([[1, 2]], [0, 1], 0, "2 labels for 1 sequences"),
        ([[1.5, 2]], [0], 0, "whole numbers"),
        ([[1, 2], [1]], [0, 1], 0, "ragged"),
        ([1, 2], [0, 1], 0, "sequences of one length"),
        ([[1] * 3, range(3_000, 3_003)] + [[i] * 3 for i in range(700)], [0] * 702, 2, "at most"),
    ],
)
def test_what_cannot_be_counted_is_told(
    sequences: object, labels: object, order: int, said: str
) -> None:
    with pytest.raises(EmbtieError, match=said):
        signature(sequences, labels, order)


def test_an_anchor_that_does_not_occur_is_told() -> None:
    with pytest.raises(EmbtieError, match="99 does not occur"):
        signature(SEQUENCES, LABELS, 0, anchors=[4, 99])


def test_the_correlation_over_pairs_is_that_of_numpy() -> None:
    rng = np.random.default_rng(1)
    e, s = rng.standard_normal((3, 9, 5)), rng.random((9, 7))
    one, other = cosines(gram(e)), cosines(gram(s))[None]
    found = pairs_correlation(one, other)
    upper = np.triu_indices(9, 1)
    for step in range(3):
        unit = e[step] / np.linalg.norm(e[step], axis=1, keepdims=True)
        x = (unit @ unit.T)[upper]
        unit = s / np.linalg.norm(s, axis=1, keepdims=True)
        y = (unit @ unit.T)[upper]
        assert found["pearson"][step] == pytest.approx(np.corrcoef(x, y)[0, 1])
        ranks = [np.argsort(np.argsort(v)) for v in (x, y)]
        assert found["spearman"][step] == pytest.approx(np.corrcoef(*ranks)[0, 1])
        assert found["fit"][step] == pytest.approx(1 - np.mean((x - y) ** 2))


def test_of_a_modular_sum_order_0_is_constant_and_has_a_fit_alone() -> None:
    sequences = list(product(range(5), repeat=2))
    found = signature(sequences, [sum(s) % 5 for s in sequences], 0)
    similarity = cosines(gram(found.values))[None]
    assert is_constant(similarity)
    other = cosines(gram(np.random.default_rng(0).standard_normal((1, 5, 3))))
    assert not is_constant(other)
    measured = pairs_correlation(other, similarity)
    assert np.isnan([measured["pearson"], measured["spearman"]]).all()
    assert measured["fit"][0] == pytest.approx(1 - np.square(pairs(other) - 1).mean())


def test_rows_of_zeros_are_left_out_of_the_pairs() -> None:
    e = np.random.default_rng(3).standard_normal((1, 6, 4))
    s = np.random.default_rng(4).standard_normal((1, 6, 4))
    without = pairs_correlation(cosines(gram(e[:, :5])), cosines(gram(s[:, :5])))
    e[0, 5] = 0
    found = pairs_correlation(cosines(gram(e)), cosines(gram(s)))
    for name, value in without.items():
        np.testing.assert_allclose(found[name], value)


def test_principal_points_are_those_of_a_decomposition_and_turn_with_the_step_before() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((12, 6)) * [5, 3, 1, 0.5, 0.1, 0.1]
    points, share = principal_points(gram(x[None]))
    left, sizes, _ = np.linalg.svd(x - x.mean(0))
    np.testing.assert_allclose(np.abs(points[0]), np.abs(left[:, :2] * sizes[:2]), atol=1e-9)
    np.testing.assert_allclose(share[0], sizes[:2] ** 2 / (sizes**2).sum())
    turned = points[0] @ np.array([[0.6, 0.8], [0.8, -0.6]])
    again, _ = principal_points(gram(x[None]), before=turned)
    np.testing.assert_allclose(again[0], turned, atol=1e-9)
    # Components that change places from one step to the next stay on their axes.
    plane = left[:, :2] - left[:, :2].mean(0)
    both, _ = principal_points(gram(np.stack([plane * [5, 3], plane * [3, 5]])))
    np.testing.assert_allclose(both[1], both[0] * [3 / 5, 5 / 3], atol=1e-9)
