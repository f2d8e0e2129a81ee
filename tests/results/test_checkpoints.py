"""Where checkpoints stand on an axis, and what a report of them says."""

import itertools
import math

import pytest

from embtie_widgets.results.checkpoints import (
    Checkpoint,
    CheckpointReport,
    Distance,
    SameBytes,
)
from embtie_widgets.results.storage import from_bytes, to_bytes


def report(*rows: Checkpoint, repeats: tuple[SameBytes, ...] = ()) -> CheckpointReport:
    return CheckpointReport("a/model", rows, repeats, (), {})


def steps(
    *numbers: int, stage: int | None = None, ingredient: int | None = None
) -> list[Checkpoint]:
    names = [f"stage{stage}-ingredient{ingredient}-step{n}" for n in numbers]
    return [
        Checkpoint(name, stage=stage, ingredient=ingredient, step=n)
        for name, n in zip(names, numbers, strict=True)
    ]


MAIN = Checkpoint("main")


def test_distances_on_the_axis_are_true_to_the_steps() -> None:
    at, _ = report(*steps(0, 1000, 3000)).positions(log=False)
    assert at == pytest.approx([0, 1 / 3, 1])


def test_the_log_scale_is_of_the_step_plus_one_so_that_step_0_is_on_it() -> None:
    at, _ = report(*steps(0, 9, 99, 999)).positions()
    assert at == pytest.approx([0, 1 / 3, 2 / 3, 1])


@pytest.mark.parametrize("log", [True, False])
def test_a_wide_gap_is_wider_than_a_narrow_one(log: bool) -> None:
    at, _ = report(*steps(1000, 2000, 202_000)).positions(log)
    assert at[2] - at[1] > 4 * (at[1] - at[0])


def test_stages_and_ingredients_stand_side_by_side_with_a_gap_and_main_at_the_end() -> None:
    rows = [
        *steps(0, 1000, stage=1),
        *steps(5, 50, stage=2, ingredient=1),
        *steps(5, 60, stage=2, ingredient=2),
        MAIN,
    ]
    at, tracks = report(*rows).positions()
    assert at == sorted(at)
    assert at[-1] == 1.0
    assert [track.label for track in tracks] == [
        "stage 1",
        "stage 2, ingredient 1",
        "stage 2, ingredient 2",
    ]
    edges = [(track.start, track.end) for track in tracks]
    assert all(end < start for (_, end), (start, _) in itertools.pairwise(edges))
    assert tracks[-1].end < 1.0
    for row, place in zip(rows[:-1], at, strict=False):
        [own] = [track for track in tracks if track.start <= place <= track.end]
        assert own.of(row.step or 0) == pytest.approx(place)


def test_names_that_give_tokens_alone_have_an_axis_of_their_own() -> None:
    rows = [
        *steps(1, 2),
        Checkpoint("tokens2T", tokens=2 * 10**12),
        Checkpoint("tokens4T", tokens=4 * 10**12),
    ]
    at, tracks = report(*rows).positions(log=False)
    assert [track.unit for track in tracks] == ["steps", "tokens"]
    assert at[3] > at[2] > at[1]


@pytest.mark.parametrize("count", [1, 2, 40])
def test_any_number_of_tracks_fits(count: int) -> None:
    rows = [row for i in range(count) for row in steps(10, 20, stage=i + 1)]
    at, tracks = report(*rows, MAIN).positions()
    assert len(tracks) == count
    assert at == sorted(at)
    assert all(0 <= place <= 1 and math.isfinite(place) for place in at)
    assert at[1] > at[0]


def test_a_lone_checkpoint_and_no_checkpoint_have_a_place_too() -> None:
    assert report(*steps(7)).positions()[0] == [0.5]
    assert report(MAIN).positions() == ([1.0], [])
    assert report().positions() == ([], [])


def test_a_frame_gives_place_distance_and_who_has_the_same_bytes() -> None:
    rows = (
        Checkpoint("step0", step=0, state="loaded", hashes={"input": "aa"}),
        Checkpoint(
            "step9",
            step=9,
            state="loaded",
            hashes={"input": "aa"},
            since=Distance("step0", 9, None),
            since_loaded=Distance("step0", 9, None),
        ),
        Checkpoint("step10", step=10, state="skipped", reason="no weights"),
    )
    same = SameBytes(("the input matrix",), ("step0", "step9"))
    frame = report(*rows, repeats=(same,)).to_frame()
    assert frame["revision"].tolist() == ["step0", "step9", "step10"]
    assert frame["steps since the loaded one"].tolist()[1] == 9
    assert frame["same bytes as"].tolist() == ["step9", "step0", ""]
    assert frame["reason"].tolist() == ["", "", "no weights"]


def test_a_report_can_be_stored_and_read_again() -> None:
    same = SameBytes(("the input matrix", "the file x.bin"), ("a", "b"))
    whole = report(*steps(0, 5, stage=2), MAIN, repeats=(same,))
    assert from_bytes(to_bytes(whole)) == whole
    many = SameBytes(("the input matrix",), tuple(f"step{i}" for i in range(86)))
    assert str(many).endswith("at step0, step1, step2, step3, step4, step5 and 80 more.")
    assert str(same) == (
        "The input matrix is the same, byte for byte, at a, b; so is the file x.bin."
    )
