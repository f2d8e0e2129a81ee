"""The "?" of a panel: its guide, inside the page."""

from embtie_widgets import guide
from embtie_widgets.panels.guide import Head


def head(kind: str = "drift") -> Head:
    return Head("Drift <b>", "How far?", kind, lambda action: action)


def test_the_guide_is_made_when_it_is_first_opened() -> None:
    one = head()
    assert one.text.value == ""
    assert one.place.layout.display == "none"
    one.button.opened = True
    assert one.text.value == guide.page("drift")
    assert one.by_keys.value == guide.keys()
    assert one.place.layout.display is None


def test_its_own_button_closes_it() -> None:
    one = head()
    one.button.opened = True
    one.shut.click()
    assert not one.button.opened
    assert one.place.layout.display == "none"


def test_a_kind_without_a_guide_has_no_button() -> None:
    one = head("length")
    assert one.button not in one.children[0].children
    assert one.place not in one.children


def test_title_and_lead_are_text() -> None:
    assert "<h2>Drift &lt;b&gt;</h2>" in head().children[0].children[0].value
