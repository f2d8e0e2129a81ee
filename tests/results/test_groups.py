"""Groups of tokens: kinds and bands of counts, and what they score on average."""

import dataclasses

import numpy as np
import pytest

from embtie_widgets.measures.statistics import group_means
from embtie_widgets.results.groups import (
    BANDS,
    BY_FREQUENCY,
    BY_KIND,
    CODES,
    KINDS,
    NO_KIND,
    band_places,
    groups_of,
    heading_of,
    kind_names,
)
from tests.sample_results import pair_result


def test_kinds_share_the_tokens_out_and_so_do_bands() -> None:
    result = pair_result()
    groups = groups_of(result)
    for heading in (BY_KIND, BY_FREQUENCY):
        masks = [mask for name, mask in groups.items() if heading_of(name) == heading]
        assert (np.sum(masks, axis=0) == 1).all()


def test_groups_come_in_a_fixed_order_without_empty_ones() -> None:
    counts = np.array([0, 5, 5, 20_000])
    codes = np.array([CODES[name] for name in ("special", "byte", "byte", "word start")], np.uint8)
    result = dataclasses.replace(pair_result(), kinds=codes, token_counts=counts)
    names = ["word start", "byte", "special", "0 times", "1 to 9 times", "10,000 times and more"]
    assert list(groups_of(result)) == names
    assert groups_of(result)["byte"].tolist() == [False, True, True, False]


def test_the_edges_of_a_band_belong_to_it() -> None:
    firsts = [low for low, _ in BANDS.values()]
    counts = np.array([edge - shift for edge in firsts[1:] for shift in (1, 0)])
    groups = groups_of(dataclasses.replace(pair_result(), kinds=None, token_counts=counts))
    assert [np.flatnonzero(mask).tolist() for mask in groups.values()] == [
        [0], [1, 2], [3, 4], [5, 6], [7, 8], [9]
    ]  # fmt: skip


def test_what_is_not_known_makes_no_groups() -> None:
    result = dataclasses.replace(pair_result(), kinds=None, token_counts=None)
    assert groups_of(result) == {}
    assert "kind" not in result.to_frame().columns


def test_a_row_without_token_is_in_no_kind_and_in_its_band() -> None:
    codes = np.array([NO_KIND, 0], np.uint8)
    result = dataclasses.replace(pair_result(), kinds=codes, token_counts=np.array([0, 0]))
    assert {name: int(mask.sum()) for name, mask in groups_of(result).items()} == {
        "word start": 1,
        "0 times": 2,
    }


def test_the_table_of_a_result_names_the_kind_of_each_token() -> None:
    result = pair_result()
    assert result.kinds is not None
    frame = result.to_frame()
    assert frame["kind"].tolist() == kind_names(result.kinds)
    assert frame["kind"][1] == "word start"
    assert set(frame["kind"]) <= set(KINDS)


def test_means_are_those_of_the_values_there_are() -> None:
    groups = {"byte": np.array([1, 1, 1, 0], bool), "0 times": np.array([0, 0, 0, 1], bool)}
    scores = {"a": np.array([1.0, np.nan, 2.0, np.inf]), "b": np.arange(4.0)}
    first, second = group_means(groups, scores)
    assert (first["group"], first["by"], first["tokens"]) == ("byte", BY_KIND, 3)
    assert (first["a"], first["b"]) == (1.5, 1.0)
    assert first["scored"] == {"a": 2, "b": 3}
    assert (second["by"], second["a"], second["b"]) == (BY_FREQUENCY, None, 3.0)


def test_the_interval_is_that_of_the_normal_law_and_given_where_that_holds() -> None:
    values = np.random.default_rng(0).normal(0.3, 0.1, 400)
    (group,) = group_means({"byte": np.ones(400, bool)}, {"a": values})
    half = 1.96 * values.std(ddof=1) / 20
    assert group["intervals"]["a"] == pytest.approx([values.mean() - half, values.mean() + half])
    (few,) = group_means({"byte": np.arange(400) < 29}, {"a": values})
    assert few["intervals"]["a"] is None


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    ones = np.ones(60, bool)
    hits = 0
    for _ in range(400):
        (group,) = group_means({"byte": ones}, {"a": rng.normal(0.3, 0.1, 60)})
        low, high = group["intervals"]["a"]
        hits += low <= 0.3 <= high
    assert 364 <= hits <= 394


def test_the_interval_stays_inside_the_bounds_of_the_score() -> None:
    shares = np.zeros(100)
    shares[0] = 0.3
    groups = {"byte": np.ones(100, bool)}
    (free,) = group_means(groups, {"a": shares})
    (bounded,) = group_means(groups, {"a": shares}, (0.0, 1.0))
    low, high = free["intervals"]["a"]
    assert low < 0
    assert bounded["intervals"]["a"] == [0.0, high]
    (upper,) = group_means(groups, {"a": 1 - shares}, (0.0, 1.0))
    assert upper["intervals"]["a"] == pytest.approx([1 - high, 1.0])


def test_every_count_lies_in_the_band_whose_bounds_hold_it() -> None:
    counts = np.array([0, 1, 9, 10, 99, 100, 9_999, 10_000, 10**9])
    bands = list(BANDS.values())
    for count, place in zip(counts, band_places(counts), strict=True):
        low, high = bands[place]
        assert low <= count < high
