"""Choosing a revision by name or by step."""

from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.listing import ask_listing
from embtie_widgets.panels.revision import RevisionPicker
from tests.panels.test_checkpoints_panel import report


class Listing:
    """Takes questions; the test answers them."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any, Any]] = []

    def __call__(self, ref: str, answer: Any, failed: Any) -> None:
        self.asked.append((ref, answer, failed))


@pytest.fixture
def listing() -> Listing:
    return Listing()


@pytest.fixture
def picker(listing: Listing) -> RevisionPicker:
    return RevisionPicker(lambda: "a/b", listing)


def test_a_name_can_be_typed_and_nothing_is_asked(picker: RevisionPicker, listing: Listing) -> None:
    picker.text.value = " v1.0 "
    assert picker.value == "v1.0"
    picker.value = "main"
    assert picker.text.value == "main"
    assert listing.asked == []
    assert picker.slider.layout.display == "none"


def test_by_step_lists_and_the_slider_sets_the_name(
    picker: RevisionPicker, listing: Listing
) -> None:
    picker.value = "step2000"
    picker.by_step.click()
    assert picker.by_step.disabled
    [(ref, answer, _)] = listing.asked
    assert ref == "a/b"
    answer(report())
    assert not picker.by_step.disabled
    assert picker.slider.layout.display == ""
    assert picker.slider.index == 2
    assert picker.value == "step2000"
    picker.slider.index = 1
    assert picker.value == picker.text.value == "step1000-tokens2B"
    picker.text.value = "v9"
    assert picker.slider.index == -1
    assert picker.value == "v9"


def test_a_second_click_folds_the_slider_away(picker: RevisionPicker, listing: Listing) -> None:
    picker.by_step.click()
    listing.asked[0][1](report())
    picker.by_step.click()
    assert picker.slider.layout.display == "none"
    assert len(listing.asked) == 1


def test_a_fault_is_told_below_and_the_button_works_again(
    picker: RevisionPicker, listing: Listing
) -> None:
    picker.by_step.click()
    listing.asked[0][2](EmbtieError("'a/b' has <b>no</b> checkpoints.", "Choose another."))
    assert "&lt;b&gt;no&lt;/b&gt; checkpoints. Choose another." in picker.status.value
    assert not picker.by_step.disabled
    assert picker.slider.layout.display == "none"


def test_the_checkpoints_of_another_model_are_not_offered(listing: Listing) -> None:
    refs = ["a/b"]
    picker = RevisionPicker(lambda: refs[-1], listing)
    picker.by_step.click()
    refs.append("c/d")
    listing.asked[0][1](report())
    assert picker.slider.layout.display == "none"
    refs.append("a/b")
    picker.by_step.click()
    listing.asked[1][1](report())
    assert picker.slider.layout.display == ""
    refs.append("c/d")
    picker.forget()
    assert picker.slider.layout.display == "none"
    picker.by_step.click()
    listing.asked[2][2](EmbtieError("'c/d' has none.", ""))
    assert "has none" in picker.status.value
    refs.append("e/f")
    picker.forget()
    assert picker.status.value == ""


def test_the_bundled_model_lists_its_steps() -> None:
    import threading

    ready = threading.Event()

    def ask(ref: str, answer: Any, failed: Any) -> None:
        def then(act: Any) -> Any:
            return lambda value: (act(value), ready.set())

        ask_listing(ref, then(answer), then(failed))

    picker = RevisionPicker(lambda: "nano-untied", ask)
    picker.by_step.click()
    assert ready.wait(60)
    picker.slider.index = 3
    assert picker.value == "step-000350"
