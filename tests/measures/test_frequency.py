"""Row norm against token frequency, held to scipy and to what is planted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.correlation import correlate
from embtie_widgets.measures.frequency import norm_frequency, running_median

RNG = np.random.default_rng


def planted(n: int = 400, noise: float = 0.05, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, 8) whose norms rise with the counts, a fifth of which are 0."""
    rng = RNG(seed)
    counts = np.where(np.arange(n) % 5 == 0, 0, rng.zipf(1.3, n).clip(0, 10**6))
    norms = 1 + 0.3 * np.log10(counts + 1) + noise * rng.random(n)
    rows = rng.normal(size=(n, 8))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * norms[:, None], counts


def against_scipy(x: Any, counts: np.ndarray) -> None:
    found = norm_frequency(x, counts)
    norms = np.linalg.norm(torch.as_tensor(x).double().numpy(), axis=1)
    log_count, seen = np.log10(counts + 1.0), counts > 0
    np.testing.assert_allclose(found.log_count, log_count, atol=1e-12)
    np.testing.assert_allclose(found.norm, norms, rtol=1e-6)
    pearson = stats.pearsonr(log_count[seen], norms[seen]).statistic
    spearman = stats.spearmanr(log_count[seen], norms[seen]).statistic
    assert found.pearson == pytest.approx(pearson, abs=1e-6)
    assert found.spearman == pytest.approx(spearman, abs=1e-6)
    assert found.correlation.tokens == seen.sum() == found.used.sum()
    assert found.unseen.rows == (~seen).sum()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_correlations_are_those_of_scipy_over_the_tokens_that_occur(dtype: torch.dtype) -> None:
    x, counts = planted()
    against_scipy(torch.as_tensor(x).to(dtype), counts)


def test_the_nano_models_agree_with_scipy() -> None:
    from embtie_widgets.sources.load import load

    model = load("nano-untied")
    assert model.token_counts is not None
    for matrix in (model.input, model.output):
        against_scipy(matrix, np.asarray(model.token_counts))


def test_a_real_model_agrees_with_scipy(smollm2: Path) -> None:
    from embtie_widgets.sources.load import load

    matrix = load(str(smollm2)).input
    against_scipy(matrix, RNG(0).zipf(1.2, len(matrix)).clip(0, 10**9) - 1)


def test_norms_that_rise_with_the_counts_have_rank_correlation_one() -> None:
    x, counts = planted(noise=0.0)
    found = norm_frequency(x, counts)
    assert found.spearman == pytest.approx(1, abs=1e-9)
    assert found.pearson == pytest.approx(1, abs=1e-9)
    assert norm_frequency(1 / x, counts).correlation.tokens == 320


def test_shuffled_counts_correlate_as_little_as_chance_says() -> None:
    x, counts = planted()
    found = [norm_frequency(x, RNG(i).permutation(counts), seed=i) for i in range(40)]
    floors = [one.correlation.spearman_floor for one in found]
    inside = sum(abs(one.spearman) <= floor for one, floor in zip(found, floors, strict=True))
    assert 34 <= inside <= 40
    assert np.mean(floors) == pytest.approx(found[0].correlation.floor_expected, rel=0.1)
    assert max(abs(one.pearson) for one in found) < 0.25


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng, inside = RNG(0), 0
    for i in range(60):
        level = rng.normal(size=150)
        counts = np.rint(10 ** (2 + 0.4 * level)).astype(int)
        norms = 5 + 0.5 * (np.log10(counts + 1) - 2) / 0.4 + np.sqrt(0.75) * rng.normal(size=150)
        low, high = norm_frequency(norms[:, None], counts, seed=i).correlation.pearson_interval
        inside += low <= 0.5 <= high
    assert 52 <= inside <= 60


def test_intervals_are_those_of_a_bootstrap_by_scipy() -> None:
    x, counts = planted(noise=2.0)
    seen, norms = counts > 0, np.linalg.norm(x, axis=1)
    found = norm_frequency(x, counts).correlation
    for name, measure in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        peer = stats.bootstrap(
            (np.log10(counts[seen] + 1), norms[seen]),
            lambda a, b, measure=measure: measure(a, b).statistic,
            paired=True,
            vectorized=False,
            n_resamples=1000,
            method="percentile",
            rng=np.random.default_rng(7),
        ).confidence_interval
        assert getattr(found, f"{name}_interval") == pytest.approx((peer.low, peer.high), abs=0.02)


def test_an_interval_counts_what_a_token_does_to_the_ranks_of_all_others() -> None:
    """Each token's influence is the derivative of the correlation by how often it comes."""
    rng, n, change = RNG(3), 60, 1e-5
    x = rng.integers(0, 12, n).astype(float)
    y = rng.integers(0, 9, n) + 0.3 * x

    def weighted(weights: np.ndarray) -> float:
        ranks = []
        for values in (x, y):
            below = (weights * (values[None] < values[:, None])).sum(1)
            same = (weights * (values[None] == values[:, None])).sum(1)
            ranks.append(below + same / 2)
        means = [weights @ rank / weights.sum() for rank in ranks]
        a, b = (rank - mean for rank, mean in zip(ranks, means, strict=True))
        return float((weights * a) @ b / np.sqrt(((weights * a) @ a) * ((weights * b) @ b)))

    once = np.eye(n) * change
    slopes = [(weighted(1 + one) - weighted(1 - one)) / (2 * change) for one in once]
    found = correlate(x, y)
    assert found.spearman == pytest.approx(weighted(np.ones(n)), abs=1e-12)
    half = 1.959964 * np.linalg.norm(slopes) / (1 - found.spearman**2)
    expected = np.tanh(np.arctanh(found.spearman) + np.array([-half, half]))
    assert found.spearman_interval == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [30, 4000])
