"""Laws of the overlap of neighbours, and which rows take part in it."""

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.hashing import tensor_hash
from embtie_widgets.measures import screening
from embtie_widgets.measures.neighbours import neighbour_lists, overlap_of
from embtie_widgets.measures.points import points_of
from embtie_widgets.measures.screening import screen
from embtie_widgets.progress import silent
from embtie_widgets.results.storage import from_bytes, to_bytes

METRICS = pytest.mark.parametrize("metric", ["cosine", "euclidean"])
CENTER = pytest.mark.parametrize("center", [True, False])


@METRICS
@CENTER
def test_a_matrix_overlaps_with_itself_wholly(normal, metric, center):
    x = normal(150, 6)
    found = ew.knn_overlap(x, x.clone(), 7, metric, center)
    assert (found.mean, found.interval) == (1.0, (1.0, 1.0))
    assert found.per_token.tolist() == [1.0] * 150


def test_neither_a_rotation_nor_a_scale_for_each_row_moves_the_cosine(normal, rotation):
    x, y = normal(400, 12), normal(400, 9)
    moved = (x @ rotation(12)) * torch.linspace(0.01, 50, 400)[:, None].double()
    np.testing.assert_array_equal(
        ew.knn_overlap(moved, y).per_token, ew.knn_overlap(x, y).per_token
    )


def test_a_matrix_too_large_to_be_kept_is_read_again_with_the_same_result(normal, monkeypatch):
    x, y = normal(7000, 6), normal(7000, 6)
    expected = ew.knn_overlap(x, y).per_token
    monkeypatch.setattr(screening, "_KEPT", 0)
    for together in (0, 500_000):
        monkeypatch.setattr(screening, "_TOGETHER", together)
        np.testing.assert_array_equal(ew.knn_overlap(x, y).per_token, expected)


def test_the_result_names_what_it_was_made_of_and_can_be_stored(normal):
    x, y = normal(40, 3), normal(40, 3)
    found = ew.knn_overlap(x, y, 3)
    assert dict(found.hashes) == {"x": tensor_hash(x), "y": tensor_hash(y)}
    again = from_bytes(to_bytes(found))
    assert again.settings == found.settings
    np.testing.assert_array_equal(again.per_token, found.per_token)
    assert "k=3" in repr(again)


@METRICS
def test_it_is_the_same_in_both_directions_and_under_a_common_order(normal, metric):
    x, y = normal(300, 5), normal(300, 8)
    y[:, :5] += x
    order = torch.randperm(300, generator=torch.Generator().manual_seed(1))
    found = ew.knn_overlap(x, y, 6, metric).per_token
    np.testing.assert_array_equal(ew.knn_overlap(y, x, 6, metric).per_token, found)
    moved = ew.knn_overlap(x[order], y[order], 6, metric).per_token
    np.testing.assert_array_equal(moved, found[order])


def test_each_token_has_the_share_of_its_common_neighbours(normal):
    x, y = normal(80, 4), normal(80, 4)
    found = ew.knn_overlap(x, y, 5)
    a, b = neighbour_lists(x, 5).rows, neighbour_lists(y, 5).rows
    expected = [len(set(p) & set(q)) / 5 for p, q in zip(a, b, strict=True)]
    assert found.per_token.tolist() == expected
    assert found.mean == pytest.approx(np.mean(expected))
    assert found.to_frame()["overlap"].tolist() == expected


def test_independent_rows_reach_the_floor_and_no_more(normal):
    found = ew.knn_overlap(normal(3000, 30), normal(3000, 20))
    assert found.floor == 10 / 2999
    assert found.mean == pytest.approx(found.floor, abs=0.001)


def test_a_planted_neighbour_is_found(normal):
    x, y = normal(500, 16), normal(500, 10)
    x[321], y[321] = 2 * x[4] + 1e-3, 3 * y[4] - 1e-3
    lists = neighbour_lists(x, 1)
    assert (lists.rows[4, 0], lists.rows[321, 0]) == (321, 4)
    assert ew.knn_overlap(x, y, 1).per_token[[4, 321]].tolist() == [1, 1]


@METRICS
def test_rows_that_are_not_finite_take_no_part_and_change_no_other(normal, metric):
    x, y = normal(200, 16), normal(200, 8)
    clean = torch.ones(200, dtype=torch.bool)
    clean[[7, 9]] = False
    for center in (False, True):
        alone = ew.knn_overlap(x[clean], y[clean], 5, metric, center)
        with_faults = x.clone()
        with_faults[7, 3], with_faults[9, 0] = torch.nan, torch.inf
        found = ew.knn_overlap(with_faults, y, 5, metric, center)
        assert np.flatnonzero(np.isnan(found.per_token)).tolist() == [7, 9]
        np.testing.assert_array_equal(found.per_token[clean], alone.per_token)
        assert (found.mean, found.floor) == (alone.mean, alone.floor)
        assert found.settings["rows_left_out"]["not finite"] == 2
        assert found.settings["rows_used"] == 198


