"""Planted answers: what an alignment must find because it was put there."""

import hashlib

import numpy as np
import pandas as pd
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError

MAPS = ("identity", "orthogonal", "linear")


@pytest.mark.parametrize("kind", MAPS)
def test_a_matrix_maps_onto_itself_with_cosine_one(normal, kind):
    x = normal(300, 12)
    found = ew.align(x, x, kind)
    np.testing.assert_allclose(found.cosine, 1.0, atol=1e-12)
    assert found.heldout_mean == pytest.approx(1.0)


def test_a_planted_rotation_is_found_and_never_its_transpose(normal, rotation):
    x, turn = normal(40, 3), rotation(3)
    assert ew.align(x, x @ turn, "orthogonal").mean == pytest.approx(1.0, abs=1e-12)
    assert ew.align(x, x @ turn, "identity").mean < 0.9


def test_a_reflection_is_allowed_and_its_determinant_is_told(normal):
    x = normal(40, 3)
    found = ew.align(x, x * torch.tensor([1.0, 1.0, -1.0]), "orthogonal")
    assert found.mean == pytest.approx(1.0, abs=1e-12)
    assert found.description["determinant"] == -1


def test_a_planted_linear_map_is_found_by_linear_and_missed_by_orthogonal(normal):
    x = normal(200, 6)
    y = x @ normal(6, 9)
    assert ew.align(x, y, "linear").heldout_mean == pytest.approx(1.0, abs=1e-12)
    assert ew.align(x, y, "orthogonal").mean < 0.999


def test_orthogonal_scores_are_the_same_both_ways_and_linear_ones_are_not(normal):
    x, y = normal(80, 5), normal(80, 5)
    there, back = ew.align(x, y, "orthogonal"), ew.align(y, x, "orthogonal")
    np.testing.assert_allclose(there.cosine, back.cosine, atol=1e-12)
    there, back = ew.align(x, y, "linear"), ew.align(y, x, "linear")
    assert np.abs(there.cosine - back.cosine).max() > 0.01


def test_a_shift_changes_nothing_when_centred_and_something_when_not(normal):
    x, y = normal(100, 8), normal(100, 8)
    centred, shifted = ew.align(x, y), ew.align(x + 5, y - 3)
    np.testing.assert_allclose(centred.cosine, shifted.cosine, atol=1e-10)
    raw, moved = ew.align(x, y, center=False), ew.align(x + 5, y, center=False)
    assert np.abs(raw.cosine - moved.cosine).max() > 0.01


def test_size_does_not_matter_even_at_the_ends_of_the_range(normal):
    x, y = normal(100, 6), normal(100, 9)
    usual = ew.align(x, y)
    for factor in (1e-200, 1e-20, 1e20, 1e200):
        np.testing.assert_allclose(
            ew.align(x * factor, y * factor).cosine, usual.cosine, atol=1e-12
        )


def test_unequal_widths_give_the_isometry_of_largest_trace(normal, rotation):
    x = normal(200, 4)
    found = ew.align(x, x @ rotation(7)[:4], "orthogonal")
    assert found.mean == pytest.approx(1.0, abs=1e-12)
    assert ew.align(x @ rotation(7)[:4], x, "orthogonal").mean == pytest.approx(1.0, abs=1e-12)


def test_the_order_of_rows_carries_the_scores_with_it(normal):
    x, y = normal(120, 6), normal(120, 6)
    order = torch.randperm(120, generator=torch.Generator().manual_seed(3))
    straight, shuffled = ew.align(x, y, holdout=0), ew.align(x[order], y[order], holdout=0)
    np.testing.assert_allclose(shuffled.cosine, straight.cosine[order.numpy()], atol=1e-12)


@pytest.mark.parametrize(("rows", "width"), [(2000, 50), (5000, 64)])
def test_unrelated_matrices_score_at_chance_and_nothing_when_held_out(normal, rows, width):
    for kind, factor in (("linear", 1.0), ("orthogonal", 8 / (3 * np.pi))):
        found = ew.align(normal(rows, width), normal(rows, width), kind)
        assert found.floor_expected == pytest.approx(factor * np.sqrt(width / rows))
        assert found.mean == pytest.approx(found.floor_expected, rel=0.05)
        assert found.floor_mean == pytest.approx(found.floor_expected, rel=0.05)
        assert abs(found.heldout_mean) < 0.03


