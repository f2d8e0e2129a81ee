"""Which rows hold no text: what every family's tokenizer says of its control tokens."""

import base64
import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer, models

import embtie_widgets as ew
from embtie_widgets.sources.files import FolderFiles
from embtie_widgets.sources.tokens import Vocabulary, of_checkpoint, read_vocabulary
from tests.sources.test_gguf import write
from tests.sources.test_piece_files import model, piece
from tests.sources.vocabularies import byte_level, sentencepiece


def special(vocabulary: Vocabulary | None) -> set[bytes]:
    assert vocabulary is not None
    return {vocabulary.keys[row] for row in vocabulary.special_rows}


def folder(path: Path, **files: Any) -> Vocabulary | None:
    for name, value in files.items():
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        (path / name.replace("__", ".")).write_bytes(data)
    return of_checkpoint(FolderFiles(path))


def added(*tokens: Any) -> Tokenizer:
    tokenizer = byte_level()
    tokenizer.add_tokens(list(tokens))
    return tokenizer


def test_a_tokenizer_json_marks_its_control_tokens() -> None:
    assert special(read_vocabulary(byte_level())) == {b"<|end|>"}


def test_of_tokens_added_without_a_mark_only_signs_of_their_own_are_special() -> None:
    by_hand = ["<tool_call>", "|||IP|||", "[INST]", "COVID-19", "   ", "÷", "ý", "en_XX"]
    marked = AddedToken("de_DE", special=True)
    found = special(read_vocabulary(added(*by_hand, marked)))
    assert found == {b"<|end|>", b"<tool_call>", b"|||IP|||", b"[INST]", b"de_DE"}


def test_a_wordpiece_tokenizer_names_its_own() -> None:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "##ing", "[", "[sic]"]
    tokenizer = Tokenizer(models.WordPiece({p: row for row, p in enumerate(pieces)}))
    tokenizer.add_special_tokens(pieces[:4])
    assert special(read_vocabulary(tokenizer)) == {p.encode() for p in pieces[:4]}


def test_a_list_that_names_none_is_read_by_how_they_are_usually_spelled(tmp_path: Path) -> None:
    assert special(read_vocabulary(["<s>", "</s>", "a", "<b>", "<|", "|>"])) == {b"<s>", b"</s>"}
    assert special(read_vocabulary({"<|endoftext|>": 0, "a": 1})) == {b"<|endoftext|>"}
    assert special(folder(tmp_path, vocab__txt=b"[CLS]\nthe\n##s\n[\n")) == {b"[CLS]"}
    assert special(read_vocabulary(sentencepiece())) == set()


def test_a_list_that_names_some_is_believed() -> None:
    tokenizer = added()
    tokenizer.add_tokens(["x"])
    vocabulary = read_vocabulary(tokenizer)
    vocabulary.add("<s>", 400, lambda token: (token.encode(), False))
    assert special(vocabulary) == {b"<|end|>"}


def test_a_sentencepiece_file_tells_their_kinds(tmp_path: Path) -> None:
    more = [piece("<mask>", 4), piece("\u2581\u2581", 4), piece("word", 4)]
    found = folder(tmp_path, tokenizer__model=model(*more))
    assert special(found) == {b"<unk>", b"<s>", b"<mask>"}


def test_tokens_listed_beside_a_file_of_pieces_are_added_ones(tmp_path: Path) -> None:
    ranks = b"".join(base64.b64encode(bytes([row + 97])) + b" %d\n" % row for row in range(3))
    entries = {"5": {"content": "<|im_end|>", "special": True}, "6": {"content": "hello"},
               "7": {"content": "en_XX", "special": True}}  # fmt: skip
    settings = {"added_tokens_decoder": entries}
    found = folder(tmp_path, qwen__tiktoken=ranks, tokenizer_config__json=settings)
    assert special(found) == {b"<|im_end|>", b"en_XX"}


def test_a_list_beside_may_mark_a_token_of_the_vocabulary(tmp_path: Path) -> None:
    settings = {"added_tokens_decoder": {"1": {"content": "<pad>", "special": True}}}
    found = folder(tmp_path, vocab__txt=b"the\n<pad>\n[X]\n", tokenizer_config__json=settings)
    assert special(found) == {b"<pad>"}


def test_a_gguf_file_tells_their_kinds(tmp_path: Path) -> None:
    e = np.random.default_rng(0).standard_normal((8, 32)).astype(np.float32)
    tokens = ["<unk>", "<s>", "<0x0A>", "▁the", "<tool>", "▁▁", "b", "<s2>"]
    path = write(tmp_path / "m.gguf", model="llama", tokens=tokens, types=[2, 3, 6, 1, 4, 4, 1, 1],
                 **{"token_embd.weight": (e, None)})  # fmt: skip
    assert ew.load(path).special == {0, 1, 4}
    assert gguf.TokenType.CONTROL == 3


def test_the_bundled_models_have_one(tmp_path: Path) -> None:
    loaded = ew.load("nano-tied")
    assert loaded.tokens is not None
    assert [loaded.tokens[row] for row in loaded.special] == [b"<|endoftext|>"]


def test_a_slow_tokenizer_says_which_are_special() -> None:
    class Slow:
        all_special_tokens = ("eos",)

        def get_vocab(self) -> dict[str, int]:
            return {"a": 0, "eos": 1, "word": 2, "<x>": 3}

        def get_added_vocab(self) -> dict[str, int]:
            return {"eos": 1, "word": 2, "<x>": 3}

    assert special(read_vocabulary(Slow())) == {b"eos", b"<x>"}


@pytest.mark.parametrize("value", [[], {}, ["a"]])
def test_a_list_without_any_has_none(value: Any) -> None:
    assert read_vocabulary(value).special_rows == frozenset()


def test_a_row_that_another_token_takes_over_is_special_no_more() -> None:
    listed = [
        {"content": "<x>", "id": 5},
        {"content": "<y>", "id": 6},
        {"content": "word", "id": 5},
    ]
    value = {"model": {"type": "WordLevel", "vocab": {"a": 0}}, "added_tokens": listed}
    assert special(read_vocabulary(value)) == {b"<y>"}
