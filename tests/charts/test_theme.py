import itertools

import numpy as np
import pytest

from embtie_widgets.charts.theme import PALETTES, ROLES, contrast, mark_of, template

# Linear-light matrices of full colour-vision deficiency (Machado, Oliveira, Fernandes 2009).
DEFICIENCIES = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(color: str) -> np.ndarray:
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    x, y, z = np.cbrt(to_xyz @ light.clip(1e-3, 1) / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_contrast_of_black_and_white_is_21_and_of_equal_colours_1() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#777777") == 1
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.01)


@pytest.mark.parametrize("theme", PALETTES)
def test_text_reads_on_paper_and_plot(theme: str) -> None:
    palette = PALETTES[theme]
    for text, ground in itertools.product(
        (palette.text, palette.muted), (palette.paper, palette.plot)
    ):
        assert contrast(text, ground) >= 4.5
    layout = template(theme)["layout"]
    assert layout["paper_bgcolor"] == palette.paper
    assert layout["plot_bgcolor"] == palette.plot
    assert layout["font"]["color"] == palette.text
    assert layout["legend"]["font"]["color"] == palette.text


@pytest.mark.parametrize("theme", PALETTES)
def test_role_colours_stand_out_from_the_plot(theme: str) -> None:
    for mark in (*ROLES.values(), mark_of("In->Out")):
        assert contrast(mark.color, PALETTES[theme].plot) >= 3


@pytest.mark.parametrize("matrix", DEFICIENCIES.values(), ids=DEFICIENCIES)
def test_role_colours_stay_apart_without_full_colour_vision(matrix: list[list[float]]) -> None:
    seen = [lab(np.array(matrix) @ linear(mark.color)) for mark in ROLES.values()]
    for first, second in itertools.combinations(seen, 2):
        assert np.linalg.norm(first - second) > 20


def test_no_role_is_told_by_colour_alone() -> None:
    marks = [*ROLES.values(), mark_of("In->Out")]
    for sign in ("color", "dash", "symbol"):
        assert len({getattr(mark, sign) for mark in marks}) == len(marks)
