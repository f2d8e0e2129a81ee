"""Token texts are seen as their own letters, whatever they hold."""

import unicodedata

import pytest

from embtie_widgets.results import display_token

MARKUP = ["<b>", "</b>", "<br>", "<script>alert(1)</script>", "&lt;", "%{x}", "$x$", "$\\alpha$"]


@pytest.mark.parametrize("text", [*MARKUP, "%{customdata[0]}", "<img src=x onerror=alert(1)>"])
def test_markup_templates_and_formulas_are_plain_letters(text: str) -> None:
    assert display_token(text.encode()) == text.replace(" ", "␣")


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (b"\n", "⏎"),
        (b"\t", "⇥"),
        (b"\r", "␍"),
        (b"\0", "[U+0000]"),
        ("\u200b".encode(), "[U+200B]"),
        ("a\u202eb".encode(), "a[U+202E]b"),
        ("\u2028".encode(), "[U+2028]"),
        ("\u00a0".encode(), "[U+00A0]"),
        ("\u3164".encode(), "[U+3164]"),
        ("\u2800".encode(), "[U+2800]"),
        ("\ufe0f".encode(), "[U+FE0F]"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
        (b"\xe4", "\\xe4"),
        (b"\xf0\x9f", "\\xf0\\x9f"),
        ("\u0301".encode(), "◌\u0301"),
        (b" the", "␣the"),
        (b" ", "␣"),
        (b"", "(empty)"),
        (None, "(no token)"),
    ],
)
def test_what_cannot_be_seen_gets_a_visible_sign(key: bytes | None, shown: str) -> None:
    assert display_token(key) == shown


def test_long_tokens_are_cut_and_can_be_read_whole() -> None:
    long = b"x" * 500
    assert display_token(long) == "x" * 59 + "…"
    assert display_token(long, limit=0) == "x" * 500


def test_nothing_shown_is_invisible_or_breaks_a_message() -> None:
    for code in (*range(0x10000), *range(0xE0000, 0xE0200)):
        character = chr(code)
        key = character.encode("utf-8", errors="surrogatepass")
        shown = display_token(key)
        shown.encode("utf-8")
        categories = {unicodedata.category(one) for one in shown}
        assert not categories & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}, hex(code)
