"""Learning-rate sensitivity against values worked out by hand, and against a published one."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError


def test_it_is_the_excess_over_the_best_loss_divided_by_one_less_than_the_rates() -> None:
    assert ew.learning_rate_sensitivity([4.0, 3.0, 3.5], 10.0) == pytest.approx(1.5 / 2)


def test_a_loss_counts_for_no_more_than_the_initial_one() -> None:
    assert ew.learning_rate_sensitivity([3.0, 4.0, 50.0], 4.5) == pytest.approx(2.5 / 2)


@pytest.mark.parametrize("lost", [math.nan, math.inf, -math.inf])
def test_a_diverged_run_counts_as_the_initial_loss(lost: float) -> None:
    assert ew.learning_rate_sensitivity([3.0, lost, 4.0], 4.5) == pytest.approx(2.5 / 2)


@pytest.mark.parametrize("losses", [[math.nan, math.nan], [12.0, 11.0], [3.0, 3.0]])
def test_where_no_rate_is_better_than_another_nothing_depends_on_it(losses: list[float]) -> None:
    assert ew.learning_rate_sensitivity(losses, 10.0) == 0.0


def test_it_gives_the_published_value_of_the_tied_baseline_of_16_million() -> None:
    losses = [3.919, 3.850, 3.832, 3.840, 3.840, 3.935, 3.906]
    assert ew.learning_rate_sensitivity(losses, 10.83) == pytest.approx(0.050, abs=5e-4)


@pytest.mark.parametrize(
    "given",
    [
        (3.0, 4.0),
        np.array([3.0, 4.0], dtype=np.float32),
        torch.tensor([3.0, 4.0], dtype=torch.bfloat16),
        pd.Series([3.0, 4.0], index=[0.1, 0.2]),
        [np.float32(3.0), 4],
        (loss for loss in (3.0, 4.0)),
    ],
)
def test_losses_may_come_in_any_kind_of_list(given: Any) -> None:
    assert ew.learning_rate_sensitivity(given, np.float64(10.0)) == 1.0


@pytest.mark.parametrize("few", [[], [3.0], np.array([3.0])])
def test_fewer_than_two_rates_are_refused(few: Any) -> None:
    with pytest.raises(EmbtieError, match="at least two"):
        ew.learning_rate_sensitivity(few, 10.0)


@pytest.mark.parametrize(
    "odd", [None, 3.0, "34", {0.1: 3.0, 0.2: 4.0}, [3.0, None], [[3.0, 4.0]], [3.0, 10**400]]
)
def test_what_is_no_list_of_numbers_is_refused(odd: Any) -> None:
    with pytest.raises(EmbtieError, match="one number for each"):
        ew.learning_rate_sensitivity(odd, 10.0)


@pytest.mark.parametrize("odd", [math.nan, math.inf, 0.0, -1.0, None, "10", 10**400])
def test_an_initial_loss_that_is_none_is_refused(odd: Any) -> None:
    with pytest.raises(EmbtieError, match="initial_loss"):
        ew.learning_rate_sensitivity([3.0, 4.0], odd)
