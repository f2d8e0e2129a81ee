"""How a printed number is held against one that was computed."""

import pytest

from embtie_widgets.results.papers import PaperNumber


@pytest.mark.parametrize(
    ("printed", "value", "verdict", "difference"),
    [
        ("0.719", 0.7194, "agrees", 0.0004),
        ("0.719", 0.7195, "close", 0.0005),
        ("25", 25.4, "agrees", 0.4),
        ("-15", -14.6, "agrees", 0.4),
        ("92", 92.5, "agrees", 0.5),
        ("93", 92.5, "agrees", -0.5),
        ("94", 92.5, "differs", -1.5),
        ("0.719", 0.75, "differs", 0.031),
        ("0.95 to 0.99", 0.9804, "agrees", 0.0),
        ("0.95 to 0.99", 0.9949, "agrees", 0.0049),
        ("0.95 to 0.99", 0.9951, "close", 0.0051),
        ("0.95 to 0.99", 0.90, "differs", -0.05),
    ],
)
def test_a_number_agrees_where_it_would_be_printed_so(
    printed: str, value: float, verdict: str, difference: float
) -> None:
    number = PaperNumber("row", "column", printed, tolerance=0.01).found(value, "model", "a model")
    assert number.verdict == verdict
    assert number.difference == pytest.approx(difference, abs=1e-12)
    assert bool(number.reason) == (verdict != "agrees")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_missing(value: float) -> None:
    number = PaperNumber("row", "column", "0.5").found(value, "model", "a model")
    assert (number.verdict, number.value, number.difference) == ("missing", None, None)
    assert "a model" in number.reason


def test_a_number_of_any_size_can_be_held_against_the_print() -> None:
    for value in (1e300, -1e300, 5e-324):
        assert PaperNumber("row", "column", "0.5").found(value, "model", "a").verdict == "differs"


def test_what_is_in_print_only_lacks_nothing_and_a_stand_in_keeps_its_value() -> None:
    number = PaperNumber("row", "column", "0.5")
    told = number.print_only("The runs are not public.")
    assert told.lacking("a file", 10, "It is not here.") == told
    stood_in = number.found(0.4, "stand-in", "the bundled pair").lacking("a file", 10, "no")
    assert (stood_in.verdict, stood_in.value, stood_in.missing) == ("stand-in", 0.4, "a file")
    assert stood_in.difference is None
    assert stood_in.reason == "Of other models, so it is not held against the print. no"
