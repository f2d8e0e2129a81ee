"""What is said of an experiment on the bottleneck, and what the command line prints of it."""

from dataclasses import replace

import numpy as np
import pytest

from embtie_widgets.charts import trials as chart
from embtie_widgets.charts.trials_view import percent
from embtie_widgets.charts.trials_words import at_draws
from embtie_widgets.results.trials import DIVERGED
from tests import sample_trials as sample


def test_each_way_is_told_against_the_full_head_at_the_smallest_rank() -> None:
    result = sample.ranks()
    said = chart.headline(result)
    by_way = {(one["way"], one["rank"]): one["mean"] for one in result.excess}
    assert "at rank 4 of 32" in said
    assert f"{by_way['factorised', 4]:+.3f} nats with a factorised head" in said
    assert f"{by_way['backward', 4]:+.3f} nats with the backward pass alone restricted" in said
    assert f"{by_way['head-update', None]:+.3f} nats with the head's own update cut" in said


def test_small_gaps_of_one_seed_are_told_as_what_chance_may_make() -> None:
    assert "may be chance" in chart.headline(sample.ranks())
    several = chart.headline(sample.ranks(seeds=(0, 1, 2)))
    assert "may be chance" not in several
    assert "[+" in several


def test_so_are_small_gaps_between_two_ways() -> None:
    result = sample.ranks(ways=("full", "factorised", "backward"))
    apart, near = (
        tuple(line | {"mean": gap} for line, gap in zip(result.excess, gaps, strict=True))
        for gaps in ((0.6,) * 3 + (0.3,) * 3, (0.6,) * 3 + (0.55,) * 3)
    )
    assert "may be chance" not in chart.headline(replace(result, excess=apart))
    assert "may be chance" in chart.headline(replace(result, excess=near))


def test_a_loss_below_that_of_the_full_head_is_told_with_its_sign() -> None:
    result = sample.ranks()
    lines = tuple(one | {"mean": -one["mean"]} for one in result.excess)
    assert "−0.175 nats with a factorised head" in chart.headline(replace(result, excess=lines))


def test_lengths_are_compared_at_the_budget_and_at_equal_independent_sequences() -> None:
    result = sample.spamlang()
    said = chart.headline(result)
    assert said.startswith("Length 1 gets 100 % of 1,024 symbols right after 64 independent")
    assert "of each, length 64 45.1 % after 1. After" in said
    both = [at_draws(run, "accuracy", 1_024) for run in result.trials]
    assert both[0] == pytest.approx(both[1], abs=0.01)
    at = f"both lengths are at about {percent(both[1])}."
    assert f"After as many independent sequences, 1,024, {at}" in said


def test_shares_of_several_seeds_are_told_as_their_means() -> None:
    result = sample.spamlang(seeds=(0, 1, 2))
    ends = iter([1.0, 0.30, 1.0, 0.60, 1.0, 0.36])
    runs = tuple(replace(one, accuracy=next(ends)) for one in result.trials)
    said = chart.headline(replace(result, trials=runs))
    assert "length 64 42 % after 1." in said
    assert "At seed" not in said
    assert said.endswith("Means over 3 seeds; single runs are up to 18.0 points off.")


def test_one_seed_is_told_to_be_one() -> None:
    assert "With one seed each, small gaps may be chance" in chart.headline(sample.spamlang())
    assert "chance" not in chart.headline(sample.spamlang(lengths=(64,)))


def test_the_widest_gap_of_several_is_told_to_be_that() -> None:
    said = chart.headline(sample.spamlang(rates=(1e-3, 1e-2)))
    assert said.startswith("Where lengths differ most, at rate 0.001: length 1 gets")


def test_where_both_lengths_had_as_many_sequences_that_is_not_said_twice() -> None:
    said = chart.headline(sample.spamlang(budget="sequences", amount=2_048))
    assert "After as many" not in said


def test_the_accuracy_between_two_logged_steps_is_on_the_line_between_them() -> None:
    run = sample.spamlang().trials[0]
    at, known = run.curves["sequences"], run.curves["accuracy"]
    run = replace(run, curves=run.curves | {"step": np.arange(1.0, len(at) + 1)})
    assert at_draws(run, "accuracy", (at[4] + at[5]) / 2) == pytest.approx(
        (known[4] + known[5]) / 2
    )
    assert np.isnan(at_draws(run, "accuracy", at[0] - 1))


def test_equal_sequences_in_different_numbers_of_steps_are_not_compared() -> None:
    result = sample.spamlang()
    short, long = result.trials
    hasty = replace(short, curves=short.curves | {"step": short.curves["step"] / 64})
    said = chart.headline(replace(result, trials=(hasty, long)))
    assert "After as many" not in said
    assert "took different numbers of steps (length 1: 1, length 64: 64)" in said


def test_never_correct_classes_and_ends_of_v_against_d_are_told() -> None:
    extra = chart.headline(sample.spamlang(lengths=(64,), extra=(0, 256, 4_096)))
    assert "With 0, 256 and 4,096 never-correct classes 45.1 %" in extra
    ratio = chart.headline(sample.spamlang(lengths=(64,), symbols=(256, 4_096), widths=(8, 64)))
    assert "A V/d of 4 ends with 90.9 %" in ratio
    assert "one of 512 with 13.9 % after 0.25." in ratio


def test_the_dispute_is_told_and_nobody_is_taken_sides_with() -> None:
    for result in (sample.ranks(), sample.spamlang()):
        said = chart.dispute(result)
        assert "disagree" in said
        assert "Judge by the lines" in said
        both = " ".join([said, chart.headline(result), chart.caption(result)])
        assert "destroyed" not in both


def test_nothing_ended_says_how_far_it_is_and_diverged_runs_are_counted() -> None:
    waiting = tuple(sample.turned(one, "waiting") for one in sample.spamlang().trials)
    assert "In training: 0 of 2." in chart.headline(
        replace(sample.spamlang(), trials=waiting, progress="0 of 2")
    )
    gone = tuple(sample.turned(one, DIVERGED) for one in sample.spamlang().trials)
    assert "2 runs diverged" in chart.headline(replace(sample.spamlang(), trials=gone))
    assert "✕ diverged" in chart.caption(replace(sample.spamlang(), trials=gone))


def test_copies_that_have_the_same_logits_are_told_in_the_caption() -> None:
    assert "the same logits with this architecture" in chart.caption(sample.spamlang())
    told = chart.caption(sample.spamlang(preset="nano-gpt2"))
    assert "same logits" not in told


def test_that_a_factorised_head_is_trained_in_another_way_is_told_where_there_is_one() -> None:
    said = "trained as two matrices"
    assert said in chart.excess_caption(sample.ranks())
    assert said not in chart.excess_caption(sample.ranks(ways=("full", "backward")))


def test_failed_runs_are_told_once_a_reason() -> None:
    assert chart.cautions(sample.every_state()) == [f"1 of 18 runs failed: {sample.REASON}"]
    assert chart.cautions(sample.ranks()) == []


def test_the_command_line_prints_every_run_and_every_loss_above() -> None:
    result = sample.ranks(seeds=(0, 1))
    printed = chart.text(None, result)
    assert printed.count("factorised  ") == 6
    assert printed.count("backward only, rank") == 3
    assert "95 % +" in printed
    assert "note: One rate was given twice" in printed
    assert "4096" in chart.text(None, sample.grid())
