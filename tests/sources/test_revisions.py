"""Names of checkpoints, as different projects write them."""

import random

import pytest

from embtie_widgets.sources.revisions import checkpoints, gaps, ordered, parse, spread

NAMES = [
    "step0",
    "step1",
    "step2",
    "step512",
    "step1000-tokens4B",
    "step1000",
    "step2000",
    "step117850-tokens494B",
    "step143000",
    "step330000-tokens1384B",
    "stage2-ingredient1-step23852-tokens51B",
    "main",
]


def test_steps_are_ordered_as_numbers_within_a_stage_and_main_comes_last() -> None:
    shuffled = list(NAMES)
    random.Random(1).shuffle(shuffled)
    found = [revision.name for revision in ordered(shuffled)]
    assert found[:4] == ["step0", "step1", "step2", "step512"]
    assert set(found[4:6]) == {"step1000", "step1000-tokens4B"}
    assert found[6:] == NAMES[6:]


@pytest.mark.parametrize(
    ("name", "step", "tokens"),
    [
        ("step1000-tokens4B", 1000, 4 * 10**9),
        ("step117850-tokens494B", 117850, 494 * 10**9),
        ("step330000-tokens1384B", 330000, 1384 * 10**9),
        ("stage2-ingredient1-step23852-tokens51B", 23852, 51 * 10**9),
        ("step143000", 143000, None),
        ("global_step1000", 1000, None),
        ("iter_0001000", 1000, None),
        ("checkpoint-500", 500, None),
        ("ckpt_005", 5, None),
        ("step0", 0, None),
        ("iter_0000000", 0, None),
        ("intermediate-step-1431k-3T", 1431000, 3 * 10**12),
        ("step-50K-105b", 50000, 105 * 10**9),
        ("stage1-step-40000", 40000, None),
        ("tokens2.5T", None, 2_500_000_000_000),
        ("100B-tokens", None, 10**11),
        ("main", None, None),
        ("v1.0", None, None),
        ("stepwise-2", None, None),
        ("refs/pr/12", None, None),
    ],
)
def test_a_name_says_its_step_and_tokens(name: str, step: int | None, tokens: int | None) -> None:
    found = parse(name)
    assert (found.name, found.step, found.tokens) == (name, step, tokens)
    assert found.is_checkpoint == (step is not None or tokens is not None)


def test_stages_and_ingredients_are_tracks_of_their_own() -> None:
    names = ["stage2-ingredient2-step5", "stage1-step9", "stage2-ingredient1-step7", "step3"]
    found = ordered(names)
    assert [(r.track, r.step) for r in found] == [
        ((1, 0), 3),
        ((1, 0), 9),
        ((2, 1), 7),
        ((2, 2), 5),
    ]


def test_gaps_are_told_in_steps_and_tokens_and_never_across_tracks() -> None:
    found = gaps(ordered(["step1000-tokens4B", "step3000-tokens12B", "stage2-step10", "main"]))
    assert [(g.before.name, g.after.name, g.steps, g.tokens) for g in found[:1]] == [
        ("step1000-tokens4B", "step3000-tokens12B", 2000, 8 * 10**9)
    ]
    assert not any({g.before.track, g.after.track} == {(1, 0), (2, 0)} for g in found)


def test_only_names_with_a_place_in_the_training_are_checkpoints_and_none_twice() -> None:
    found = checkpoints(["main", "step2", "v1", "step1", "step2"])
    assert [revision.name for revision in found] == ["step1", "step2"]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 200])
def test_a_spread_keeps_first_and_last_and_the_order(count: int) -> None:
    all_of_them = checkpoints(f"step{i}" for i in range(154))
    found = spread(all_of_them, count)
    assert len(found) == min(count, 154)
    assert found == sorted(found, key=all_of_them.index)
    assert found[-1] is all_of_them[-1]
    assert count == 1 or found[0] is all_of_them[0]


def test_a_number_without_end_is_no_step() -> None:
    assert parse("step" + "9" * 5000).step is None
    assert parse("tokens" + "9" * 5000 + "B").tokens is None
    assert parse("step" + "0" * 50 + "7").step == 7
