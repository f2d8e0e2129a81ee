"""Published numbers on trained bottlenecks agree with each other."""

import pytest

from embtie_widgets.results import trials_published as published


def test_the_papers_largest_run_draws_each_symbol_about_five_times() -> None:
    assert published.SPAMLANG.occurrences == pytest.approx(313, abs=1)
    assert published.SPAMLANG.sequences_per_symbol == pytest.approx(4.9, abs=0.05)


def test_the_full_rank_is_about_sixteen_times_as_quick() -> None:
    assert published.RANKS.faster == pytest.approx(16, abs=0.5)


def test_a_backward_restriction_costs_less_than_a_factorised_head_of_the_same_rank() -> None:
    by_rank = {(p.text, p.way, p.rank): p.excess for p in published.EXCESS}
    ranks = [(text, rank) for text, way, rank in by_rank if way == "backward"]
    assert len(ranks) == 4
    for text, rank in ranks:
        assert by_rank[text, "backward", rank] < by_rank[text, "factorised", rank]
