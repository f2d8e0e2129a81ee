# ruff: noqa: RUF001
"""Long texts are cut where no token is split, whatever the tokenizer."""

import gzip
import json
import random
from collections import Counter
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from embtie_widgets.requests import ModelRef
from embtie_widgets.sources.corpora import BUNDLED_FILE
from embtie_widgets.sources.cutting import Cutter
from embtie_widgets.sources.made_tokenizers import byte_level, sentencepiece
from embtie_widgets.sources.piece_files import scored_pieces
from embtie_widgets.sources.texts import Chunk
from embtie_widgets.sources.tokenizing import ModelTokenizer, tokenizer_of

PIECES = Path(__file__).parent / "pieces"


@pytest.fixture(scope="module")
def text() -> str:
    """English with everything that tokenizers look at: runs of space, numbers, other scripts."""
    with gzip.open(BUNDLED_FILE, "rt", encoding="utf-8") as file:
        english = file.read(120_000)
    dice = random.Random(0)
    odd = [" \n", "\n\n", "  ", "\t", "\r\n", " 1234567", "1", "’", "...\n", "測試。語言，", "é"]
    odd += ["e\u0301", " \u00a0", "\n  \n", "don't ", "<|endoftext|>", ".\n\n", "🙂🙂", " !?\n"]
    words = english.split(" ")
    return " ".join(w + dice.choice(odd) if dice.random() < 0.1 else w for w in words)


def neox(shared: Path) -> Tokenizer:
    return Tokenizer.from_file(str(shared / "data" / "gpt_neox_tokenizer.json"))


def gpt2(shared: Path) -> Tokenizer:
    """GPT-2's vocabulary and words; its merges are those that its own tokens allow."""
    return _byte_level(shared, "gpt-2")


def llama3(shared: Path) -> Tokenizer:
    """The words of Llama 3, which take line ends to the sign before them."""
    return _byte_level(shared, "llama-bpe")


def _byte_level(shared: Path, words: str) -> Tokenizer:
    vocabulary = json.loads((shared / "data" / "gpt2_vocab.json").read_text(encoding="utf-8"))
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    merges = [
        f"{token[:cut]} {token[cut:]}"
        for token in tokens[:20_000]
        for cut in range(1, len(token))
        if token[:cut] in vocabulary and token[cut:] in vocabulary
    ]
    return byte_level(tokens, merges, [1] * (len(tokens) - 1) + [3], words, "gpt2")


def nano(_shared: Path) -> Tokenizer:
    return tokenizer_of(ModelRef("nano-tied")).tokenizer


def pieces_merged(_shared: Path) -> Tokenizer:
    return sentencepiece(scored_pieces((PIECES / "bpe.model").read_bytes(), "bpe.model"), "bpe")


def pieces_unigram(_shared: Path) -> Tokenizer:
    data = (PIECES / "unigram.model").read_bytes()
    return sentencepiece(scored_pieces(data, "unigram.model"), "unigram")


def wordpiece(_shared: Path) -> Tokenizer:
    """As BERT's: lower case, accents gone, words apart from signs."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,;:'!?()-"
    pieces = ["[UNK]", *letters, *(f"##{sign}" for sign in letters), "the", "##ing", "and"]
    made = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def lines_as_spaces(shared: Path) -> Tokenizer:
    """As T5's: a line end is a space before the next word, so that nothing ends behind it."""
    made = pieces_unigram(shared)
    one_space = normalizers.Replace(Regex(r"\s+"), " ")
    made.normalizer = normalizers.Sequence([one_space, normalizers.Prepend(" ")])
    return made


KINDS = [nano, gpt2, neox, llama3, pieces_merged, pieces_unigram, lines_as_spaces, wordpiece]


def counts(tokenizer: Tokenizer, text: str, size: int, chunk: int = 5_000) -> tuple[Counter, int]:
    """Counts of the text in pieces of that size, and how many pieces there were."""
    encode = ModelTokenizer(tokenizer, "").encode
    cutter = Cutter(encode, size, window=64, furthest=20_000)
    places = range(0, len(text), chunk)
    chunks = [Chunk(text[at : at + chunk], at + chunk >= len(text), at) for at in places]
    found = list(cutter.pieces(chunks))
    encoded = encode([piece.text for piece in found])
    assert cutter.forced == 0
    pairs = zip(encoded, found, strict=True)
    return Counter(one for ids, piece in pairs for one in ids[piece.skip :]), len(found)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("size", [300, 3_001])
def test_the_size_of_a_piece_does_not_change_the_counts(kind, size, text, shared):
    tokenizer = kind(shared)
    whole = Counter(tokenizer.encode(text, add_special_tokens=False).ids)
    found, pieces = counts(tokenizer, text, size)
    assert pieces > len(text) / size / 3
    assert found == whole


def test_cutting_anywhere_would_change_them(text, shared):
    tokenizer = nano(shared)
    whole = Counter(tokenizer.encode(text, add_special_tokens=False).ids)
    blind = [text[at : at + 300] for at in range(0, len(text), 300)]
    encoded = ModelTokenizer(tokenizer, "").encode(blind)
    assert Counter(one for ids in encoded for one in ids) != whole


def test_documents_are_not_joined(shared):
    encode = ModelTokenizer(nano(shared), "").encode
    found = list(Cutter(encode).pieces([Chunk("and", True, 3), Chunk("rew", True, 6)]))
    assert [(piece.text, piece.skip, piece.last) for piece in found] == [
        ("and", 0, True),
        ("rew", 0, True),
    ]


def test_a_stretch_without_any_place_is_cut_all_the_same_and_told(shared):
    cutter = Cutter(ModelTokenizer(nano(shared), "").encode, 300, window=64, furthest=2_000)
    found = list(cutter.pieces([Chunk("a" * 10_000, True, 10_000)]))
    assert cutter.forced > 0
    assert max(len(piece.text) for piece in found) < 2_000


def test_a_text_without_a_safe_place_is_searched_once(monkeypatch):
    searched = 0
    search = Cutter._safe_between

    def counted(self: Cutter, text: str, begin: int, end: int) -> tuple[int, int] | None:
        nonlocal searched
        searched += max(0, end - begin)
        return search(self, text, begin, end)

    monkeypatch.setattr(Cutter, "_safe_between", counted)
    cutter = Cutter(lambda texts: [[0] * len(t) for t in texts], 100, 10, 4_000)
    chunks = [Chunk("a" * 5_000, n == 3, n) for n in range(4)]
    pieces = list(cutter.pieces(chunks))
    assert sum(len(piece.text) - piece.skip for piece in pieces) == 20_000
    assert cutter.forced > 100
    assert searched <= 20_000
