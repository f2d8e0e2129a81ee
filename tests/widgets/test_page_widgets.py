"""Copy, download and link: what the page does for the kernel."""

from collections.abc import Callable
from pathlib import Path

import pytest

from embtie_widgets import widgets
from embtie_widgets.widgets import (
    CopyButton,
    DownloadButton,
    File,
    KernelWatch,
    LinkState,
    TokenTable,
)
from tests.widgets.widget_harness import HarnessPage

OpenPage = Callable[..., HarnessPage]
REFUSE = """
  navigator.clipboard && (navigator.clipboard.writeText = () => Promise.reject(new Error('no')));
  document.execCommand = () => false;
"""


def test_a_link_has_its_parts_once_the_page_has_spoken() -> None:
    link = LinkState(query="map=linear")
    assert link.url == "?map=linear"
    link.page = {"origin": "https://host", "path": "/user/a/voila/render/d.ipynb"}
    assert link.url == "https://host/user/a/voila/render/d.ipynb?map=linear"


def test_a_lone_surrogate_is_copied_as_its_escape() -> None:
    assert CopyButton(text="\udc80").text == "\\udc80"


@pytest.mark.browser
@pytest.mark.parametrize("address", ["http://localhost/v", "http://plain.test/v"])
def test_copy_puts_the_text_on_the_clipboard(open_page: OpenPage, address: str) -> None:
    browser = open_page(address=address, permissions=["clipboard-read", "clipboard-write"])
    browser.mount(CopyButton(text="import embtie_widgets as ew\n<b>", label="Copy code"))
    browser.page.get_by_role("button", name="Copy code").click()
    browser.page.get_by_role("button", name="Copied").wait_for()
    browser.page.evaluate(
        "document.body.append(Object.assign(document.createElement('textarea'), {id: 'paste'}))"
    )
    browser.page.locator("#paste").press("Control+v")
    assert browser.page.locator("#paste").input_value() == "import embtie_widgets as ew\n<b>"


@pytest.mark.browser
def test_where_copying_is_refused_the_text_lies_ready_selected(open_page: OpenPage) -> None:
    browser = open_page()
    browser.page.evaluate(REFUSE)
    browser.mount(CopyButton(text="the link"))
    browser.page.get_by_role("button").click()
    field = browser.page.get_by_label("Text to copy by hand")
    field.wait_for()
    assert field.input_value() == "the link"
    assert browser.page.evaluate("getSelection().toString()") == "the link"


@pytest.mark.browser
def test_what_was_typed_a_moment_ago_is_in_the_link_that_is_copied(open_page: OpenPage) -> None:
    browser = open_page(permissions=["clipboard-read", "clipboard-write"])
    table, link = TokenTable(query="old"), CopyButton(text="?q=old", label="Copy link")
    table.observe(lambda _: link.set_trait("text", f"?q={table.query}"), "query")
    browser.mount(table, "table")
    browser.mount(link, "link")
    browser.page.clock.install()  # no time goes by: neither waits out its patience
    browser.page.get_by_placeholder("Search tokens").fill("new")
    browser.page.get_by_role("button", name="Copy link").click()
    browser.until(lambda: browser.page.get_by_role("button", name="Copied").count())
    assert browser.page.evaluate("navigator.clipboard.readText()") == "?q=new"