def test_rows_without_direction_have_no_cosine_and_are_counted(normal):
    x = normal(30, 4)
    x[3] = 0
    lists = neighbour_lists(x, 5)
    assert lists.rows[3].tolist() == [-1] * 5
    assert 3 not in lists.rows
    assert lists.settings["rows_left_out"] == {"not finite": 0, "zero": 1}
    assert (neighbour_lists(x, 5, "euclidean").rows >= 0).all()
    x[3] = x[[i for i in range(30) if i != 3]].mean(0)
    lists = neighbour_lists(x, 5, center=True)
    assert lists.rows[3].tolist() == [-1] * 5
    assert lists.settings["rows_left_out"] == {"not finite": 0, "equal to the mean": 1}


@METRICS
def test_duplicates_stay_as_neighbours_in_their_order_and_are_counted(normal, metric):
    x, y = normal(60, 5).float(), normal(60, 5).float()
    x[[40, 12, 50]] = x[30].clone()
    x[51], x[52] = 0.0, -0.0
    x[51:53, 0] = 9.0
    lists = neighbour_lists(x, 4, metric)
    assert lists.rows[30, :3].tolist() == [12, 40, 50]
    assert lists.rows[50, :3].tolist() == [12, 30, 40]
    assert np.flatnonzero(lists.duplicates).tolist() == [12, 30, 40, 50, 51, 52]
    assert ew.knn_overlap(x, y, 4, metric).settings["duplicates"] == {"x": 6, "y": 0}


def test_rows_that_are_equal_but_for_their_length_go_to_the_lower_row(normal):
    x = normal(50, 7).float()
    for row, scale in ((45, 3.0), (44, 0.1), (10, 7e5), (20, 1e-20)):
        x[row] = x[30] * scale
    lists = neighbour_lists(x, 4)
    assert lists.rows[30].tolist() == [10, 20, 44, 45]
    assert lists.rows[10].tolist() == [20, 30, 44, 45]
    assert not lists.duplicates.any()


def test_many_rows_in_one_direction_are_ordered_although_no_arithmetic_keeps_them_apart():
    x = torch.linspace(1, 2, 300)[:, None] * torch.tensor([[1.0, 2.0, 3.0]])
    rows = neighbour_lists(x, 5).rows
    assert rows[0].tolist() == [1, 2, 3, 4, 5]
    assert rows[200].tolist() == [0, 1, 2, 3, 4]


def test_a_group_of_near_equal_rows_is_told_apart(normal):
    x = normal(900, 24)
    x[100:700] = x[100] + 1e-7 * normal(600, 24)
    near = torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist").fill_diagonal_(9e9)
    expected = near.sort(1).indices[:, :10].numpy()
    np.testing.assert_array_equal(neighbour_lists(x, 10, "euclidean").rows, expected)


@METRICS
@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_huge_and_tiny_matrices_have_the_neighbours_of_ordinary_ones(normal, metric, scale):
    x = normal(200, 8).float()
    np.testing.assert_array_equal(
        neighbour_lists(x.double() * scale, 6, metric).rows, neighbour_lists(x, 6, metric).rows
    )
    neighbour_lists((x * scale).float(), 6, metric)


