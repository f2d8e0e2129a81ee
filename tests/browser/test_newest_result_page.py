"""The figure and the table in the page, after changes that come faster than they are drawn."""

from collections.abc import Callable

import pytest

from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
# The mean cosine that the caption's table says, and the one that is drawn, by comparison.
_TABLE = (
    "[...document.querySelectorAll('.ep-table')][0].querySelectorAll('tbody tr')[0]"
    ".querySelectorAll('td')[0].innerText.split(' ')[0].replace('−', '-')"
)
_DRAWN = (
    "document.querySelector('.ep-histogram .js-plotly-plot').data"
    ".find((trace) => trace.name === 'mean, in-sample').x[0].toFixed(3)"
)


def test_the_figure_ends_on_the_result_that_the_words_are_of(visit: Callable[..., Visit]) -> None:
    one = visit()
    one.wait_for_figure()
    for names in (("Identity", "Orthogonal"), ("Linear", "Identity"), ("Orthogonal", "Linear")):
        for name in names:
            one.page.get_by_role("button", name=name, exact=True).click()
        one.page.get_by_text(f"{names[-1].lower()} map, centred").wait_for()
        one.page.wait_for_function(f"{_DRAWN} === {_TABLE}", timeout=15_000)
        one.page.wait_for_timeout(400)
        assert one.evaluate(_DRAWN) == one.evaluate(_TABLE)
        total = "trace => [...trace.y].reduce((sum, value) => sum + value, 0)"
        counts = one.evaluate(
            f"document.querySelector('.ep-histogram .js-plotly-plot').data.slice(0, 3).map({total})"
        )
        assert counts == [4096] * 3