@pytest.mark.browser
def test_a_download_brings_the_very_bytes(open_page: OpenPage, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4000
    browser = open_page(accept_downloads=True)
    browser.mount(DownloadButton(lambda: File(data, "../../etc/tokens.bin"), label="CSV"))
    with browser.page.expect_download() as event:
        browser.page.get_by_role("button", name="CSV").click()
        browser.until(lambda: browser.page.get_by_role("button", name="Saved").count())
    assert event.value.suggested_filename == "tokens.bin"
    event.value.save_as(tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == data


@pytest.mark.browser
def test_a_download_may_come_later_and_the_button_waits(open_page: OpenPage) -> None:
    browser = open_page(accept_downloads=True)
    button = DownloadButton(lambda: None, label="PNG")
    browser.mount(button)
    browser.page.get_by_role("button").click()
    browser.pump()
    waiting = browser.page.get_by_role("button", name="Preparing")
    assert waiting.is_disabled()
    with browser.page.expect_download() as event:
        button.deliver(File(b"later", "a.png", "image/png"))
        browser.pump()
    assert event.value.suggested_filename == "a.png"


@pytest.mark.browser
def test_a_failed_file_is_told_without_its_traceback(
    open_page: OpenPage, logged_faults: list[str]
) -> None:
    def make() -> File:
        raise RuntimeError("/secret/path")

    browser = open_page()
    browser.mount(DownloadButton(make))
    browser.page.get_by_role("button").click()
    browser.until(lambda: browser.page.get_by_text("The file could not be made.").count())
    assert "secret" not in browser.page.content()
    assert not browser.page.get_by_role("button").is_disabled()
    assert len(logged_faults) == 1
    logged_faults.clear()


@pytest.mark.browser
def test_the_page_hands_its_address_to_the_kernel(open_page: OpenPage) -> None:
    browser = open_page(address="http://localhost/hub/user/a/voila?map=linear&theme=dark&token=s")
    link = LinkState()
    browser.mount(link)
    assert link.page == {
        "query": "map=linear",
        "origin": "http://localhost",
        "path": "/hub/user/a/voila",
        "host": "other",
    }


@pytest.mark.browser
def test_the_address_follows_and_keeps_what_is_the_hosts(open_page: OpenPage) -> None:
    browser = open_page(address="http://localhost/base/voila?map=linear&theme=dark&token=s")
    link = LinkState(query="map=identity")
    browser.mount(link)
    assert "map=linear" in browser.page.url
    before = browser.page.evaluate("history.length")
    link.query = "map=orthogonal&tokens=1%2C2"
    browser.pump()
    assert browser.page.url == (
        "http://localhost/base/voila?map=orthogonal&tokens=1%2C2&theme=dark"
    )
    assert browser.page.evaluate("history.length") == before


@pytest.mark.browser
def test_an_address_without_query_gets_the_kernels_at_once(open_page: OpenPage) -> None:
    browser = open_page(address="http://localhost/voila")
    browser.mount(LinkState(query="map=identity"))
    assert browser.page.url == "http://localhost/voila?map=identity"


@pytest.mark.browser
def test_a_panel_that_is_shown_again_takes_the_address_back(open_page: OpenPage) -> None:
    browser = open_page(address="http://localhost/voila?kind=other")
    link = LinkState(query="map=identity")
    link.page = {"query": "", "origin": "http://localhost", "path": "/voila", "host": "other"}
    browser.mount(link)
    assert browser.page.url == "http://localhost/voila?map=identity"


@pytest.mark.browser
def test_the_address_of_a_workspace_is_left_alone(open_page: OpenPage) -> None:
    browser = open_page(address="http://localhost/lab/tree/a.ipynb")
    browser.page.evaluate(
        "document.head.append(Object.assign(document.createElement('script'),"
        " {id: 'jupyter-config-data', type: 'application/json'}))"
    )
    link = LinkState()
    browser.mount(link)
    link.query = "map=identity"
    browser.pump()
    assert link.page["host"] == "lab"
    assert browser.page.url == "http://localhost/lab/tree/a.ipynb"


def watched(browser: HarnessPage, host: str = "voila") -> HarnessPage:
    browser.page.evaluate("host => { document.body.dataset.voila = host }", host)
    browser.page.clock.install()
    browser.mount(KernelWatch())
    return browser


@pytest.mark.browser
def test_a_page_whose_kernel_does_not_answer_says_so_until_it_does(open_page: OpenPage) -> None:
    browser = watched(open_page())
    alert = browser.page.get_by_role("alert")
    browser.page.keyboard.press("Tab")
    browser.page.clock.fast_forward(21_000)
    alert.wait_for()
    browser.pump()
    assert alert.count() == 0
    browser.page.keyboard.press("Tab")
    browser.pump()
    browser.page.clock.fast_forward(21_000)
    assert alert.count() == 0


@pytest.mark.browser
def test_a_page_that_cannot_send_says_so_at_once(open_page: OpenPage) -> None:
    browser = watched(open_page())
    browser.page.evaluate("() => { models.w.send = () => { throw new Error('Cannot send'); }; }")
    browser.page.mouse.click(5, 5)
    browser.page.get_by_role("alert").wait_for()


@pytest.mark.browser
def test_jupyterlab_speaks_for_its_kernels_itself(open_page: OpenPage) -> None:
    browser = watched(open_page(), host="")
    browser.page.mouse.click(5, 5)
    browser.page.clock.fast_forward(21_000)
    assert browser.page.get_by_role("alert").count() == 0


@pytest.mark.parametrize("name", widgets.__all__)
def test_no_widget_speaks_before_it_is_shown(name: str) -> None:
    """What the kernel changes in answer would be lost on widgets that the page has not made."""
    assert "initialize" not in str(getattr(getattr(widgets, name), "_esm", ""))
