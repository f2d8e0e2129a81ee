"""The tables of a staircase."""

from dataclasses import replace
from typing import Any

from embtie_widgets.panels import staircase_tables as tables
from tests.sample_staircase import text, toy


def without_probes(result: Any) -> Any:
    runs = {
        name: replace(run, tracks=tuple(t for t in run.tracks if "held_out" not in t.by_step))
        for name, run in result.runs.items()
    }
    return replace(result, runs=runs)


def test_the_numbers_of_a_probe_are_explained_where_there_are_any() -> None:
    assert "held out: over pairs" in tables.numbers(toy())
    assert "held out" not in tables.numbers(without_probes(toy()))


def test_chance_is_explained_beside_every_kind_of_result() -> None:
    for result in (toy(), text()):
        assert "chance: with shuffled anchors" in tables.numbers(result)
