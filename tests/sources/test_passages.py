"""Text in pieces for the lens: nothing lost, nothing seen twice, and too little is said to be."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.requests import CorpusRef, ModelRef
from embtie_widgets.sources import passages
from embtie_widgets.sources.passages import Pieces, pieces_of_texts, read_pieces
from embtie_widgets.sources.tokenizing import ModelTokenizer, tokenizer_of

WORDS = ["<s>", "</s>", "?", "a", *(f"w{i}" for i in range(60))]
START, END = 0, 1


def words(*, special: bool = False) -> ModelTokenizer:
    """One token a word; `special` has it put <s> before a text and </s> behind it."""
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", START), ("</s>", END)]
        )
    return ModelTokenizer(tokenizer, "words")


def text_of(count: int, start: int = 0) -> str:
    return " ".join(f"w{i % 60}" for i in range(start, start + count))


def listed(pieces: Pieces) -> list[list[int]]:
    return [ids.tolist() for ids in pieces.ids]


def own(count: int, start: int = 0) -> list[int]:
    return [4 + i % 60 for i in range(start, start + count)]


def test_texts_are_cut_into_pieces_that_follow_each_other():
    pieces = pieces_of_texts([text_of(10), text_of(6, 20)], words(), length=4)
    assert listed(pieces) == [own(4), own(4, 4), own(2, 8), own(4, 20), own(2, 24)]
    assert (pieces.positions, pieces.documents) == (16, 2)
    assert all(ids.dtype == np.int64 for ids in pieces.ids)


def test_special_tokens_that_the_text_itself_spells_are_counted():
    tokenizer = words(special=True)
    tokenizer.tokenizer.add_special_tokens(["<s>", "</s>", "?"])
    told = pieces_of_texts("w1 <s> w2 </s> w3 <s> strange", tokenizer, length=5).notes
    assert len(told) == 1
    assert "spells a special token 3 times ('<s>', '</s>')" in told[0]
    assert pieces_of_texts("w1 w2 strange w3", tokenizer, length=5).notes == ()
    # Token ids are no text: whoever gives them means them.
    assert pieces_of_texts([[0, 4, 1, 5]], None, length=5).notes == ()


def test_the_end_of_text_inside_a_text_is_told_for_the_bundled_pair():
    tokenizer = tokenizer_of(ModelRef("nano-tied"))
    told = pieces_of_texts("Once upon<|endoftext|>a time.", tokenizer, length=16).notes
    assert told == (
        "The text itself spells a special token once ('<|endoftext|>'); the model reads it as that "
        "token, not as letters.",
    )


def test_ends_of_a_single_token_are_dropped_and_counted():
    pieces = pieces_of_texts([text_of(5), text_of(9), "", "w1"], words(), length=4)
    assert listed(pieces) == [own(4), own(4), own(4, 4)]
    assert pieces.settings["ends dropped"] == 3
    assert "3 ends were left out" in pieces.notes[0]


def test_each_piece_begins_with_the_special_tokens_of_the_models_habit():
    """What the habit puts behind a text is left out: the text goes on."""
    pieces = pieces_of_texts(text_of(7), words(special=True), length=4)
    assert listed(pieces) == [[START, *own(3)], [START, *own(3, 3)], [START, *own(1, 6)]]
    assert pieces.settings["special tokens"] == [START]


def test_pieces_too_short_for_the_special_tokens_are_refused():
    with pytest.raises(EmbtieError, match="at least 2"):
        pieces_of_texts(text_of(7), words(special=True), length=1)


def test_a_limit_counts_positions():
    pieces = pieces_of_texts(text_of(30), words(), length=4, limit=10)
    assert listed(pieces) == [own(4), own(4, 4), own(2, 8)]


def test_a_long_text_gives_the_tokens_of_the_whole():
    model = tokenizer_of(ModelRef("nano-tied"))
    with gzip.open(passages.UNSEEN, "rt", encoding="utf-8") as file:
        text = file.read(60_000)
    pieces = pieces_of_texts(text, model, length=64)
    assert np.concatenate(pieces.ids).tolist() == model.encode([text])[0]


@pytest.mark.parametrize(
    "given",
    [
        [[5, 6, 7], [8, 9, 10]],
        np.array([[5, 6, 7], [8, 9, 10]], dtype=np.int32),
        torch.tensor([[5, 6, 7], [8, 9, 10]]),
    ],
)
def test_token_ids_go_in_as_they_are(given):
    pieces = pieces_of_texts(given, None, length=8)
    assert listed(pieces) == [[5, 6, 7], [8, 9, 10]]
    assert pieces.settings["special tokens"] == []


def test_a_single_row_of_ids_is_one_text():
    assert listed(pieces_of_texts([5, 6, 7], None, length=8)) == [[5, 6, 7]]


def test_rows_of_ids_may_differ_in_length():
    assert listed(pieces_of_texts([[5, 6, 7], [8, 9]], None, length=8)) == [[5, 6, 7], [8, 9]]


def test_empty_rows_of_ids_are_passed_over():
    assert listed(pieces_of_texts([[], [5, 6, 7]], None, length=8)) == [[5, 6, 7]]


@pytest.mark.parametrize(
    ("given", "words_of_it"),
    [
        ([[5, -100]], "-100"),
        ([[0.5, 1.5]], "whole numbers"),
        ([], "empty"),
        (7, "int"),
        ([[[1, 2], [3, 4]]], "rows"),
        ([[5]], "at least 2"),
        ([[5, 40]], "40"),
        (["w1 w2", 3], "Text 1 is a int"),
        (b"w1 w2", "bytes"),
    ],
)
def test_what_is_no_text_is_refused_in_words(given, words_of_it):
    with pytest.raises(EmbtieError, match=words_of_it):
        pieces_of_texts(given, words(), length=8, rows=40)


def test_text_without_a_tokenizer_is_refused():
    with pytest.raises(EmbtieError, match="no tokenizer"):
        pieces_of_texts(["w1 w2"], None, length=8)


def test_equal_pieces_have_one_hash_and_other_cuts_another():
    first, again = (pieces_of_texts(text_of(12), words(), length=4) for _ in range(2))
    assert first.sha256 == again.sha256
    others = [
        pieces_of_texts(text_of(12), words(), length=6),
        pieces_of_texts(text_of(12, 1), words(), length=4),
    ]
    assert len({first.sha256, *(pieces.sha256 for pieces in others)}) == 3


def read(corpus="", text="", *, length=4, tokens=8, train_tokens=20, tokenizer=None, **more):
    given = tokenizer or words()
    return read_pieces(
        CorpusRef(corpus),
        text,
        given,
        length=length,
        tokens=tokens,
        train_tokens=train_tokens,
        **more,
    )


def test_one_piece_in_five_is_measured_on_and_the_rest_trained_on(tmp_path: Path):
    path = tmp_path / "long.txt"
    path.write_text(text_of(400))
    measured, trained = read(str(path))
    assert listed(measured) == [own(4), own(4, 20)]
    assert listed(trained) == [own(4, 4), own(4, 8), own(4, 12), own(4, 16), own(4, 24)]
    assert (measured.positions, trained.positions) == (8, 20)
    assert measured.name == "long.txt"
    more, _ = read(str(path), tokens=40)
    assert listed(more)[:2] == listed(measured)
    assert not {tuple(p) for p in listed(more)} & {tuple(p) for p in listed(trained)}


def test_a_text_that_was_pasted_goes_before_the_corpus():
    measured, trained = read("bundled", text_of(12))
    assert (measured.name, measured.settings["text"]) == ("pasted text", "pasted")
    assert listed(measured) == [own(4)]
    assert listed(trained) == [own(4, 4), own(4, 8)]
    assert "only 4 of the 8 tokens" in measured.notes[0]


def test_where_nothing_is_trained_a_short_text_is_measured_whole():
    measured, trained = read(text=text_of(12), tokens=100, train_tokens=0)
    assert listed(measured) == [own(4), own(4, 4), own(4, 8)]
    assert trained.positions == 0
    assert trained.notes == ()


def test_the_same_pieces_of_a_long_text_are_measured_whether_or_not_anything_is_trained():
    with_training, _ = read(text=text_of(400))
    without, _ = read(text=text_of(400), train_tokens=0)
    assert with_training.sha256 == without.sha256


def test_too_little_text_is_said_with_what_is_needed():
    with pytest.raises(EmbtieError, match=r"one piece of 4 tokens or less.*logit lens"):
        read(text=text_of(4))
    with pytest.raises(EmbtieError, match="no piece of at least 2 tokens"):
        read(text="w1")


def test_each_line_of_records_is_a_document(tmp_path: Path):
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(json.dumps({"text": text_of(3, i)}) for i in range(20)))
    measured, trained = read(str(path))
    assert listed(measured) == [own(3), own(3, 5), own(2, 10)]
    assert measured.documents == 3
    assert not {tuple(p) for p in listed(measured)} & {tuple(p) for p in listed(trained)}


def test_ready_counts_are_no_text(tmp_path: Path):
    np.save(tmp_path / "counts.npy", np.ones(4, int))
    with pytest.raises(EmbtieError, match="models read text"):
        read(str(tmp_path / "counts.npy"))


@pytest.mark.parametrize("tokens", [500, 30_000])
def test_the_bundled_sample_is_measured_where_it_was_held_out(tokens):
    """Evenly from all of it, and trained on what the models learned from."""
    model = tokenizer_of(ModelRef("nano-tied"))
    measured, trained = read(length=64, tokens=tokens, train_tokens=1000, tokenizer=model)
    assert (measured.positions, trained.positions) == (tokens, 1000)
    for pieces, path in ((measured, passages.UNSEEN), (trained, passages._SEEN)):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            text = file.read()
        places = [text.find(model.tokenizer.decode(ids.tolist())) for ids in pieces.ids]
        assert min(places) >= 0
        assert places == sorted(places)
        assert places[-1] > 0.8 * len(text)


def test_the_bundled_sample_gives_each_position_once_at_most():
    model = tokenizer_of(ModelRef("nano-tied"))
    measured, _ = read(length=64, tokens=10**6, train_tokens=0, tokenizer=model)
    with gzip.open(passages.UNSEEN, "rt", encoding="utf-8") as file:
        assert np.concatenate(measured.ids).tolist() == model.encode([file.read()])[0]
    assert f"only {measured.positions:,} of the 1,000,000" in measured.notes[0]


def test_reading_can_be_stopped(tmp_path: Path):
    (tmp_path / "long.txt").write_text(text_of(400))

    def stop(*_: object) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        read(str(tmp_path / "long.txt"), progress=stop)
    with pytest.raises(Cancelled):
        read(progress=stop, tokenizer=tokenizer_of(ModelRef("nano-tied")))
