"""Tokenizers of older repositories: files of pieces, and tokens that are listed beside them."""

import base64
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import piece_files
from embtie_widgets.sources.files import FolderFiles
from embtie_widgets.sources.tokens import Vocabulary, of_checkpoint
from tests.sources.vocabularies import as_json, byte_level

NORMAL, UNKNOWN, CONTROL, RAW_BYTE = 1, 2, 3, 6
PIECES = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("<0x41>", RAW_BYTE), ("\u2581the", NORMAL),
          ("<0x42>", NORMAL), ("\u4e2d", NORMAL)]  # fmt: skip


def sized(number: int, value: bytes) -> bytes:
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def piece(text: str, kind: int) -> bytes:
    score = b"\x15\x00\x00\x80\xbf"
    kinds = b"" if kind == NORMAL else bytes([3 << 3, kind])
    return sized(1, sized(1, text.encode()) + score + kinds)


def model(*more: bytes) -> bytes:
    """A SentencePiece model: pieces, then settings of the trainer that are passed over."""
    return b"".join([*(piece(*one) for one in PIECES), sized(2, b"\x18\x03"), *more])


def read(folder: Path, **files: Any) -> Vocabulary:
    for name, value in files.items():
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        (folder / name.replace("__", ".")).write_bytes(data)
    found = of_checkpoint(FolderFiles(folder))
    assert found is not None
    return found


def test_a_sentencepiece_model_gives_its_pieces_by_row(tmp_path: Path) -> None:
    found = read(tmp_path, tokenizer__model=model())
    assert found.by_row(7) == [b"<unk>", b"<s>", b"A", b" the", b"<0x42>", "\u4e2d".encode(), None]
    assert found.byte_rows == {2}
    assert "tokenizer.model" in found.notes[0]


@pytest.mark.parametrize("name", ["tokenizer.model", "qwen.tiktoken", "o200k_base.tiktoken"])
def test_ranks_give_bytes_by_row(tmp_path: Path, name: str) -> None:
    tokens = [b"a", b" the", b"\xff\xfe", b"\n"]
    lines = [base64.b64encode(token) + b" %d" % (row * 2) for row, token in enumerate(tokens)]
    (tmp_path / name).write_bytes(b"\n".join(lines) + b"\n")
    found = read(tmp_path)
    assert found.by_row(8) == [b"a", None, b" the", None, b"\xff\xfe", None, b"\n", None]


def test_special_tokens_beside_the_pieces_are_known(tmp_path: Path) -> None:
    settings = {"added_tokens_decoder": {"1": {"content": "<s>"}, "7": {"content": "<pad>"}}}
    found = read(tmp_path, tokenizer__model=model(), tokenizer_config__json=settings)
    assert found.by_row(8)[6:] == [None, b"<pad>"]
    assert found.keys[1] == b"<s>"


def test_added_tokens_beside_vocab_txt_own_their_rows(tmp_path: Path) -> None:
    found = read(tmp_path, vocab__txt=b"[PAD]\nthe\n", added_tokens__json={"<new>": 2})
    assert found.by_row(4) == [b"[PAD]", b" the", b"<new>", None]


def test_tokens_listed_beside_tokenizer_json_take_only_what_is_free(tmp_path: Path) -> None:
    listed = {"<new>": 262, "<claims a row>": 3, "the": 263}
    found = read(tmp_path, tokenizer__json=as_json(byte_level()), added_tokens__json=listed)
    alone = of_checkpoint(FolderFiles(tmp_path))
    assert alone is not None
    assert found.keys[262] == b"<new>"
    assert found.keys[3] != b"<claims a row>"
    assert 263 not in found.keys


def test_a_damaged_list_beside_costs_only_what_it_lists(tmp_path: Path) -> None:
    found = read(tmp_path, tokenizer__json=as_json(byte_level()), tokenizer_config__json=b"{")
    assert len(found.keys) == 262
    assert "added beside" in found.notes[-1]


@pytest.mark.parametrize("empty", [[], {"model": {"vocab": {}}}])
def test_a_tokenizer_without_tokens_is_noted(tmp_path: Path, empty: Any) -> None:
    assert "hold none" in read(tmp_path, tokenizer__json=empty).notes[0]


@pytest.mark.parametrize("cut", range(1, 60))
def test_a_cut_model_is_noted_and_gives_no_tokens(tmp_path: Path, cut: int) -> None:
    found = read(tmp_path, tokenizer__model=model()[:-cut])
    assert found.keys == {}
    assert "cut short" in found.notes[0]


def test_a_cut_rank_is_not_taken_for_a_row(tmp_path: Path) -> None:
    ranks = b"".join(base64.b64encode(bytes([row])) + b" %d\n" % row for row in range(20))
    assert read(tmp_path, tokenizer__model=ranks).keys[19] == b"\x13"
    assert read(tmp_path, tokenizer__model=ranks[:-2]).keys == {}


@given(st.binary(max_size=60))
def test_no_bytes_crash_the_readers(data: bytes) -> None:
    for reader in (piece_files.pieces, piece_files.ranked):
        with suppress(EmbtieError):
            list(reader(data, "tokenizer.model"))
