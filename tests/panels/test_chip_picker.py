"""Several values by chips and a line, and one value or several."""

from dataclasses import replace

import pytest

from embtie_widgets.panels.chips import ChipPicker, OneOrSeveral
from embtie_widgets.panels.fields import Binding
from embtie_widgets.requests.centering import CenteringRequest

LINE = ("others", "", "")


def numbers() -> ChipPicker:
    return ChipPicker(float, {0.1: ("0.1", ""), 1.0: ("1", "")}, LINE)


def test_numbers_stand_rising_each_once_whether_picked_or_typed() -> None:
    picker = numbers()
    picker.chips[1.0].value = True
    picker.others.value = "0.5; 1e-3, 1"
    assert picker.value == (0.001, 0.5, 1.0)
    assert picker.others.value == "0.001, 0.5"


def test_names_keep_the_order_of_their_chips_and_then_that_of_typing() -> None:
    picker = ChipPicker(str, {"none": ("none", ""), "z-loss": ("z", "")}, LINE)
    picker.others.value = "sgd, coupled-adam"
    picker.chips["z-loss"].value = True
    assert picker.value == ("z-loss", "sgd", "coupled-adam")


def test_what_is_no_number_is_handed_on_as_it_stands_and_stays_to_be_mended() -> None:
    picker = numbers()
    picker.chips[0.1].value = True
    picker.others.value = "much"
    assert picker.value == (0.1, "much")
    assert picker.others.value == "much"


def one_or_several() -> tuple[OneOrSeveral, list[CenteringRequest]]:
    control = OneOrSeveral(numbers())
    read: list[CenteringRequest] = []
    binding = Binding(
        control.fields("lr", "rates"), lambda _: read.append(binding.read(CenteringRequest()))
    )
    binding.write(CenteringRequest(lr=0.1))
    return control, read


def test_one_value_is_the_one_and_more_are_the_list() -> None:
    control, read = one_or_several()
    assert control.picker.chips[0.1].value
    control.picker.chips[1.0].value = True
    assert read[-1] == CenteringRequest(lr=0.1, rates=(0.1, 1.0))
    control.picker.chips[0.1].value = False
    assert read[-1] == CenteringRequest(lr=1.0)


def test_a_change_of_both_fields_is_told_once() -> None:
    control, read = one_or_several()
    control.picker.chips[1.0].value = True
    control.picker.chips[0.1].value = False
    assert len(read) == 2


def test_the_last_value_cannot_be_taken_away() -> None:
    control, read = one_or_several()
    control.picker.chips[0.1].value = False
    assert control.picker.chips[0.1].value
    assert read == []


@pytest.mark.parametrize("rates", [(0.1,), (0.02, 0.1)])
def test_a_list_from_elsewhere_stays_a_list(rates: tuple[float, ...]) -> None:
    control = OneOrSeveral(numbers())
    binding = Binding(control.fields("lr", "rates"), lambda _: None)
    asked = replace(CenteringRequest(), rates=rates)
    binding.write(asked)
    assert binding.read(CenteringRequest()) == asked
    assert control.picker.value == rates
