"""A recorded file on a shared page, from this computer to its curves."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.visit import Visit

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
def test_an_uploaded_series_is_recognised_and_drawn(
    visit: Callable[..., Visit], shared: Path, pictures: Path, scheme: str, width: int
) -> None:
    one = visit(scheme, width)
    one.wait_for_figure()
    one.open_tab("Drift")
    one.open_settings()
    panel = one.page.locator(".embtie-panel", has=one.page.locator("h2", has_text="Drift"))
    panel.get_by_label("The drift of").select_option(label="a recorded file")
    with one.page.expect_file_chooser() as chooser:
        panel.get_by_role("button", name="Load file").click()
    chooser.value.set_files(shared / "data" / "evolution_pythia-1b.json")
    panel.get_by_text("a drift series that the paper's authors released, 16 rows").wait_for()
    panel.get_by_role("button", name="Columns").click()
    assert panel.get_by_label("input to first").input_value() != ""
    one.page.screenshot(path=pictures / f"recorded-form-{scheme}-{width}.png", full_page=True)
    one.wait_for_answer()
    panel.get_by_text("pythia-1b").first.wait_for()
    assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.page.screenshot(path=pictures / f"recorded-{scheme}-{width}.png", full_page=True)
