"""Guesses made before looking, exercises that check themselves, and the charts between them."""

from typing import Any

import ipywidgets as w
import numpy as np
import pytest

import embtie_widgets as ew
from embtie_widgets.charts import lesson as draw
from embtie_widgets.charts.theme import COMPARISONS, MATRICES, MODELS
from embtie_widgets.panels.lesson import number_of
from embtie_widgets.widgets import Notices


def said(widget: Any) -> str:
    """All text of a piece, markup and all, and what it tells the page."""
    if isinstance(widget, Notices):
        return widget.words
    own = widget.value if isinstance(widget, w.HTML) else ""
    return own + "".join(said(child) for child in getattr(widget, "children", ()))


def guess() -> ew.Prediction:
    return ew.Prediction("Which <one>?", ["In", "Out"])


def press(piece: Any) -> None:
    piece._button.click()


# Prediction


def test_what_follows_a_guess_is_made_only_once_it_is_made() -> None:
    made: list[int] = []

    def figure() -> w.HTML:
        made.append(1)
        return w.HTML("the result")

    asked = guess()
    place, verdict = asked.after(figure), asked.reveal("Out", "Because.")
    assert made == []
    assert "the result" not in said(place)
    assert said(verdict).count("Out") == 0
    asked.answer = "In"
    assert made == [1]
    assert "the result" in said(place)
    assert "It came out otherwise: Out" in said(verdict)
    assert "Your guess was: In" in said(verdict)
    assert "Because." in said(verdict)


def test_a_right_guess_is_told_so_and_later_cells_open_at_once() -> None:
    asked = guess()
    asked.answer = "Out"
    assert "As you thought: Out" in said(asked.reveal(lambda: "Out", "Because."))
    assert "here already" in said(asked.after(w.HTML("here already")))


def test_a_guess_is_made_by_choosing_and_pressing_and_then_stands() -> None:
    asked = guess()
    assert asked._button.disabled
    asked._radio.value = "In"
    assert asked.answer is None
    press(asked)
    assert asked.answer == "In"
    assert asked._radio.disabled
    with pytest.raises(ew.EmbtieError, match="the first one stands"):
        asked.answer = "Out"
    asked.answer = "In"


def test_only_a_choice_can_be_guessed_or_revealed() -> None:
    with pytest.raises(ew.EmbtieError, match="none of the choices"):
        guess().answer = "Both"
    with pytest.raises(ew.EmbtieError, match="none of the choices"):
        guess().reveal("Both", "")


def test_a_number_goes_to_the_nearest_choice() -> None:
    asked = ew.Prediction("How much?", {"none": 0.0, "half": 0.5, "all": 1.0})
    asked.answer = "half"
    assert "As you thought: half" in said(asked.reveal(0.6, ""))
    assert "It came out otherwise: all" in said(asked.reveal(lambda: 0.9, ""))
    with pytest.raises(ew.EmbtieError, match="choices without numbers"):
        guess().reveal(0.5, "")


