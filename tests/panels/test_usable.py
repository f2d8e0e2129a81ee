"""Controls that are switched off say why, and all say in the page what their tooltip says."""

from collections.abc import Iterator
from typing import Any

import ipywidgets as w
import pytest

from embtie_widgets.app.dashboard import TABS, Tab
from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.panels.fields import labelled, usable
from embtie_widgets.widgets import Aria, CopyButton
from tests.panels.fake_jobs import FakeRunner


def below(root: Any) -> Iterator[Any]:
    yield root
    for child in getattr(root, "children", ()):
        yield from below(child)


def made(tab: Tab) -> Any:
    return tab.make(runner=FakeRunner(), known=lambda request: None)


def words(control: Any) -> str:
    return str(control.title if control.has_trait("title") else control.tooltip)


@pytest.mark.parametrize("control", [w.Text(tooltip="Its name"), CopyButton(title="Its name")])
def test_the_reason_stands_in_the_tooltip_as_long_as_it_holds(control: Any) -> None:
    usable(control, "it has none")
    usable(control, "it has no name")
    assert (words(control), control.disabled) == ("Its name (not in use: it has no name)", True)
    usable(control)
    assert (words(control), control.disabled) == ("Its name", False)


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.name)
def test_all_that_is_off_in_a_panel_says_why(tab: Tab) -> None:
    off = [one for one in below(made(tab)) if getattr(one, "disabled", False)]
    assert off
    assert [one for one in off if "(not in use: " not in words(one)] == []


def test_ridge_says_that_the_linear_map_alone_has_one() -> None:
    panel = AlignmentPanel(runner=FakeRunner(), known=lambda request: None)
    panel.map.value = "identity"
    assert panel.ridge.tooltip.endswith("(not in use: only the linear map has one)")
    panel.map.value = "linear"
    assert "not in use" not in panel.ridge.tooltip


def test_every_tooltip_of_a_control_is_told_to_the_page_and_followed() -> None:
    panel = AlignmentPanel(runner=FakeRunner(), known=lambda request: None)
    aria = next(one for one in panel.children if isinstance(one, Aria))
    (name,) = [kind for kind in panel.ridge._dom_classes if kind in aria.tooltips]
    panel.map.value = "orthogonal"
    assert aria.tooltips[name] == panel.ridge.tooltip
    assert "not in use" in aria.tooltips[name]


def test_a_control_that_comes_later_is_told_too() -> None:
    aria, box = Aria(), w.VBox()
    aria.follow(box)
    late = labelled(w.Checkbox(description="late"), "It came late")
    box.children = [w.HBox([late])]
    assert list(aria.tooltips.values()) == ["It came late"]
    box.children = [*box.children]
    late.tooltip = "Later still"
    assert list(aria.tooltips.values()) == ["Later still"]
