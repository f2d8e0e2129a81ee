"""What a sweep says in words: honest, with its numbers, and in every state."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import centering as chart
from embtie_widgets.results.centering import CenteringReport, CenteringRun, Effect
from tests.sample_centering import (
    INITIAL,
    RATES,
    REASON,
    every_state,
    growing,
    one_rate,
    recorded,
    report,
    run,
    waiting,
)


def changed(made: CenteringReport, method: str, **new: Any) -> CenteringReport:
    """The report with other facts of the runs of a method."""
    runs = tuple(replace(one, **new) if one.method == method else one for one in made.runs)
    return replace(made, runs=runs)


def calm(**settings: Any) -> CenteringReport:
    """One rate at which nothing parts."""
    return report((1e-2,), methods=("none", "mu-centering", "z-loss"), **settings)


def test_a_run_that_diverges_is_told_with_its_step_and_what_the_others_reach() -> None:
    said = chart.headline(report())
    assert said.startswith(
        "At a learning rate of 0.3 the baseline diverges at step 200; μ-centering, μ-loss, z-loss "
        "and soft-cap go on to the end, with a loss of 3.562 to 3.668."
    )
    assert "1.362 nats higher without a method, 0.053 with μ-centering" in said


def test_a_loss_that_parts_is_told_with_the_distance_and_what_has_grown() -> None:
    said = chart.headline(one_rate())
    assert "the baseline ends with a loss of 3.999, 0.48 nats above μ-centering with 3.519" in said
    assert "mean logit has run to 180, while the logits of a position spread by 3.74" in said
    assert "common to all tokens" in said


def test_where_nothing_parts_it_says_so_and_that_it_takes_a_longer_run() -> None:
    made = calm()
    quiet = made.runs[0].numbers | {"logit_mean": -2.0}
    said = chart.headline(changed(made, "none", numbers=quiet))
    assert "all methods end within 0.001 nats of one another, at about 3.46" in said
    assert "mean row has a length of 6.03, its mean logit is −2" in said
    assert "Nothing diverges here; that takes a longer run" in said
    assert "100,000 steps" in said
    assert "common to all tokens" not in said


def test_of_a_recorded_sweep_it_is_not_said_that_it_should_be_longer() -> None:
    made = calm(source="file")
    quiet = made.runs[0].numbers | {"logit_mean": -2.0}
    assert "longer run" not in chart.headline(changed(made, "none", numbers=quiet))


def test_a_large_mean_is_told_even_where_the_loss_does_not_part() -> None:
    said = chart.headline(calm())
    assert "within 0.001 nats" in said
    assert "has run to 18, while" in said
    assert "Nothing diverges here; that takes a longer run" in said
    assert "longer run" not in chart.headline(one_rate())


def test_a_rival_that_is_worse_than_the_baseline_is_told() -> None:
    said = chart.headline(changed(calm(), "z-loss", loss=3.9))
    assert "the baseline ends with a loss of 3.459, no worse than the best of the others" in said
    assert "z-loss ends with 3.900" in said


def test_rates_at_which_nothing_is_left_are_told_after_the_highest_at_which_something_is() -> None:
    made = report(RATES[:3])
    gone = tuple(
        replace(one, state="diverged", loss=float("nan")) if one.lr == RATES[2] else one
        for one in made.runs
    )
    said = chart.headline(replace(made, runs=gone))
    assert said.startswith("At a learning rate of 0.01 all methods end within")
    assert "At 0.03 all diverge." in said
    lost = tuple(replace(one, state="diverged") for one in made.runs)
    assert "At a learning rate of 0.03 all 5 runs diverge." in chart.headline(
        replace(made, runs=lost)
    )


def test_a_run_that_is_no_better_than_guessing_at_its_end_has_no_step_at_which_it_diverged() -> (
    None
):
    made = one_rate()
    said = chart.headline(changed(made, "none", state="diverged"))
    assert "the baseline diverges; μ-centering" in said


def test_many_runs_are_counted_not_named() -> None:
    made = report((0.3,), coefficients=(1e-7, 1e-4, 1e-1))
    assert "diverges at step 200; 8 of the 9 runs go on to the end" in chart.headline(made)


def test_untied_runs_speak_before_tied_ones_and_sizes_are_named() -> None:
    made = report(tying=(True, False), sizes=("nano", "small"))
    said = chart.headline(made)
    assert said.startswith("At a learning rate of 0.3 (nano, untied) the baseline diverges")
    assert said.endswith("0.053 with μ-centering, by size.")


def test_sensitivities_over_other_rates_are_not_compared() -> None:
    made = report()
    fewer = tuple(
        replace(one, rates=one.rates[:3]) if one.method != "none" else one
        for one in made.sensitivity
    )
    assert "Away from the best" not in chart.headline(replace(made, sensitivity=fewer))


def test_a_training_says_how_far_it_is_before_any_run_has_ended() -> None:
    begun = tuple(map(waiting, one_rate().runs))
    made = replace(one_rate(), runs=begun, sensitivity=(), progress="step 3 of 300 of run 1 of 5")
    assert chart.headline(made) == "In training: step 3 of 300 of run 1 of 5."
    assert chart.headline(replace(made, progress="")) == "No run has come to its end."


def test_without_a_baseline_the_best_run_is_told() -> None:
    said = chart.headline(report(methods=("mu-loss", "mu-centering")))
    assert said.startswith("Of 10 runs the best, μ-loss at 0.01, ends with a loss of 3.459.")
    alone = replace(one_rate(), runs=(run("recorded", 1e-2, seed=None),), sensitivity=())
    assert "recorded at 0.01 ends with a loss of" in chart.headline(alone)
    assert "its mean row has a length of" in chart.headline(alone)


def movers(lengths: dict[str, tuple[float, float]]) -> CenteringReport:
    """Runs whose mean row goes from one length to another."""

    def made(method: str, ends: tuple[float, float]) -> CenteringRun:
        one = run(method, 1e-2)
        return replace(one, curves=one.curves | {"mu_output": np.linspace(*ends, 30)})

    runs = tuple(made(method, ends) for method, ends in lengths.items())
    return replace(one_rate(), runs=runs, sensitivity=(), effects=())


def test_who_moves_the_mean_row_and_who_does_not() -> None:
    ends = {"none": (0.03, 6.0), "coupled-adam": (0.03, 0.0301), "sgd": (0.03, 0.03)}
    assert chart.headline(movers(ends)) == (
        "The length of the mean row goes from 0.03 to 6 with Adam, and stays at 0.0301 with "
        "Coupled Adam and at 0.03 with plain SGD."
    )
    moved = movers(ends | {"coupled-adam": (0.03, 0.09)})
    assert "from 0.03 to 6 with Adam and from 0.03 to 0.09 with Coupled Adam" in chart.headline(
        moved
    )


def test_of_a_sensitivity_that_is_not_known_nothing_is_warned_of() -> None:
    made = recorded()
    short = tuple(replace(one, unknown=3, value=np.nan) for one in made.sensitivity)
    unknown = replace(made, sensitivity=short)
    assert "ensitivity" not in " ".join(chart.cautions(unknown))
    said = chart.text(None, unknown)
    assert "nan" not in said
    assert "     -  " in said


def test_what_has_no_loss_at_its_end_is_no_best_run() -> None:
    alone = report((0.1, 0.3, 1.0), methods=("none",))
    gone = replace(alone, runs=alone.runs[1:], sensitivity=())
    assert chart.headline(gone) == "2 runs diverge; no run has come to its end."
    assert chart.headline(replace(alone, sensitivity=())).startswith(
        "2 runs diverge; baseline at 0.1 ends with a loss of 3.9"
    )


def test_a_number_that_is_no_loss_is_not_told_as_one() -> None:
    runs = tuple(
        replace(one, loss=np.nan, numbers={"logit_mean": -2.0, "logit_std": 3.0})
        for one in calm().runs
    )
    said = chart.headline(replace(calm(), runs=runs))
    assert "no losses are known" in said
    assert "end within" not in said
    assert chart.rates_caption(replace(calm(), runs=runs)).startswith("Mean logit at the end")


def test_all_methods_are_those_that_have_ended_with_a_loss() -> None:
    said = chart.headline(changed(calm(), "z-loss", state="failed", loss=np.nan, reason=REASON))
    assert "2 of 3 runs end within" in said


def test_in_training_it_is_not_said_that_nothing_diverges() -> None:
    quiet = calm().runs[0].numbers | {"logit_mean": -2.0}
    made = changed(calm(), "none", numbers=quiet)
    assert "Nothing diverges" in chart.headline(made)
    assert "Nothing diverges" not in chart.headline(replace(made, progress="2 of 3 runs"))


def test_a_baseline_that_is_a_little_worse_than_the_best_is_not_called_no_worse() -> None:
    made = changed(changed(calm(), "none", loss=3.04), "mu-centering", loss=3.0)
    said = chart.headline(changed(made, "z-loss", loss=3.5))
    assert "ends with a loss of 3.040, 0.040 above the best of the others" in said


def test_a_small_gap_of_one_seed_is_told_as_what_chance_makes() -> None:
    made = report((1e-2,), methods=("none", "z-loss"))
    near = changed(changed(made, "none", loss=3.60), "z-loss", loss=3.50)
    said = chart.headline(near)
    assert "0.10 nats above z-loss with 3.500. With one seed each a gap of this size may be" in said
    assert "that takes a longer run" in said
    for other in (
        changed(near, "none", loss=4.00),
        changed(near, "none", loss=3.51),
        replace(near, settings=near.settings | {"source": "file"}),
    ):
        assert "chance" not in chart.headline(other)
    assert "that takes a longer run" not in chart.headline(changed(near, "none", loss=4.00))


def test_a_seed_is_named_and_the_others_are_told_with_it() -> None:
    made = report((1e-2,), methods=("none", "z-loss"), seeds=(0, 1, 2))
    losses = iter((3.0, 3.5, 3.6, 3.2, 3.7, 3.1))
    made = replace(made, runs=tuple(replace(one, loss=next(losses)) for one in made.runs))
    said = chart.headline(made)
    assert "At a learning rate of 0.01 (seed 0) the baseline" in said
    assert "Over 3 seeds the baseline ends −0.500 to 0.600 nats above the best" in said


def test_who_broke_off_is_told_beside_who_moves_the_mean_row() -> None:
    made = report((0.1,), methods=("none", "sgd"))
    said = chart.headline(changed(made, "sgd", state="diverged", loss=np.nan))
    assert said.endswith("Plain SGD diverges.") or said.endswith("plain SGD diverges.")


def test_failed_and_missing_runs_are_told_with_their_reason() -> None:
    said = chart.cautions(every_state())
    assert said[0] == f"1 of 25 runs failed (soft-cap at 0.003): {REASON}"
    assert said[1] == "1 of 25 runs is missing."
    assert chart.cautions(report()) == []


def test_a_sensitivity_with_gaps_is_warned_of() -> None:
    assert [one for one in chart.cautions(recorded()) if "sensitivity of z-loss leaves out" in one]


def test_a_best_rate_at_an_end_of_the_sweep_is_warned_of() -> None:
    made = report(RATES[1:])
    (said,) = chart.cautions(made)
    assert said.startswith("The best rate of baseline, μ-centering")
    assert "a better one may lie beyond" in said


def test_what_one_subtraction_changes_is_told_with_its_size() -> None:
    said = chart.effects(report())
    assert said[0].startswith("Untied, without cap: no probability changes by more than 3e-16")
    assert said[1].startswith("Untied, with cap: probabilities change by up to 0.04")
    assert said[2].startswith("Tied, without cap: probabilities change by up to 0.21")
    small = Effect("none", False, True, 1e-7, 0.0, 1.0, "It does.")
    assert "change by up to 1e-07" in chart.effects(replace(report(), effects=(small,)))[0]


def test_captions_say_what_the_charts_rest_on() -> None:
    made = report()
    said = chart.caption(made)
    for words in ("Learning rate 0.3", "300 steps of 8 × 128 tokens", "cap 30", "before any cap",
                  "finely dotted over all stored rows", "✕ where a run diverged"):  # fmt: skip
        assert words in said
    assert "centred every 4 steps" in chart.caption(report(interval=4))
    assert "cap" not in chart.caption(report(methods=("none", "z-loss"))).replace("any cap", "")
    assert "▶ in training" in chart.grid_caption(growing())
    assert "magnitude" in chart.grid_caption(made, "mu_output")
    assert "one seed each" in chart.rates_caption(made)
    assert "mean over 2 seeds" in chart.rates_caption(report(seeds=(0, 1)))


def test_the_precision_is_the_one_that_the_runs_have_had() -> None:
    made = report(precision="auto")
    assert "auto" not in chart.caption(made)
    runs = tuple(replace(one, about={"precision": "bfloat16"}) for one in made.runs)
    assert "tokens, bfloat16" in chart.caption(replace(made, runs=runs))


def test_a_loss_is_called_by_what_it_is_of() -> None:
    assert chart.rates_caption(report()).startswith("Loss on text held out at the end")
    assert chart.rates_caption(recorded()).startswith("Recorded loss at the end")
    batches = tuple(replace(one, about={"loss on": "its last batches"}) for one in report().runs)
    assert chart.rates_caption(replace(report(), runs=batches)).startswith(
        "Loss of the last batches"
    )


def test_for_how_much_a_loss_counts_is_said() -> None:
    assert f"no more than {INITIAL:.2f}" in chart.sensitivity_caption(report())
    open_ended = tuple(replace(one, initial_loss=np.nan) for one in report().sensitivity)
    said = chart.sensitivity_caption(replace(report(), sensitivity=open_ended))
    assert "a loss counts as it is, however large" in said
    assert "nan" not in said
    assert "for the same size" in chart.sensitivity_caption(recorded())


@pytest.mark.parametrize("made", [report, one_rate, growing, every_state, recorded])
def test_the_command_line_gets_a_line_for_each_run(made: Any) -> None:
    result = made()
    said = chart.text(None, result)
    sizes = tuple({one.size for one in result.runs})
    assert sum(line.strip().startswith(sizes) for line in said.splitlines()) == len(result.runs)
    assert chart.headline(result) in said
    assert "nan" not in said.lower().split()
    assert all(f"note: {note}" in said for note in result.notes)


def test_the_command_line_lists_the_sensitivities() -> None:
    said = chart.text(None, report())
    one = report().sensitivity[0]
    assert (
        f"{one.value:.4f}  nano, untied, baseline, seed 0, best {one.best_loss:.4f} at 0.01" in said
    )


def test_rates_that_hardly_differ_have_keys_of_their_own() -> None:
    made = report((0.1234567, 0.1234568), methods=("none",))
    assert len({chart.key_of(one) for one in made.runs}) == 2