def test_a_fault_behind_a_guess_is_raised_and_leaves_the_other_places() -> None:
    asked = guess()
    broken = asked.after(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    other = asked.after(w.HTML("fine"))
    with pytest.raises(ZeroDivisionError):
        asked.answer = "In"
    assert "fine" in said(other)
    assert "could not be made" in said(broken)


def test_what_takes_a_while_says_so_and_nothing_of_a_fault() -> None:
    seen: list[str] = []

    def slow() -> w.HTML:
        seen.append(said(place))
        return w.HTML("the result")

    asked = guess()
    place = asked.after(slow)
    asked.answer = "In"
    assert "Working" in seen[0]
    assert "could not be made" not in seen[0]
    assert "Working" not in said(place)


def test_words_of_a_lesson_are_text_never_markup() -> None:
    asked = guess()
    assert "Which &lt;one&gt;?" in said(asked)
    asked.answer = "In"
    assert "<b>" not in said(asked.reveal("In", "<b>why</b>"))


# Exercise


def exercise(**given: Any) -> ew.Exercise:
    return ew.Exercise("How much?", **{"check": 0.25, "hint": "Divide.", **given})


@pytest.mark.parametrize("answer", [0.25, "0.25", "25 %", "1/4", "0.26", 0.2376])
def test_a_number_near_enough_is_right(answer: Any) -> None:
    asked = exercise()
    assert asked.right is None
    asked.answer = answer
    assert asked.right
    assert "Right" in said(asked)
    assert "Divide." not in said(asked)


def test_a_wrong_number_gets_the_hint_and_never_the_answer() -> None:
    asked = exercise(hint=["Divide.", "By four."])
    asked.answer = 0.3
    asked.answer = 0.3
    assert asked.right is False
    assert "Divide." in said(asked)
    assert "By four." not in said(asked)
    asked.answer = 0.4
    assert "Divide. By four." in said(asked)
    assert "0.25" not in said(asked)
    asked.answer = 0.25
    assert asked.right


def test_how_near_can_be_said() -> None:
    asked = exercise(within=0.001)
    asked.answer = 0.26
    assert asked.right is False


def test_a_choice_or_a_function_can_decide() -> None:
    asked = exercise(check="Out", choices=["In", "Out"])
    asked.answer = "In"
    assert asked.right is False
    with pytest.raises(ew.EmbtieError, match="none of the choices"):
        asked.answer = "Both"
    word = exercise(check=lambda typed: typed.strip() == "the")
    word.answer = " the"
    assert word.right


def test_the_button_checks_and_says_what_is_no_answer() -> None:
    asked = exercise()
    press(asked)
    assert "no answer yet" in said(asked)
    asked._field.value = "much"
    press(asked)
    assert "is no number" in said(asked)
    asked._field.value = "0.25"
    press(asked)
    assert asked.right
    assert "is no number" not in said(asked)


def test_numbers_as_people_type_them() -> None:
    assert number_of("50,304") == 50304
    assert number_of("−0.5") == -0.5
    assert number_of("0,1713") == 0.1713
    assert number_of("0,125") == 0.125
    assert number_of("-1,5 %") == -0.015
    assert number_of("1,250") == 1250
    assert number_of("1,000,000.5") == 1000000.5
    with pytest.raises(ew.EmbtieError):
        number_of("1/0")
    with pytest.raises(ew.EmbtieError):
        number_of("nan")


# Picture


def test_known_names_keep_their_colours_and_others_differ() -> None:
    marks = draw.marks_by_name(["Out → Tied", "In", "tied", "noise", "planted"])
    assert marks["Out → Tied"] == COMPARISONS["Out->Tied"]
    assert marks["In"] == MATRICES["In"]
    assert marks["tied"] == MODELS["tied"]
    assert marks["noise"].color != marks["planted"].color


def test_bars_stand_at_their_values_with_chance_across_them() -> None:
    spec = draw.bars({"In": 0.2, "Out": 0.7}, "mean", {"Out": 0.3})
    assert spec["data"][0]["y"] == [0.2, 0.7]
    assert spec["data"][0]["text"] == ["0.200", "0.700"]
    (floor,) = spec["layout"]["shapes"]
    assert (floor["y0"], floor["x0"], floor["x1"]) == (0.3, pytest.approx(0.58), 1.42)
    assert spec["layout"]["showlegend"]
    assert not draw.bars({"In": 0.2}, "mean")["layout"]["showlegend"]
    below = draw.bars({"a": -0.004, "b": 25.0}, "mean")
    assert below["data"][0]["text"] == ["−0.0", "25.0"]
    assert below["layout"]["yaxis"]["range"][0] < -1


def test_dots_have_the_colour_of_their_curve() -> None:
    curve = ([1, 2], [3, 4])
    line, dots = draw.lines({"rule": curve}, "x", "y", dots={"rule": curve})["data"]
    assert (line["mode"], dots["mode"]) == ("lines", "markers")
    assert line["line"]["color"] == dots["marker"]["color"]


def test_a_histogram_is_of_shares_that_add_up() -> None:
    spec = draw.histogram({"a": np.arange(100.0), "b": [0.0, np.nan, 99.0]}, "x", bins=10)
    for trace in spec["data"]:
        assert sum(trace["y"][1:-1:2]) == pytest.approx(100)


def test_lines_and_points_carry_every_value_and_words_are_no_markup() -> None:
    curve = draw.lines({"<a>": ([1, 2], [3, 4])}, "x", "y", log_x=True)
    assert curve["data"][0]["y"].tolist() == [3, 4]
    assert curve["data"][0]["name"] == "&lt;a&gt;"
    cloud = draw.points({"In": ([1], [2])}, "x", "y", ["<b>"], diagonal=True)
    (line,) = cloud["layout"]["shapes"]
    assert (line["x0"], line["x1"]) == (line["y0"], line["y1"])
    assert cloud["data"][0]["hovertext"] == ["&lt;b&gt;"]


def test_a_wide_logarithmic_axis_has_no_more_numbers_than_there_is_room_for() -> None:
    def step(low: float, high: float) -> object:
        spec = draw.lines({"a": ([low, high], [3, 4])}, "x", "y", log_x=True)
        return spec["layout"]["xaxis"]["dtick"]

    assert (step(200, 3_200), step(70, 12_000)) == ("D2", 1)


def test_a_picture_can_be_of_a_request_with_its_caption() -> None:
    shown = ew.Picture.of(ew.AlignRequest())
    assert shown.figure.shown["data"]
    assert "ep-caption" in "".join(str(c._dom_classes) for c in shown.children[1].children)