def test_chance_is_what_shuffles_one_by_one_give_whatever_the_order_of_rows(n: int) -> None:
    rng = RNG(5)
    x, y = np.sort(rng.zipf(1.3, n).astype(float).clip(0, 1e4)), np.sort(rng.random(n))
    found = correlate(x, y, seed=2)
    shuffled = [np.corrcoef(x, rng.permutation(y))[0, 1] for _ in range(2000)]
    assert found.pearson_floor == pytest.approx(np.quantile(np.abs(shuffled), 0.95), rel=0.1)
    assert found.spearman_floor == pytest.approx(found.floor_expected, rel=0.1)


def test_the_order_of_rows_and_the_unit_of_the_norms_do_not_count() -> None:
    x, counts = planted()
    plain, order = norm_frequency(x, counts), RNG(1).permutation(len(x))
    turned = norm_frequency(x[order], counts[order])
    larger = norm_frequency(1024 * x, counts)
    for other in (turned, larger):
        assert other.pearson == pytest.approx(plain.pearson, abs=1e-12)
        assert other.spearman == pytest.approx(plain.spearman, abs=1e-12)
        np.testing.assert_array_equal(other.curve.log_count, plain.curve.log_count)
    np.testing.assert_allclose(turned.curve.median, plain.curve.median, rtol=1e-12)
    np.testing.assert_allclose(larger.curve.upper, 1024 * plain.curve.upper, rtol=1e-12)
    rotation = np.linalg.qr(RNG(2).normal(size=(8, 8)))[0]
    assert norm_frequency(x @ rotation, counts).pearson == pytest.approx(plain.pearson, abs=1e-9)


def test_a_zero_row_of_a_token_that_occurs_has_the_norm_zero() -> None:
    x, counts = planted()
    counts[11], x[11] = 5, 0
    found, seen = norm_frequency(x, counts), counts > 0
    norms = np.linalg.norm(x, axis=1)
    right = stats.pearsonr(np.log10(counts[seen] + 1), norms[seen]).statistic
    assert found.pearson == pytest.approx(right, abs=1e-12)
    assert found.settings["rows_left_out"] == {"not finite": 0, "zero": 0}


def test_rows_not_finite_and_empty_ones_are_named_and_change_nothing_else() -> None:
    x, counts = planted()
    counts[11] = 0
    clean = np.delete(np.arange(len(x)), [7, 9, 11])
    x[7, 2], x[9, 0], x[11] = np.nan, np.inf, 0
    found, right = norm_frequency(x, counts), norm_frequency(x[clean], counts[clean])
    assert found.settings["left_out"] == {"not finite": [7, 9], "zero": [11]}
    assert found.settings["rows_left_out"] == {"not finite": 2, "zero": 1}
    assert np.isnan(found.norm[[7, 9]]).all()
    assert found.norm[11] == 0
    assert not found.used[[7, 9, 11]].any()
    assert found.pearson == pytest.approx(right.pearson, abs=1e-12)
    assert found.spearman == pytest.approx(right.spearman, abs=1e-12)
    np.testing.assert_allclose(found.norm[clean], right.norm, rtol=1e-12)
    np.testing.assert_allclose(found.curve.median, right.curve.median, rtol=1e-12)
    assert found.unseen == right.unseen


def test_a_matrix_without_one_usable_row_is_refused_in_words() -> None:
    with pytest.raises(EmbtieError, match=r"None of the 4 rows can be used: 3 are not finite, 1"):
        norm_frequency(np.array([[np.nan], [np.inf], [-np.inf], [0.0]]), [1, 2, 3, 4])


def test_squares_that_overflow_and_counts_without_bound_are_measured() -> None:
    x = torch.full((40, 8), 3e4, dtype=torch.float16) * torch.linspace(0.1, 1, 40)[:, None].half()
    counts = np.logspace(0, 12, 40).astype(np.int64)
    found = norm_frequency(x, counts)
    assert found.spearman == pytest.approx(1)
    assert found.log_count[-1] == pytest.approx(12)
    assert np.isfinite(found.norm).all()
    assert norm_frequency(1e200 * x.double(), counts).pearson == pytest.approx(found.pearson)


def test_without_a_token_that_occurs_there_is_no_correlation_and_no_crash() -> None:
    x, counts = planted()
    found = norm_frequency(x, 0 * counts)
    assert np.isnan([found.pearson, found.spearman, *found.correlation.pearson_interval]).all()
    assert len(found.curve.median) == 0
    assert found.curve.peak is None
    assert found.unseen.rows == len(x)
    assert found.unseen.median == pytest.approx(np.median(np.linalg.norm(x, axis=1)))


