"""Colours of the shared style sheet: readable in both themes, and one with the charts."""

import re
from pathlib import Path

import pytest

import embtie_widgets.widgets
from embtie_widgets.charts.theme import PALETTES, ROLES, contrast
from embtie_widgets.widgets.assets import style

STATIC = Path(embtie_widgets.widgets.__file__).parent / "static"
TEXTS = ["fg", "muted", "accent", "good", "bad"]


def colours(theme: str) -> dict[str, str]:
    light, dark = re.findall(r"\.embtie(?:\[data-theme=\"dark\"\])? \{(.*?)\}", style(), re.S)[:2]
    found = dict(re.findall(r"--et-([\w-]+): (#\w{6});", light))
    return found | (dict(re.findall(r"--et-([\w-]+): (#\w{6});", dark)) if theme == "dark" else {})


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_is_readable_on_every_ground(theme: str, text: str) -> None:
    palette = colours(theme)
    for ground in ("bg", "raised", "hover", "chosen"):
        assert contrast(palette[text], palette[ground]) >= 4.5, ground


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_on_the_accent_are_readable_and_edges_can_be_seen(theme: str) -> None:
    palette = colours(theme)
    assert contrast(palette["on-accent"], palette["accent"]) >= 4.5
    assert contrast(palette["edge"], palette["bg"]) >= 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_points_stand_out_from_the_paper(theme: str) -> None:
    palette = colours(theme)
    for role in ("input", "output", "tied", "neutral"):
        assert contrast(palette[role], palette["bg"]) >= 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_scatter_and_plotly_charts_share_their_colours(theme: str) -> None:
    palette, chart = colours(theme), PALETTES[theme]
    names = {"bg": chart.paper, "fg": chart.text, "muted": chart.muted, "grid": chart.grid}
    roles = {role: mark.color for role, mark in ROLES.items()}
    assert {name: palette[name] for name in names | roles} == names | roles


def test_the_browser_side_fetches_nothing_and_never_reads_text_as_markup() -> None:
    for part in STATIC.iterdir():
        text = part.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|innerHTML|insertAdjacentHTML|document\.write|eval\(", text)


PRESSED = (".mod-active", '[aria-pressed="true"]')
PANELS = Path(embtie_widgets.widgets.__file__).parents[1] / "panels" / "panels.css"


def grounds(css: str, mark: str) -> list[tuple[str, str, int, int]]:
    """Of each rule that gives a ground to what has the mark itself: where it lies, the rule, how
    much it weighs, and its place."""
    found = []
    for place, (rule, inside) in enumerate(re.findall(r"([^{}]+)\{([^{}]*)\}", css)):
        where, _, last = rule.strip().rpartition(" ")
        if mark in re.sub(r":not\([^)]*\)", "", last) and "background: var(" in inside:
            weight = len(re.findall(r"\.|\[|:(?!not)", rule))
            found.append((where, rule.strip(), weight, place))
    return found


@pytest.mark.parametrize("sheet", [style(), PANELS.read_text(encoding="utf-8")])
def test_what_is_pressed_keeps_its_ground_under_the_pointer(sheet: str) -> None:
    plain = sheet.replace(", [aria", ",[aria")
    compared = 0
    for mark in PRESSED:
        for where, _, weight, place in grounds(plain, mark):
            for there, hover, its_weight, its_place in grounds(plain, ":hover"):
                if there == where:
                    compared += 1
                    assert mark in hover or (its_weight, its_place) < (weight, place), hover
    assert compared
