"""Why a number is not the printed one, in sentences that were computed."""

import pytest

from embtie_widgets.jobs.papers_reasons import Measured, Other, explained
from embtie_widgets.results import PaperNumber

NUMBER = PaperNumber("OLMo 1B: In->Out", "Identity", "0.172", tolerance=0.005)
OTHERS = (Other("without centring", 0.1008), Other("on the 9 tokens alone", -0.0001))


def test_the_way_that_gives_the_print_is_named_alone() -> None:
    ways = (*OTHERS, Other("with rows paired by number", 0.17249))
    said = explained(NUMBER, Measured(0.4, "somewhere", others=ways))
    assert said == "The print is what comes with rows paired by number: 0.172."


def test_where_no_way_gives_it_all_are_told_with_the_places_of_the_print() -> None:
    said = explained(NUMBER, Measured(0.4, "somewhere", others=OTHERS))
    assert said == "It would be 0.101 without centring; 0.000 on the 9 tokens alone."


@pytest.mark.parametrize(("floor", "is_told"), [(0.1705, True), (0.12, False), (0.003, False)])
def test_a_print_at_the_level_of_chance_is_said_to_be_that(floor: float, is_told: bool) -> None:
    said = explained(NUMBER, Measured(0.4, "somewhere", floor))
    told = f"The print is no more than chance, which reaches {floor:.3f}."
    assert said == (told if is_told else "")
    near_zero = PaperNumber("a", "b", "0.001", tolerance=0.005)
    assert explained(near_zero, Measured(0.4, "somewhere", 0.0012)) == ""


def test_chance_of_other_sizes_says_nothing_of_the_print() -> None:
    found = Measured(0.4, "somewhere", 0.172, sizes="A matrix is 2 x 2 here, not 3 x 3.")
    assert explained(NUMBER, found) == "A matrix is 2 x 2 here, not 3 x 3."


def test_a_stand_in_is_never_explained_and_keeps_its_floor() -> None:
    put = Measured(0.4, "nano", 0.17, OTHERS).put(NUMBER, "stand-in")
    assert (put.verdict, put.value, put.floor) == ("stand-in", 0.4, 0.17)
    assert put.reason == "Of other models, so it is not held against the print."
    agreeing = Measured(0.1719, "a model", 0.1, OTHERS).put(NUMBER, "model")
    assert (agreeing.verdict, agreeing.reason) == ("agrees", "")
