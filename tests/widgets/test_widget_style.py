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
