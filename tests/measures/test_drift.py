"""How far rows have turned: values, order, rows that cannot be compared, equal bytes."""

import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest
import torch

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.measures.drift import DriftMeter, drift, row_cosines
from embtie_widgets.results.checkpoints import Checkpoint
from embtie_widgets.results.storage import from_bytes, to_bytes

CURVES = ("input_to_first", "output_to_first", "input_to_previous", "output_to_previous")


def matrix(seed: int, rows: int = 50, width: int = 8) -> torch.Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))


def series(steps: tuple[int, ...] = (0, 10, 100), dtype: Any = torch.float32) -> list[Any]:
    return [(step, matrix(step).to(dtype), matrix(step + 1).to(dtype)) for step in steps]


def mean_cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    """By the definition, one row after the other."""
    a, b = a.double(), b.double()
    return float(np.mean([float(x @ y / (x.norm() * y.norm())) for x, y in zip(a, b, strict=True)]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_the_means_are_those_of_raw_row_cosines(dtype: torch.dtype) -> None:
    kept = series(dtype=dtype)
    found = drift(kept)
    for place, (_, inside, outside) in enumerate(kept):
        before = kept[max(place - 1, 0)]
        for name, now, other in (
            ("input_to_first", inside, kept[0][1]),
            ("output_to_first", outside, kept[0][2]),
            ("input_to_previous", inside, before[1]),
            ("output_to_previous", outside, before[2]),
        ):
            assert getattr(found, name)[place] == pytest.approx(mean_cosine(now, other), abs=1e-12)
    assert [getattr(found, name)[0] for name in CURVES] == [1.0] * 4


def test_nothing_is_centred() -> None:
    shifted = [(step, inside + 3.0, outside) for step, inside, outside in series()]
    assert drift(shifted).input_to_first[-1] > drift(series()).input_to_first[-1] + 0.5


def test_chance_is_the_mean_over_all_pairs_of_different_rows() -> None:
    kept = [(step, inside + 1.0, outside) for step, inside, outside in series()]
    kept[1][1][4] = 0
    unit = [one / one.norm(dim=1, keepdim=True) for one in (m[1].double() for m in kept)]
    used = torch.arange(50) != 4
    now, first = unit[1][used], unit[0][used]
    every = (now @ first.T).fill_diagonal_(0).sum() / (49 * 48)
    found = drift(kept)
    assert found.chance["input_to_first"][1] == pytest.approx(float(every), abs=1e-12)
    assert found.chance["input_to_first"][1] > 0.3  # a common direction is no likeness of a row
    assert abs(found.chance["output_to_first"][1]) < 0.05


def test_a_known_turn_is_measured_and_given_per_step() -> None:
    start = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    angle = math.radians(30)
    turn = torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    found = drift(
        [(0, start, start), (10, start @ turn * 7, start), (40, start @ turn @ turn, start)]
    )
    assert found.input_to_first == pytest.approx([1, math.cos(angle), math.cos(2 * angle)])
    assert found.turn("input")[1:] == pytest.approx([3.0, 1.0])
    assert math.isnan(found.turn("input")[0])
    assert found.since.tolist() == [0, 10, 30]
    assert found.uneven
    assert not drift(series((0, 5, 10))).uneven


def test_unsorted_steps_are_sorted_and_distances_follow() -> None:
    kept = series((0, 10, 100))
    found = drift([kept[2], kept[0], kept[1]])
    assert found.steps.tolist() == [0, 10, 100]
    assert found.since.tolist() == [0, 10, 90]
    for name in CURVES:
        assert np.array_equal(getattr(found, name), getattr(drift(kept), name))


def test_a_step_that_stands_twice_is_refused_in_words() -> None:
    with pytest.raises(EmbtieError, match=r"Step 1,000 is given more than once"):
        drift([*series((0, 1000)), *series((1000,))])


@pytest.mark.parametrize("wrong", [3, "nano", [1, 2], [(1, 2)], [(-1, None, None)], [(1.5, 0, 0)]])
def test_what_is_no_list_of_checkpoints_is_refused(wrong: Any) -> None:
    with pytest.raises(EmbtieError):
        drift(wrong)


def test_no_checkpoint_at_all_is_refused_and_a_single_one_is_at_its_start() -> None:
    with pytest.raises(EmbtieError, match="no checkpoints"):
        drift([])
    assert drift(series((7,))).input_to_first.tolist() == [1.0]


def test_rows_without_direction_are_left_out_of_the_means_and_counted() -> None:
    kept = series((0, 10, 20))
    kept[0][1][0] = 0  # never comparable with the first
    kept[1][1][1] = math.nan
    kept[2][1][2] = math.inf
    found = drift(kept)
    assert found.left_out == {"input": 3, "output": 0}
    assert found.input_to_first[1] == pytest.approx(mean_cosine(kept[1][1][2:], kept[0][1][2:]))
    assert np.flatnonzero(np.isnan(found.rows["input_to_first"])).tolist() == [0, 2]
    assert np.flatnonzero(np.isnan(found.rows["input_to_previous"])).tolist() == [1, 2]


def test_a_matrix_of_zeros_has_no_mean() -> None:
    found = drift([(0, torch.zeros(4, 3), None), (1, torch.zeros(4, 3), None)])
    assert np.isnan(found.input_to_first).all()
    assert found.left_out == {"input": 4}


def test_very_long_and_very_short_rows_have_their_cosine() -> None:
    rows = matrix(3).double()
    for size in (1e-300, 1e300):
        assert row_cosines(rows * size, matrix(4).double())[0] == pytest.approx(
            row_cosines(rows, matrix(4).double())[0], abs=1e-12
        )


def test_a_million_almost_equal_rows_have_the_mean_of_float64() -> None:
    """Added up in float32 the mean would be off in the fifth place."""
    rows = torch.ones(1_000_000, 2)
    other = rows + torch.tensor([0.0, 1e-3])
    exact = 2.001 / math.sqrt(2 * (1 + 1.001**2))
    found = drift([(0, rows, None), (1, other, None)])
    assert found.input_to_first[1] == pytest.approx(exact, abs=1e-9)


def test_equal_bytes_are_told_by_role_and_pair() -> None:
    kept = series((0, 10, 20, 30))
    kept[2] = (20, kept[0][1].clone(), kept[2][2])
    kept[3] = (30, kept[0][1].clone(), kept[2][2].clone())
    found = drift(kept)
    assert set(found.same_bytes) == {
        ("input", 0, 20), ("input", 0, 30), ("input", 20, 30), ("output", 20, 30)
    }  # fmt: skip
    assert found.input_to_first[2] == 1.0
    assert drift(series()).same_bytes == ()


def test_values_that_are_equal_in_another_type_are_other_bytes() -> None:
    inside = matrix(1).half()
    assert drift([(0, inside, None), (1, inside.float(), None)]).same_bytes == ()


def test_a_shared_matrix_is_tied_and_told_once() -> None:
    shared = [matrix(1), matrix(2), matrix(1)]
    found = drift([(step, one, one) for step, one in enumerate(shared)])
    assert found.tied is True
    assert found.same_bytes == (("tied", 0, 2),)
    assert np.array_equal(found.input_to_first, found.output_to_first)
    copied = drift([(step, one, one.clone()) for step, one in enumerate(shared)])
    assert copied.tied is True
    assert drift(series()).tied is False


def test_matrices_that_only_begin_alike_are_not_taken_for_one_where_more_is_known() -> None:
    meter, guess = DriftMeter(tied=False), DriftMeter()
    for one in (meter, guess):
        one.add(Checkpoint("a", step=0), matrix(0), matrix(0))
    assert (meter.result().tied, guess.result().tied) == (False, True)
    guess.add(Checkpoint("b", step=1), matrix(1), matrix(2))
    assert guess.result().tied is False


def test_a_model_without_output_has_gaps_there() -> None:
    found = drift([(step, inside, None) for step, inside, _ in series()])
    assert found.tied is None
    assert np.isnan(found.output_to_first).all()
    assert np.isfinite(found.input_to_first).all()


def test_bands_are_the_means_over_their_rows() -> None:
    counts = np.array([0] * 10 + [5] * 15 + [50] * 25)
    found = drift(series(), counts)
    assert found.bands[:3] == ("0 times", "1 to 9 times", "10 to 99 times")
    for name in CURVES:
        rows = found.rows[name]
        assert found.by_band[name].shape == (3, len(found.bands))
        assert found.by_band[name][-1, 1] == pytest.approx(rows[10:25].mean())
        assert np.isnan(found.by_band[name][:, 3:]).all()
        whole = (found.by_band[name][-1, :3] * [10, 15, 25]).sum() / 50
        assert whole == pytest.approx(getattr(found, name)[-1])


def test_counts_of_other_rows_and_matrices_of_another_shape_are_refused() -> None:
    with pytest.raises(EmbtieError, match="49 counts for 50 rows"):
        drift(series(), np.zeros(49))
    with pytest.raises(EmbtieError, match=r"shape \(51, 8\) at step 10, and \(50, 8\)"):
        drift([(0, matrix(0), None), (10, matrix(1, rows=51), None)])


def test_a_checkpoint_that_does_not_fit_leaves_the_meter_as_it_was() -> None:
    meter = DriftMeter()
    meter.add(Checkpoint("a", step=0), matrix(0), matrix(1))
    with pytest.raises(EmbtieError):
        meter.add(Checkpoint("b", step=1), matrix(0, width=9), matrix(1))
    meter.add(Checkpoint("c", step=2), matrix(2), matrix(3))
    assert meter.result().names == ("a", "c")
    assert meter.result().since.tolist() == [0, 2]


def test_from_one_stage_to_the_next_the_distance_is_not_known() -> None:
    places = [
        Checkpoint("step10", step=10),
        Checkpoint("stage2-step5", stage=2, step=5),
        Checkpoint("stage2-step8", stage=2, step=8, tokens=10),
        Checkpoint("main"),
    ]
    meter = DriftMeter()
    for number, place in enumerate(places):
        meter.add(place, matrix(number), None)
    found = meter.result()
    assert np.array_equal(found.since, [0, np.nan, 3, np.nan], equal_nan=True)
    assert np.array_equal(found.steps, [10, 5, 8, np.nan], equal_nan=True)
    assert [one.name for one in found.stops] == [one.name for one in places]
    assert found.stops[2].since_loaded is not None
    assert found.stops[2].since_loaded.before == "stage2-step5"
    assert np.isfinite(found.input_to_previous).all()
    assert "main" in repr(found)


def test_only_three_checkpoints_are_ever_held() -> None:
    alive: list[weakref.ref[torch.Tensor]] = []
    meter = DriftMeter()
    for step in range(8):
        one = matrix(step)
        alive.append(weakref.ref(one))
        meter.add(Checkpoint(str(step), step=step), one, None)
        del one
        gc.collect()
        assert sum(kept() is not None for kept in alive) <= 3


def test_the_matrices_are_left_as_they_were() -> None:
    kept = series()
    before = [(inside.clone(), outside.clone()) for _, inside, outside in kept]
    drift(kept)
    for (_, *now), was in zip(kept, before, strict=True):
        assert all(map(torch.equal, now, was))


def test_the_work_can_be_called_off_between_blocks() -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "comparing rows" and done:
            raise Cancelled

    long = torch.ones(10_000, 2)
    with pytest.raises(Cancelled):
        drift([(0, long, None), (1, long + 1, None)], progress=stop)


def test_a_result_is_stored_and_comes_back_with_a_row_for_each_checkpoint() -> None:
    found = drift(series(), np.arange(50))
    again = from_bytes(to_bytes(found))
    assert again.to_frame().equals(found.to_frame())
    assert again.same_bytes == found.same_bytes
    assert list(found.to_frame()) == ["checkpoint", "step", "since", *CURVES]
    assert len(found.to_frame()) == 3
