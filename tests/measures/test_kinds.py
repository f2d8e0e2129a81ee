"""Every token has exactly one kind, decided by its bytes and its tokenizer."""

import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embtie_widgets.measures.kinds import kinds_of
from embtie_widgets.results.groups import KINDS, NO_KIND, kind_names
from embtie_widgets.sources.tokens import read_vocabulary

EXAMPLES = {
    "word start": [
        " the",
        " The",
        " é",
        "\tint",
        "\n\nThe",
        " isn't",
        " x86",
        " 3rd",
        " ﬁn",
        "　a",
    ],
    "continuation": [
        "ing",
        "The",
        "'s",
        ".com",
        "_name",
        "<br",
        "x86",
        "3rd",
        "ß",
        "µ",
        "é",
        "e\u0301",
    ],
    "number": ["7", " 2019", "1,000", "10%", "²", "½", "\u0664", "\u2168", " -5"],
    "punctuation": [".", " (", "\n}", "**", "€", "→", "🙂", "\ufffd", "\u0301", "❤\ufe0f"],
    "other script": ["中", " для", "ー", "的a", "β", "\u0e34", "\u0301я", "Ωm", "مرح", "9時"],
    "whitespace": [" ", "\n", "\t\t", "\r\n  ", "\x00", "\u200b", "\u202e", "\ufe0f", "", "\u3164"],
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in EXAMPLES.items() for text in texts]
)
def test_letters_digits_and_spaces_decide(kind: str, text: str) -> None:
    assert kind_names(kinds_of([text.encode()])) == [kind]


@pytest.mark.parametrize("key", [b"\xe4", b"\x80\x94", b" \xe2\x80", "中".encode()[:2], b"the\xff"])
def test_bytes_that_are_no_text_by_themselves_are_bytes(key: bytes) -> None:
    assert kind_names(kinds_of([key])) == ["byte"]


def test_a_lone_surrogate_is_no_text() -> None:
    assert kind_names(kinds_of(["\ud800".encode("utf-8", "surrogatepass")])) == ["byte"]


def test_what_the_tokenizer_says_goes_before_what_the_bytes_say() -> None:
    keys = [b"<s>", b"a", b"\xff", b"a"]
    special, raw = np.array([1, 0, 1, 0], bool), np.array([0, 1, 1, 0], bool)
    assert kind_names(kinds_of(keys, special, raw)) == [
        "special",
        "byte",
        "special",
        "continuation",
    ]


def test_a_row_without_token_has_no_kind_even_where_it_is_marked() -> None:
    marked = np.ones(2, bool)
    assert kinds_of([None, b"a"], marked, marked).tolist() == [
        NO_KIND,
        list(KINDS).index("special"),
    ]
    assert kind_names(kinds_of([None])) == [""]


def test_no_tokens_have_no_kinds() -> None:
    assert kinds_of([]).shape == (0,)


_TEXTS = st.text(max_size=8).map(lambda text: text.encode("utf-8", "surrogatepass"))


@given(st.lists(st.one_of(st.none(), st.binary(max_size=12), _TEXTS)))
def test_any_tokens_get_one_kind_each_that_does_not_depend_on_the_others(
    keys: list[bytes | None],
) -> None:
    kinds = kinds_of(keys)
    assert kinds.shape == (len(keys),)
    assert kinds.tolist() == [int(kinds_of([key])[0]) for key in keys]
    assert all((kind == NO_KIND) == (key is None) for kind, key in zip(kinds, keys, strict=True))
    assert ((kinds < len(KINDS)) | (kinds == NO_KIND)).all()


def test_latin_is_what_unicode_calls_latin() -> None:
    """By the names of the letters, which say the script too."""
    told_apart = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC", "DEVANAGARI", "HANGUL", "CJK")
    signs = [chr(code) for code in range(0x80, 0xFFFF) if unicodedata.category(chr(code))[0] == "L"]
    named = [(sign, unicodedata.name(sign, "").split(" ")[0]) for sign in signs]
    sure = [(sign, script) for sign, script in named if script in told_apart]
    kinds = kind_names(kinds_of([sign.encode() for sign, _ in sure]))
    odd = {
        sign
        for (sign, script), kind in zip(sure, kinds, strict=True)
        if (kind == "continuation") != (script == "LATIN") and kind != "whitespace"
    }
    assert len(sure) > 40_000
    assert odd == set()


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("gpt2_vocab.json", {"<|endoftext|>": "special", " the": "word start"}),
        ("gpt_neox_tokenizer.json", {"  ": "whitespace", "|||IP_ADDRESS|||": "special"}),
    ],
)
def test_real_vocabularies_fall_apart_as_expected(
    shared: Path, name: str, known: dict[str, str]
) -> None:
    vocabulary = read_vocabulary(shared / "data" / name)
    keys = vocabulary.by_row(max(vocabulary.keys) + 1)
    special = np.isin(np.arange(len(keys)), list(vocabulary.special_rows))
    kinds = dict(zip(keys, kind_names(kinds_of(keys, special)), strict=True))
    assert {token: kinds[token.encode()] for token in known} == known
    assert 1 <= list(kinds.values()).count("special") <= 5
    shares = {kind: list(kinds.values()).count(kind) / len(keys) for kind in KINDS}
    assert shares["word start"] > 0.5
    assert 0.25 < shares["continuation"] < 0.4
    assert 0.02 < shares["number"] < 0.06
    single = [key for key in keys if key is not None and len(key) == 1 and key[0] > 127]
    assert {kinds[key] for key in single} == {"byte"}
