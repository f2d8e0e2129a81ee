"""A file that comes in pieces."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embtie_widgets.widgets import UploadButton
from tests.widgets.widget_harness import HarnessPage

OpenPage = Callable[..., HarnessPage]
BEGIN = {"kind": "begin", "name": "a.safetensors", "size": 5}


def button(most: int = 9) -> tuple[UploadButton, list[Any], list[Any]]:
    taken: list[Any] = []
    said: list[Any] = []
    made = UploadButton(lambda content, name: taken.append((content, name)), most)
    made.send = lambda content, buffers=None: said.append(content)
    return made, taken, said


def test_pieces_are_asked_for_one_after_another_and_handed_on_whole() -> None:
    made, taken, said = button()
    made._handle_custom_msg(BEGIN, [])
    made._handle_custom_msg({"kind": "piece"}, [memoryview(b"abc")])
    assert taken == []
    made._handle_custom_msg({"kind": "piece"}, [memoryview(b"de")])
    assert taken == [(b"abcde", "a.safetensors")]
    assert [word.get("at") for word in said] == [0, 3, None]


@pytest.mark.parametrize("size", [10, 0, -1, None, "5", 2**70])
def test_a_file_that_is_too_large_is_refused_before_it_is_sent(size: Any) -> None:
    made, taken, said = button()
    made._handle_custom_msg({**BEGIN, "size": size}, [])
    made._handle_custom_msg({"kind": "piece"}, [memoryview(b"abcde")])
    assert taken == []
    assert [word["kind"] for word in said] == ["done"]
    assert "at most" in said[0]["message"]


@pytest.mark.parametrize("pieces", [[], [b""], [b"abcdef"]])
def test_more_or_less_than_was_said_ends_the_upload(pieces: list[bytes]) -> None:
    made, taken, said = button()
    made._handle_custom_msg(BEGIN, [])
    made._handle_custom_msg({"kind": "piece"}, pieces)
    made._handle_custom_msg({"kind": "piece"}, [b"abcde"])
    assert taken == []
    assert "choose it again" in said[-1]["message"]


@pytest.mark.browser
def test_a_file_of_several_pieces_arrives_whole_and_a_larger_one_is_refused_in_words(
    open_page: OpenPage, tmp_path: Path
) -> None:
    content = bytes(range(251)) * 20_000  # more than one piece
    (tmp_path / "lens.safetensors").write_bytes(content)
    (tmp_path / "large.safetensors").write_bytes(content + b"x")
    taken: list[Any] = []
    browser = open_page()
    browser.mount(UploadButton(lambda *found: taken.append(found), len(content), label="Load"))
    for name in ("lens.safetensors", "large.safetensors"):
        with browser.page.expect_file_chooser() as chooser:
            browser.page.get_by_role("button", name="Load").click()
        chooser.value.set_files(tmp_path / name)
        browser.until(lambda: browser.page.get_by_role("button").is_enabled())
    assert taken == [(content, "lens.safetensors")]
    assert "at most 5 MB" in browser.page.get_by_role("status").inner_text()