def test_rows_of_very_different_length_have_their_true_distances(normal):
    x = normal(400, 12).float() * torch.logspace(-6, 6, 400)[:, None]
    y = x.double()
    near = torch.cdist(y, y, compute_mode="donot_use_mm_for_euclid_dist").fill_diagonal_(torch.inf)
    expected = near.sort(1).indices[:, :10].numpy()
    np.testing.assert_array_equal(neighbour_lists(x, 10, "euclidean").rows, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@METRICS
def test_half_precision_gives_what_its_values_give_in_float64(normal, dtype, metric):
    x, y = normal(300, 10).to(dtype), normal(300, 12).float()
    found = ew.knn_overlap(x, y, 8, metric)
    assert found.per_token.tolist() == ew.knn_overlap(x.double(), y, 8, metric).per_token.tolist()


def test_two_rows_are_each_other_s_neighbours_and_one_has_none(normal):
    x = normal(2, 3)
    assert ew.knn_overlap(x, normal(2, 3), 1).per_token.tolist() == [1, 1]
    with pytest.raises(EmbtieError, match=r"k is 1; .* 1 rows take part"):
        ew.knn_overlap(x[:1], x[:1], 1)


@pytest.mark.parametrize("k", [0, -3, 2.5, 19, True])
def test_a_k_that_the_rows_cannot_give_is_refused(normal, k):
    x = normal(20, 3)
    x[4] = torch.nan
    with pytest.raises(EmbtieError, match=r"from 1 to 18.*1 not finite left out"):
        ew.knn_overlap(x, normal(20, 3), k)


def test_what_does_not_fit_together_is_refused_in_words(normal):
    x = normal(20, 3)
    with pytest.raises(EmbtieError, match="different numbers of rows: x 20, y 19"):
        ew.knn_overlap(x, x[:19])
    with pytest.raises(EmbtieError, match="'cosine' or 'euclidean'"):
        ew.knn_overlap(x, x, metric="manhattan")
    with pytest.raises(EmbtieError, match="from 0 to 19"):
        neighbour_lists(x, 3, queries=[20])
    with pytest.raises(EmbtieError, match="20 times true or false"):
        neighbour_lists(x, 3, usable=[True])
    with pytest.raises(EmbtieError, match="not finite"):
        ew.knn_overlap(x * torch.nan, x)
    lists = neighbour_lists(x, 3)
    with pytest.raises(EmbtieError, match="hold 3"):
        overlap_of(lists, lists, 4)
    with pytest.raises(EmbtieError, match="same rows"):
        overlap_of(lists, neighbour_lists(x, 3, queries=[1, 2]), 3)


def test_a_sample_asks_some_rows_among_all(normal):
    x, y = normal(3000, 12), normal(3000, 12)
    y += 2 * x
    whole, some = ew.knn_overlap(x, y), ew.knn_overlap(x, y, sample=200, seed=5)
    asked = np.isfinite(some.per_token)
    assert asked.sum() == some.settings["sampled"] == 200
    np.testing.assert_array_equal(some.per_token[asked], whole.per_token[asked])
    assert some.floor == whole.floor
    other = ew.knn_overlap(x, y, sample=200, seed=6)
    assert (np.isfinite(other.per_token) != asked).any()
    assert ew.knn_overlap(x, y, sample=10**6).settings["sampled"] == 3000


def test_only_usable_rows_are_candidates(normal):
    x, usable = normal(100, 4), np.arange(100) % 2 == 0
    lists = neighbour_lists(x, 5, usable=usable, queries=[3, 8, 2])
    assert lists.rows[0].tolist() == [-1] * 5
    alone = neighbour_lists(x[::2], 5, queries=[4, 1]).rows
    np.testing.assert_array_equal(lists.rows[1:], 2 * alone)


def test_longer_lists_begin_with_the_shorter(normal):
    x, y = normal(300, 6), normal(300, 6)
    long = [neighbour_lists(matrix, 64) for matrix in (x, y)]
    expected = ew.knn_overlap(x, y, 10)
    found = overlap_of(*long, 10)
    np.testing.assert_array_equal(found.per_token, expected.per_token)
    assert found.settings == expected.settings


@METRICS
def test_matrices_are_read_only_and_may_lie_anyhow_in_memory(normal, metric, tmp_path):
    x = normal(200, 12)
    for stored in (x, x.float()):
        before = stored.clone()
        expected = ew.knn_overlap(stored, stored[:, :6], 5, metric, center=True).per_token
        assert torch.equal(stored, before)
        np.save(tmp_path / "x.npy", stored.numpy())
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        turned = stored.T.contiguous().T
        for same in (mapped, turned):
            found = ew.knn_overlap(same, stored[:, :6], 5, metric, center=True).per_token
            np.testing.assert_array_equal(found, expected)


def test_work_tells_how_far_it_is_and_stops_when_told(normal):
    x, stages = normal(5000, 4), []

    def stop(stage, done, total):
        stages.append((stage, done, total))
        if stage == "finding neighbours" and done == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        ew.knn_overlap(x, x, progress=stop)
    assert stages[-1][1] == 2
    assert all(0 <= done <= total for _, done, total in stages)


def test_centring_takes_the_mean_of_the_usable_rows(normal):
    x = normal(120, 5) + 3
    usable = np.arange(120) % 3 > 0
    found = neighbour_lists(x, 4, center=True, usable=usable, queries=np.flatnonzero(usable))
    alone = neighbour_lists(x[usable], 4, center=True)
    np.testing.assert_array_equal(found.rows, np.flatnonzero(usable)[alone.rows])


def test_a_cloud_far_from_zero_leaves_few_candidates_for_the_exact_look(normal):
    x = normal(3000, 40) + 300 * normal(1, 40)
    points = points_of(x, torch.ones(3000, dtype=torch.bool), "cosine", False)
    found = screen(points, 10, 26, torch.empty(0), silent)
    assert bool(found.complete.all())
    assert int(found.real.sum()) < 1.2 * 10 * 3000