def test_padding_rows_spoil_a_perfect_rotation(normal, rotation):
    x = normal(500, 32)
    y = x @ rotation(32)
    noise = 0.02 * normal(94, 32)
    assert ew.align(x, y, "orthogonal").mean == pytest.approx(1.0)
    padded = [torch.cat([x, noise[:47]]), torch.cat([y, noise[47:]])]
    assert ew.align(*padded, "orthogonal", center=False).mean == pytest.approx(0.914, abs=0.02)


def test_a_pair_gives_what_three_single_calls_give(normal):
    e, u, w = normal(150, 8), normal(150, 8), normal(150, 8)
    together = ew.align_pair(e, u, w, "linear")
    alone = {
        "In->Out": ew.align(e, u),
        "Out->Tied": ew.align(u, w),
        "In->Tied": ew.align(e, w),
    }
    for name, single in alone.items():
        np.testing.assert_allclose(together[name].cosine, single.cosine, atol=1e-12)
        assert together[name].heldout_mean == pytest.approx(single.heldout_mean, abs=1e-12)
        assert together[name].floor_mean == pytest.approx(single.floor_mean, abs=1e-12)


def test_the_same_call_gives_the_same_numbers_and_another_seed_another_split(normal):
    x, y = normal(100, 6), normal(100, 6)
    first, again, other = ew.align(x, y), ew.align(x, y), ew.align(x, y, seed=1)
    # Where a matrix lies in memory may change the last bit of a product.
    assert first.heldout_mean == pytest.approx(again.heldout_mean, rel=1e-12)
    assert abs(first.heldout_mean - other.heldout_mean) > 1e-3
    assert first.mean == pytest.approx(other.mean, rel=1e-12)


@pytest.mark.parametrize("kind", MAPS)
def test_the_matrices_are_never_changed(normal, kind):
    x, y = normal(60, 5), normal(60, 5)
    before = [hashlib.sha256(m.numpy().tobytes()).digest() for m in (x, y)]
    ew.align(x, y, kind)
    assert before == [hashlib.sha256(m.numpy().tobytes()).digest() for m in (x, y)]


def test_work_can_be_called_off_between_blocks(normal):
    seen = []

    def stop(stage: str, done: int, total: int) -> None:
        seen.append(stage)
        if stage == "multiplying":
            raise Cancelled

    with pytest.raises(Cancelled):
        ew.align(normal(50, 4), normal(50, 4), progress=stop)
    assert seen[-1] == "multiplying"


def test_a_result_carries_its_settings_and_a_frame(normal):
    found = ew.align(normal(50, 4).float(), normal(50, 4).bfloat16(), "orthogonal", seed=5)
    assert found.settings["map"] == "orthogonal"
    assert found.settings["seed"] == 5
    assert found.settings["stored"] == {"x": "float32", "y": "bfloat16"}
    assert found.settings["rows_held_out"] == 10
    frame = found.to_frame()
    assert list(frame["row"]) == list(range(50))
    np.testing.assert_array_equal(frame["cosine"], found.cosine)
    with pytest.raises(AttributeError):
        found.mean = 1.0


def test_without_hold_out_or_floor_there_is_none(normal):
    found = ew.align(normal(50, 4), normal(50, 4), holdout=0, floor=False)
    assert found.heldout_mean is None
    assert found.floor_mean is None


def test_numpy_arrays_are_as_good_as_tensors(normal):
    x, y = normal(50, 4), normal(50, 4)
    np.testing.assert_array_equal(ew.align(x.numpy(), y.numpy()).cosine, ew.align(x, y).cosine)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"map": "rotate"}, "'identity', 'orthogonal', 'linear'"),
        ({"holdout": 1.0}, "below 1"),
        ({"holdout": -0.1}, "below 1"),
        ({"ridge": -1.0}, "0 or more"),
        ({"device": "abacus"}, "no device 'abacus'"),
        ({"map": ["linear"]}, "'identity', 'orthogonal', 'linear'"),
        ({"holdout": "0.2"}, "below 1"),
        ({"holdout": None}, "below 1"),
        ({"ridge": float("nan")}, "0 or more"),
        ({"ridge": "1"}, "0 or more"),
        ({"seed": 1.5}, "whole number"),
        ({"seed": -1}, "whole number"),
        ({"center": "no"}, "True or False"),
    ],
)
def test_an_option_out_of_bounds_says_what_is_possible(normal, change, words):
    with pytest.raises(EmbtieError, match=words):
        ew.align(normal(50, 4), normal(50, 4), **change)


