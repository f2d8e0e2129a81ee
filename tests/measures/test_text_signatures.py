"""What stands beside tokens in a running text, against counting one by one."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.signatures import gram
from embtie_widgets.measures.text_signatures import MOST_CONTEXTS, beside, beside_with

ROWS, CONTEXT = 9, 3
TEXT = np.random.default_rng(0).integers(0, 7, 400)
ANCHORS = np.array([5, 0, 3])


def counted(text: list[int], anchor: int) -> Counter[int]:
    return Counter(b for a, b in pairwise(text) if a == anchor)


@pytest.mark.parametrize("direction", ["next", "previous"])
def test_shares_are_those_of_counting_one_by_one(direction: str) -> None:
    text = TEXT.tolist() if direction == "next" else TEXT.tolist()[::-1]
    found = beside(TEXT, ANCHORS, ROWS, direction).toarray()
    for row, anchor in zip(found, ANCHORS, strict=True):
        counts = counted(text, anchor)
        np.testing.assert_allclose(row, [counts[v] / counts.total() for v in range(ROWS)])
    np.testing.assert_allclose(found.sum(1), 1)


def test_an_anchor_with_nothing_beside_it_is_a_row_of_zeros() -> None:
    found = beside([1, 2, 1, 3], [1, 3, 8], ROWS).toarray()
    assert found.sum(1).tolist() == [1, 0, 0]


def brute(text: list[int], context: int) -> np.ndarray:
    """(A, labels, X) counted one by one."""
    table = np.zeros((len(ANCHORS), ROWS, ROWS))
    times = np.zeros(len(ANCHORS))
    for s in range(len(text) - 1):
        if text[s] not in ANCHORS:
            continue
        row = ANCHORS.tolist().index(text[s])
        times[row] += 1
        for token in set(text[max(0, s - context) : s]):
            table[row, text[s + 1], token] += 1
    return table / times[:, None, None]


@pytest.mark.parametrize("direction", ["next", "previous"])
def test_order_1_with_all_its_directions_has_the_products_of_counting_one_by_one(
    direction: str,
) -> None:
    text = TEXT.tolist() if direction == "next" else TEXT.tolist()[::-1]
    found = beside_with(TEXT, ANCHORS, ROWS, CONTEXT, direction)
    right = brute(text, CONTEXT)[:, :, found.signature.context]
    assert found.share == 1
    assert found.signature.values.shape[::2] == (3, 7)
    for probe in (np.ones(7), np.random.default_rng(1).standard_normal(7)):
        np.testing.assert_allclose(
            gram(found.signature.values @ probe), gram(right @ probe), atol=1e-12
        )


def test_few_directions_hold_most_and_say_how_much() -> None:
    text = np.random.default_rng(2).integers(0, 40, 4_000)
    anchors = np.arange(40)
    whole = beside_with(text, anchors, 40, 4, directions=39)
    cut = beside_with(text, anchors, 40, 4, directions=20)
    assert whole.share == 1
    assert cut.signature.values.shape == (40, 20, MOST_CONTEXTS)
    kept = np.square(cut.signature.values).sum() / np.square(whole.signature.values).sum()
    assert cut.share == pytest.approx(kept)
    assert 0.5 < cut.share < 1


def test_only_the_most_frequent_tokens_are_contexts() -> None:
    found = beside_with([1, 1, 1, 2, 2, 3, 1, 2], [1, 2], ROWS, 2, contexts=2)
    assert found.signature.context.tolist() == [1, 2]


def test_ids_beyond_the_rows_are_refused() -> None:
    with pytest.raises(EmbtieError, match="outside 0 to 8"):
        beside([1, 9], [1, 2], ROWS)