@pytest.mark.parametrize("seen", [1, 2])
def test_a_token_or_two_make_no_correlation(seen: int) -> None:
    x, counts = planted()
    counts[seen:], counts[:seen] = 0, np.arange(1, seen + 1)
    found = norm_frequency(x, counts)
    assert np.isnan(found.spearman)
    assert found.curve.tokens.sum() >= seen


def test_equal_norms_or_equal_counts_have_no_correlation() -> None:
    x, counts = planted()
    assert np.isnan(norm_frequency(np.ones((400, 8)), counts).pearson)
    assert np.isnan(norm_frequency(x, np.ones(400, int)).spearman)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([1, 2], r"shape \(2,\); expected \(3,\)"),
        ([1, 2, -1], "-1 in row 2"),
        ([1, 2, 0.5], "0.5 in row 2"),
        ([1, np.nan, 3], "nan in row 1"),
        ([1, 2, 2.0**64], "in row 2"),
        (["a", "b", "c"], "no number"),
        ([[1, 2, 3]], r"shape \(1, 3\)"),
    ],
)
def test_counts_that_are_none_are_refused(counts: Any, words: str) -> None:
    with pytest.raises(EmbtieError, match=words):
        norm_frequency(np.ones((3, 2)), counts)


def test_counts_may_be_a_list_an_array_or_a_tensor() -> None:
    x, counts = planted()
    right = norm_frequency(x, counts).spearman
    for given in (counts.tolist(), counts.astype(float), torch.as_tensor(counts)):
        assert norm_frequency(x, given).spearman == right


def test_windows_hold_equally_many_tokens_and_never_part_equal_counts() -> None:
    position = np.sort(np.round(RNG(0).normal(size=2000), 1))
    found = running_median(position, position)
    assert (found.tokens >= 25).all()
    assert (found.tokens[5:-5] >= 45).all()
    assert (np.diff(found.log_count) > 0).all()
    assert len(found.median) <= 48
    # Equal positions are whole in a window, so these are the quartiles of whole groups.
    assert set(np.round(found.log_count * 20)) <= set(range(-100, 101))
    several = running_median(np.repeat([1.0, 2.0], 500), np.arange(1000.0))
    np.testing.assert_array_equal(several.log_count, [1, 1.5, 2])
    np.testing.assert_array_equal(several.tokens, [500, 1000, 500])
    np.testing.assert_array_equal(several.median, [249.5, 499.5, 749.5])


def test_a_window_holds_the_quartiles_of_its_own_tokens() -> None:
    position = RNG(0).permutation(10_000).astype(float)
    found = running_median(position, position % 100)
    middle = len(found.median) // 2
    start = np.sort(position)[np.abs(np.sort(position) - found.log_count[middle]) <= 50]
    assert found.tokens[middle] == 101 == len(start)
    expected = np.quantile(start % 100, [0.25, 0.5, 0.75])
    got = [found.lower[middle], found.median[middle], found.upper[middle]]
    np.testing.assert_allclose(got, expected)


def test_the_line_reaches_the_rarest_and_the_most_frequent_tokens() -> None:
    position = np.sort(RNG(0).exponential(size=20_000))
    found = running_median(position, position)
    assert (found.tokens[0], found.tokens[-1]) == (25, 25)
    assert found.log_count[-1] == pytest.approx(np.median(position[-25:]))
    few = running_median(np.arange(10.0), np.arange(10.0))
    assert few.tokens.tolist() == [10]
    assert few.median.tolist() == [4.5]


def test_the_same_seed_gives_the_same_numbers() -> None:
    x, counts = planted()
    one, two, other = (norm_frequency(x, counts, seed=seed).correlation for seed in (3, 3, 4))
    assert one == two
    assert (one.pearson, one.pearson_interval) == (other.pearson, other.pearson_interval)
    assert one.pearson_floor != other.pearson_floor


def test_the_hash_is_that_of_the_matrix_and_not_of_one_changed_since() -> None:
    from embtie_widgets.hashing import tensor_hash

    x = torch.randn(30, 4)
    found = norm_frequency(x, np.arange(30))
    assert dict(found.hashes) == {"x": tensor_hash(x)}
    found = norm_frequency(x, np.arange(30))
    x[0] *= 2
    assert dict(found.hashes) == {}


def test_the_table_has_one_row_for_each_token() -> None:
    x, counts = planted()
    frame = norm_frequency(x, counts).to_frame()
    assert list(frame) == ["row", "count", "log_count", "norm", "used"]
    assert len(frame) == 400
    assert frame.used.sum() == 320
    assert "320 tokens seen, 80 not, Pearson 0.9" in repr(norm_frequency(x, counts))


def test_cancelling_stops_the_work() -> None:
    from embtie_widgets.errors import Cancelled

    def cancel(stage: str, done: int, total: int) -> None:
        if stage == "reading":
            raise Cancelled

    with pytest.raises(Cancelled):
        norm_frequency(*planted(), progress=cancel)