def test_matrices_that_do_not_fit_together_are_refused_with_their_sizes(normal):
    with pytest.raises(EmbtieError, match="x 50, y 51"):
        ew.align(normal(50, 4), normal(51, 4))
    with pytest.raises(EmbtieError, match="4 and 5"):
        ew.align(normal(50, 4), normal(50, 5), "identity")
    with pytest.raises(EmbtieError, match=r"shape \(50,\)"):
        ew.align(normal(50), normal(50, 4))
    with pytest.raises(EmbtieError, match="not loaded"):
        ew.align(torch.empty(50, 4, device="meta"), normal(50, 4))


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a[::-1][::-1],
        lambda a: np.asfortranarray(a),
        lambda a: a.astype(">f8"),
        lambda a: a.astype(np.longdouble),
        lambda a: a.astype(object),
        lambda a: a.tolist(),
        lambda a: pd.DataFrame(a),
    ],
)
def test_any_table_of_numbers_will_do(normal, change):
    x, y = normal(50, 4), normal(50, 4)
    found = ew.align(change(x.numpy()), y)
    np.testing.assert_allclose(found.cosine, ew.align(x, y).cosine, atol=1e-12)


def test_a_masked_entry_is_no_number(normal):
    x = np.ma.array(normal(50, 4).numpy(), mask=False)
    x.mask[7, 1] = True
    assert np.flatnonzero(np.isnan(ew.align(x, normal(50, 4)).cosine)).tolist() == [7]


@pytest.mark.parametrize(
    "bad",
    [None, "matrix", [[1, 2], [3]], object(), np.full((9, 2), 1j), torch.eye(9).to_sparse()],
)
def test_what_is_no_table_of_numbers_is_told_by_name(normal, bad):
    with pytest.raises(EmbtieError, match="x") as caught:
        ew.align(bad, normal(9, 2))
    assert caught.value.hint


def test_eight_bit_floats_are_measured_as_their_values(normal):
    x, y = normal(90, 6).to(torch.float8_e4m3fn), normal(90, 6)
    x[3] = 0
    found = ew.align(x, y, "orthogonal")
    np.testing.assert_allclose(found.cosine, ew.align(x.double(), y, "orthogonal").cosine)


def test_a_fit_that_centring_makes_exact_says_that_it_means_nothing(normal):
    found = ew.align(normal(17, 16), normal(17, 16), "linear", holdout=0)
    assert any("means nothing" in note for note in found.settings["notes"])


def test_a_share_too_small_for_any_row_gives_no_hold_out_and_says_so(normal):
    found = ew.align(normal(50, 4), normal(50, 4), holdout=0.002)
    assert found.heldout_mean is None
    assert "No hold-out" in found.settings["notes"][0]


@pytest.mark.parametrize("rows", [8, 16])
def test_fewer_tokens_than_dimensions_is_refused_for_a_linear_map_without_ridge(normal, rows):
    x, y = normal(rows, 16), normal(rows, 16)
    with pytest.raises(EmbtieError, match="Fewer tokens than dimensions"):
        ew.align(x, y, "linear")
    assert ew.align(x, y, "linear", ridge=1.0).mean < 1
    assert ew.align(x, y, "orthogonal").mean < 1


def test_a_split_too_small_for_a_linear_map_gives_no_hold_out_and_says_so(normal):
    found = ew.align(normal(18, 16), normal(18, 16), "linear")
    assert found.heldout_mean is None
    assert "No hold-out" in found.settings["notes"][0]


def test_ridge_is_added_to_the_squares_of_the_map(normal):
    x, y = normal(100, 20), normal(100, 20)
    found = ew.align(x, y, ridge=30.0, holdout=0)
    xc, yc = x - x.mean(0), y - y.mean(0)
    mapped = xc @ torch.linalg.solve(xc.T @ xc + 30.0 * torch.eye(20), xc.T @ yc)
    expected = torch.cosine_similarity(mapped, yc)
    np.testing.assert_allclose(found.cosine, expected, atol=1e-10)
