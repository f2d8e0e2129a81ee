from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import before_after as chart
from embtie_widgets.charts.sentences import asides, caption, listed, on_centring
from tests.sample_geometry import geometry_result
from tests.sample_norms import norms_result
from tests.sample_results import pair_result

BOTH: dict[str, Any] = {"mu_centered": True, "mean rows taken off": {"Out": {}, "Tied": {}}}
ONE: dict[str, Any] = {"mu_centered": True, "mean rows taken off": {"Tied": {}}}


def test_an_alignment_is_compared_by_held_out_means_and_else_in_sample() -> None:
    before, after = pair_result(), pair_result(shift=0.1, **BOTH)
    cosines = [one for one in chart.alignment_changes(before, after) if "->" in one.of]
    assert [one.what for one in cosines] == ["held-out mean cosine"] * 3
    assert [one.difference for one in cosines] == pytest.approx([0.1] * 3)
    parts = {n: replace(p, heldout_mean=None) for n, p in after.comparisons.items()}
    changes = chart.alignment_changes(before, replace(after, comparisons=parts))
    assert changes[0].what == "mean cosine"
    assert changes[0].before == before.comparisons[changes[0].of].mean


def test_what_was_not_measured_is_not_compared() -> None:
    whole, bare = geometry_result(), geometry_result()
    bare = replace(bare, spectral={}, spaces={}, matrices={})
    measured = {one.what for one in chart.geometry_changes(whole, whole)}
    assert measured > {one.what for one in chart.geometry_changes(bare, bare)}
    assert {one.what for one in chart.geometry_changes(bare, bare)} == {"KNN@10", "mean row norm"}


def test_norms_are_means_over_the_rows_that_have_one() -> None:
    result = norms_result()
    (one,) = (
        c for c in chart.norms_changes(result, result) if (c.what, c.of) == ("mean row norm", "In")
    )
    assert one.before == pytest.approx(np.nanmean(result.matrices["In"].norm))
    assert one.difference == 0


@pytest.mark.parametrize(
    ("settings", "said", "not_said"),
    [
        ({"center": True, **BOTH}, "No cosine can change", "identity"),
        ({"center": False, **BOTH}, "In → Out, Out → Tied and In → Tied can change", "cannot"),
        ({"center": False, **ONE}, "In → Out cannot: neither matrix is centred", "No cosine"),
    ],
)
def test_an_alignment_says_what_can_change(settings: Any, said: str, not_said: str) -> None:
    reach = chart.alignment_reach(pair_result(**settings))
    assert said in reach
    assert not_said not in reach


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "Neighbours by cosine can change"),
        ({"center": True}, "Neighbours cannot change beyond rounding"),
        ({"metric": "euclidean"}, "Neighbours by distance cannot change"),
    ],
)
def test_neighbours_say_what_can_change(settings: Any, said: str) -> None:
    reach = chart.geometry_reach(geometry_result(**settings, **BOTH))
    assert said in reach
    assert "The spectral distance can" in reach
    assert ("spectra and subspaces cannot" in reach) == ("center" in settings)


@pytest.mark.parametrize("settings", [{"metric": "euclidean"}, {"center": True}])
def test_rows_of_zeros_stay_and_so_may_change_neighbours(settings: Any) -> None:
    taken_off = {"mu_centered": True, "mean rows taken off": {"Out": {"zero": 3}}}
    reach = chart.geometry_reach(geometry_result(**settings, **taken_off))
    assert reach.startswith("Neighbours can change by rows of zeros alone")


def test_of_norms_only_the_centred_ones_move() -> None:
    assert "norms of Out and Tied can change" in chart.norms_reach(norms_result(**BOTH))
    assert chart.norms_reach(norms_result(**ONE)).endswith("In and Out and the counts stay.")
    assert chart.norms_reach(norms_result()) == ""


def test_captions_name_what_is_centred_and_say_nothing_else() -> None:
    assert "Out and Tied without mean row" in caption(pair_result(**BOTH))
    assert "mean row" not in caption(pair_result())
    assert asides(pair_result()) == []
    none = pair_result(**{"mu_centered": True, "mean rows taken off": {}})
    assert on_centring(none) == "no output matrix to centre"


def test_names_are_listed_as_in_a_sentence() -> None:
    assert [listed("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
