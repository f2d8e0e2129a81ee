# ruff: noqa: RUF001
"""Byte keys by row, from every form in which a vocabulary comes."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import embtie_widgets as ew
from embtie_widgets.sources import spelling
from embtie_widgets.sources.files import FolderFiles
from embtie_widgets.sources.tokens import from_value, of_checkpoint, read_vocabulary
from tests.sources.vocabularies import as_json, byte_level, sentencepiece

CHINESE = "测".encode()


def keys(source: Any, rows: int) -> list[bytes | None]:
    return read_vocabulary(source).by_row(rows)


def wordlevel(vocab: dict[str, int], added: tuple[str, ...] = ()) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="a"))
    tokenizer.add_tokens(list(added))
    return tokenizer


def test_rows_go_by_id_and_not_by_the_number_of_tokens() -> None:
    assert keys(wordlevel({"a": 0, "b": 1, "d": 3}), 4) == [b"a", b"b", None, b"d"]


def test_added_tokens_own_their_rows_and_repeats_are_not_counted_twice() -> None:
    vocabulary = read_vocabulary(wordlevel({"a": 0, "b": 1, "c": 2}, added=("<x>", "c")))
    assert vocabulary.by_row(5) == [b"a", b"b", b"c", b"<x>", None]


def test_an_added_token_never_drives_out_a_learned_one() -> None:
    # The tokenizers library itself numbers the first added token by the size of the table.
    tokenizer = wordlevel({"a": 0, "b": 1, "d": 3}, added=("<x>",))
    assert tokenizer.get_vocab()["<x>"] == 3
    added = [{"id": 3, "content": "<x>"}, {"id": 2, "content": "<y>"}]
    vocabulary = from_value(as_json(tokenizer) | {"added_tokens": added})
    assert vocabulary.by_row(4) == [b"a", b"b", b"<y>", b"d"]
    assert "1 added tokens claim a row" in vocabulary.notes[0]


@pytest.mark.parametrize(
    "source",
    [{"a": 0, "b": 0}, {"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}}}],
)
def test_a_token_that_loses_its_row_to_another_is_noted(source: Any) -> None:
    assert read_vocabulary(source).notes == [
        "1 token was left out: another token has the same row."
    ]


def test_a_table_of_bytes_is_taken_as_bytes() -> None:
    assert keys({CHINESE: 0, b"a": 1}, 3) == [CHINESE, b"a", None]


def test_holes_reach_the_loaded_model(tmp_path: Path) -> None:
    import numpy as np

    np.save(tmp_path / "e.npy", np.eye(4, dtype=np.float32))
    loaded = ew.load((tmp_path / "e.npy",), tokens={"a": 0, "b": 1, "d": 3, "far": 99})
    assert loaded.tokens == [b"a", b"b", None, b"d"]
    assert loaded.padding.tolist() == [2]
    assert "1 tokens of the tokenizer have no row in the matrix." in loaded.notes


def test_both_spellings_of_a_space_give_the_same_bytes() -> None:
    pieces, levels = keys(sentencepiece(), 262), keys(byte_level(), 262)
    assert pieces[256:] == [b" the", b"the", b" ", b"a", b"e", b"A"]
    assert levels[256:] == [b"\xf0\x9f", b" the", b"the", "中".encode(), b"  ", b"<|end|>"]
    assert pieces[:256] == [bytes([byte]) for byte in range(256)]
    assert set(levels[:256]) == set(pieces[:256])


def test_only_the_byte_fallbacks_rows_are_raw_bytes() -> None:
    assert read_vocabulary(sentencepiece()).byte_rows == set(range(256))
    assert read_vocabulary(byte_level()).byte_rows == set()


def test_added_tokens_are_plain_text_but_for_marks_of_spaces() -> None:
    tokenizer = byte_level()
    added = ["Ġplain", "<｜end▁of▁text｜>", "▁▁"]
    tokenizer.add_tokens(added)
    assert keys(tokenizer, 265)[262:] == [token.encode() for token in added]
    other = sentencepiece()
    other.add_tokens(["<0x41>x", "▁▁"])
    assert keys(other, 264)[262:] == [b"<0x41>x", b"  "]
    other.add_tokens(["<a▁b>"])
    assert keys(other, 265)[264] == "<a▁b>".encode()


def test_nothing_is_folded() -> None:
    vocab = {"A": 0, "a": 1, "é": 2, "e\u0301": 3}
    assert len(set(keys(wordlevel(vocab), 4))) == 4


def test_a_unigram_list_and_its_metaspace_are_read() -> None:
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("▁a", -1.0), ("b", -2.0)], 0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    assert keys(tokenizer, 3) == [b"<unk>", b" a", b"b"]


def test_byte_level_inside_a_sequence_is_found() -> None:
    tokenizer = Tokenizer(models.BPE({"Ġa": 0, "Ċ": 1}, []))
    steps = [pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(use_regex=False)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    assert keys(tokenizer, 2) == [b" a", b"\n"]


def test_words_begin_with_a_space_in_wordpiece_too() -> None:
    vocab = {"[CLS]": 0, "the": 1, "##ing": 2, ",": 3, "中": 4, "##": 5}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[CLS]"))
    tokenizer.decoder = decoders.WordPiece()
    assert keys(tokenizer, 6) == [b"[CLS]", b" the", b"ing", b",", "中".encode(), b"##"]


def test_an_end_of_word_mark_is_a_space() -> None:
    vocab = {"the</w>": 0, "the": 1, "</w>": 2}
    tokenizer = Tokenizer(models.BPE(vocab, [], end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    assert keys(tokenizer, 2) == [b"the ", b"the"]


def test_a_bare_table_shows_its_spelling() -> None:
    assert keys({"Ġa": 0, "Ċ": 1}, 2) == [b" a", b"\n"]
    assert keys({"▁a": 0, "Ġ": 1}, 2) == [b" a", "Ġ".encode()]
    assert keys({"Ġa": 0, "Ġᚠ": 1}, 2) == ["Ġa".encode(), "Ġᚠ".encode()]
    assert keys({"é": 0}, 1) == ["é".encode()]


def test_lists_are_taken_as_they_stand(tmp_path: Path) -> None:
    assert keys(["Ġa", None, b"\xff", ""], 4) == ["Ġa".encode(), None, b"\xff", b""]
    whole = [*spelling.BYTE_ALPHABET, "Ġa"]
    assert keys(whole, 257)[256] == b" a"
    path = tmp_path / "t.json"
    path.write_text('["a", null, "\\ud800"]')
    assert keys(path, 3) == [b"a", None, b"\xed\xa0\x80"]


def test_a_text_file_has_a_token_a_line_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(b"\xef\xbb\xbfa \n\n\xffb\x0b\xe2\x80\xa8c\n")
    assert keys(path, 4) == [b"a ", None, b"\xffb\x0b\xe2\x80\xa8c", None]
    path.write_bytes(b"a\r\nb\r\n")
    assert keys(path, 2) == [b"a", b"b"]


def test_a_checkpoints_older_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps({"Ġa": 0, "Ċ": 1}))
    (tmp_path / "added_tokens.json").write_text(json.dumps({"Ġx": 2}))
    decoder = {"added_tokens_decoder": {"3": {"content": "<y>"}, "z": {"content": "no"}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(decoder))
    found = of_checkpoint(FolderFiles(tmp_path))
    assert found is not None
    assert found.by_row(5) == [b" a", b"\n", "Ġx".encode(), b"<y>", None]


def test_vocab_txt_is_wordpiece(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\nthe\n##s\n")
    found = of_checkpoint(FolderFiles(tmp_path))
    assert found is not None
    assert found.by_row(3) == [b"[PAD]", b" the", b"s"]


@pytest.mark.parametrize(
    "name",
    ["spiece.model", "sentencepiece.bpe.model", "spm.model", "source.spm", "tekken.json",
     "tokenizer.model.v3", "tiktoken.model"],
)  # fmt: skip
def test_a_tokenizer_that_is_not_read_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x0a\x01")
    found = of_checkpoint(FolderFiles(tmp_path))
    assert found is not None
    assert f"{name} is not read" in found.notes[0]
    assert of_checkpoint(FolderFiles(tmp_path.parent)) is None


def test_a_list_that_begins_with_an_everyday_word_is_no_pointer(tmp_path: Path) -> None:
    path = tmp_path / "tokens.txt"
    path.write_text("version \n<\n<h\n")
    assert keys(path, 3) == [b"version ", b"<", b"<h"]


def test_a_tokenizer_json_may_be_given_as_the_token_list(tmp_path: Path) -> None:
    path = tmp_path / "any.json"
    path.write_text(json.dumps(as_json(byte_level())))
    assert keys(path, 262) == keys(byte_level(), 262)


@pytest.mark.parametrize(
    "bad",
    [
        {"a": -1},
        {"a": 1.5},
        {"a": True},
        {"a": None},
        {"a": []},
        {"model": {"vocab": {"a": 0}}, "added_tokens": [{"content": "x", "id": []}]},
        {3: 0},
        [3],
        {"model": {"vocab": 7}},
        {"model": {"vocab": [[1, 2]]}},
        object(),
        "list.csv",
        "missing.txt",
    ],
)
def test_what_is_no_vocabulary_is_refused(bad: Any) -> None:
    with pytest.raises(ew.EmbtieError) as caught:
        read_vocabulary(bad)
    assert caught.value.hint


def test_json_that_is_neither_list_nor_table_is_refused() -> None:
    with pytest.raises(ew.EmbtieError, match="neither a list nor a mapping"):
        from_value(3)


def test_a_huge_row_number_costs_nothing() -> None:
    assert keys({"a": 0, "b": 10**15}, 2) == [b"a", None]


def test_every_byte_has_one_stand_in() -> None:
    assert sorted(spelling.BYTE_ALPHABET.values()) == list(range(256))
    tokenizer_alphabet = set(pre_tokenizers.ByteLevel.alphabet())
    assert set(spelling.BYTE_ALPHABET) == tokenizer_alphabet
