"""Toy tasks against their definitions, written out anew."""

import math
from itertools import product

import numpy as np
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.staircase import OPERATIONS, StaircaseRequest
from embtie_widgets.training.toy_tasks import open_task


def plain(task):
    """Names of the tokens and the answer of each sequence."""
    for row, label in zip(task.sequences, task.labels, strict=True):
        yield [task.tokens[i] for i in row], task.answers[label]


@pytest.mark.parametrize(
    ("operation", "value"),
    [
        ("sum", sum),
        ("difference", lambda xs: max(xs) - min(xs)),
        ("product", lambda xs: int(np.prod(xs))),
    ],
)
@pytest.mark.parametrize(("modulus", "offset"), [(0, 0), (4, 1)])
def test_arithmetic_takes_every_sequence_once_and_labels_it_right(
    operation, value, modulus, offset
):
    task = open_task(
        StaircaseRequest(operation=operation, tokens=5, length=3, modulus=modulus, offset=offset)
    )
    seen = {}
    for names, answer in plain(task):
        xs = tuple(map(int, names))
        seen[xs] = answer
        expected = value(xs) + offset
        assert answer == (expected % modulus if modulus else expected)
    assert list(seen) == list(product(range(1, 6), repeat=3))


def test_the_first_token_of_min_max_says_which():
    task = open_task(StaircaseRequest(operation="min-max", tokens=4, modulus=0))
    assert len(task.labels) == 2 * 4**2
    for (which, *names), answer in plain(task):
        assert answer == {"min": min, "max": max}[which](map(int, names))


def test_anchors_say_how_much_is_added_to_a_number():
    task = open_task(StaircaseRequest(operation="anchored-sum", tokens=8, modulus=8))
    assert [task.tokens[i] for i in task.anchors] == ["+1", "+2"]
    assert len({tuple(row) for row in task.sequences}) == 2 * 2 * 8
    for names, answer in plain(task):
        assert answer == sum(map(int, names)) % 8


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_request_knows_how_many_sequences_there_are(operation):
    request = StaircaseRequest(operation=operation, tokens=6, length=3)
    assert len(open_task(request).labels) == request.sequences


def test_parity_counts_a_fifth_of_the_tokens():
    request = StaircaseRequest(operation="parity", tokens=50, length=8, modulus=0, samples=2_000)
    task = open_task(request)
    assert task.sequences.shape == (2_000, 8)
    assert len(np.unique(task.sequences)) == 50
    for names, answer in plain(task):
        assert answer == sum(name.startswith("a") for name in names) % 2
    assert sum(name.startswith("a") for name in task.tokens) == 10


@pytest.mark.parametrize(
    ("distribution", "mean", "deviation"),
    [("uniform", 25, 14.72), ("normal", 25, 1.04), ("poisson", 10, 3.16), ("exponential", 4.5, 5)],
)
def test_labels_behind_an_anchor_follow_the_papers_distributions(distribution, mean, deviation):
    request = StaircaseRequest(
        operation="anchor", tokens=51, length=3, modulus=0, distribution=distribution
    )
    task = open_task(request)
    assert len(task.labels) == 2601
    assert {task.tokens[i] for i in task.sequences[:, 0]} == {"anchor"}
    values = task.answers[task.labels]
    assert values.mean() == pytest.approx(mean, abs=4 * deviation / np.sqrt(2601))
    assert values.std() == pytest.approx(deviation, rel=0.1)
    drawn = np.bincount(task.labels, minlength=len(task.answers)) / len(values)
    assert np.abs(np.cumsum(drawn) - np.cumsum(task.target)).max() < 1.95 / np.sqrt(2601)


def test_a_request_gives_the_same_task_again_and_another_seed_another():
    request = StaircaseRequest(samples=100)
    one, again, other = (open_task(StaircaseRequest(samples=100, seed=s)) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.sequences, again.sequences)
    assert not np.array_equal(one.sequences, other.sequences)
    assert len({tuple(row) for row in one.sequences}) == request.samples


def test_more_samples_than_sequences_are_all_of_them():
    task = open_task(StaircaseRequest(operation="sum", tokens=3, length=2, samples=100))
    assert len(task.labels) == task.words["sequences"] == 9


def test_long_products_are_exact_under_a_modulus():
    request = StaircaseRequest(
        operation="product", tokens=199, length=12, modulus=1_009, samples=50
    )
    task = open_task(request)
    for names, answer in plain(task):
        whole = 1
        for name in names:
            whole *= int(name)
        assert answer == whole % 1_009


def test_an_operation_that_is_left_without_tokens_is_refused():
    with pytest.raises(EmbtieError, match="two tokens or more"):
        open_task(StaircaseRequest(operation="min-max", length=1))


def test_products_beyond_whole_numbers_are_refused_and_a_modulus_keeps_them_exact():
    fields = {"operation": "product", "tokens": 200, "length": 9, "samples": 50}
    with pytest.raises(EmbtieError, match="too large to be exact"):
        StaircaseRequest(**fields, modulus=0)
    task = open_task(StaircaseRequest(**fields, modulus=9_973))
    right = [math.prod(int(one) + 1 for one in row) % 9_973 for row in task.sequences]
    assert task.answers[task.labels].tolist() == right
