"""The text of a request as token ids, learned from and held out."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.requests import CorpusRef
from embtie_widgets.training import texts
from embtie_widgets.training.corpus import corpus_from_documents, read_text, split_documents
from embtie_widgets.training.nano import BUNDLED, HELD_OUT, SAMPLE
from embtie_widgets.training.texts import Both, corpus_for


def cut(path: Path | str, tokenizer: str = "", vocabulary: int = 300) -> Both:
    return corpus_for(CorpusRef(str(path)), tokenizer, vocabulary)


@pytest.fixture(autouse=True)
def forgetful() -> None:
    texts._made.clear()


@pytest.fixture
def verses(tmp_path: Path) -> Path:
    """A text without any blank line, 400,000 characters."""
    path = tmp_path / "verses.txt"
    path.write_text("".join(f"line {i} of many lines, é\n" for i in range(16_000)))
    return path


def test_the_sample_is_cut_as_the_bundled_pair_had_it() -> None:
    learned, held = corpus_for(CorpusRef(""), "", 4096)
    for made, name in ((learned, SAMPLE), (held, HELD_OUT)):
        documents = split_documents(read_text(BUNDLED / name))
        wanted = corpus_from_documents(documents, learned.tokenizer, name)
        assert np.array_equal(made.ids, wanted.ids)
    assert learned.tokenizer is not None
    assert learned.tokenizer.get_vocab_size() == 4096


def test_the_same_text_is_made_once(verses: Path) -> None:
    first = cut(verses)
    assert cut(verses)[0] is first[0]
    verses.write_text(verses.read_text() + "And one more line.\n")
    again = cut(verses)
    assert [one.sha256 for one in again] != [one.sha256 for one in first]


def test_a_long_text_is_held_out_by_pieces_and_nothing_is_lost_or_in_both(verses: Path) -> None:
    learned, held = cut(verses)
    assert learned.tokenizer is not None
    parts = [learned.tokenizer.decode(one.ids.tolist()) for one in (learned, held)]
    assert 0 < len(parts[1]) < 0.2 * len(parts[0])
    assert sorted("".join(parts)) == sorted(verses.read_text())
    lines = [set(part.splitlines()[1:-1]) for part in parts]
    assert len(lines[0] & lines[1]) <= 2  # pieces may begin and end inside a line


def test_every_document_of_jsonl_ends_with_its_sign(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps({"text": f"number {i}"}) + "\n" for i in range(120)))
    learned, held = cut(path)
    assert (learned.ids == 0).sum() + (held.ids == 0).sum() == 120
    assert (held.ids == 0).sum() == 2
    assert (learned.ids[-1], held.ids[-1]) == (0, 0)


def test_of_a_short_text_the_end_is_held_out(tmp_path: Path) -> None:
    path = tmp_path / "short.txt.gz"
    path.write_bytes(gzip.compress(b"In the beginning was the word. " * 40))
    learned, held = cut(path)
    assert len(held.ids) == len(learned.ids) // 19
    assert learned.name == "short.txt.gz"


def test_a_tokenizer_is_learned_from_the_text(verses: Path) -> None:
    learned, held = cut(verses, "train", 310)
    assert learned.tokenizer is not None
    assert learned.tokenizer.get_vocab_size() == 310
    assert learned.tokenizer is held.tokenizer
    assert len(learned.tokenizer.encode(" many").ids) == 1
    assert cut(verses, "train", 310)[0] is learned
    assert cut(verses, "train", 320)[0] is not learned


def test_the_tokenizer_of_a_model_is_taken(verses: Path) -> None:
    assert cut(verses, "nano-untied")[0].sha256 == cut(verses, "")[0].sha256
    with pytest.raises(EmbtieError):
        cut(verses, str(verses.parent / "no-model"))


def test_text_is_read_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big.txt"
    path.write_text("a word and another\n" * 80_000)
    short = corpus_for(CorpusRef(str(path), limit_mb=1), "", 300)[0]
    whole = cut(path)[0]
    assert len(whole.ids) > 1.3 * len(short.ids)
    assert (short.name, whole.name) == ("big.txt, the first 1 MB", "big.txt")
    texts._made.clear()
    monkeypatch.setattr(texts, "MOST_MB", 1)  # of a text that is larger, where no limit is set
    assert (cut(path)[0].sha256, cut(path)[0].name) == (short.sha256, short.name)


def test_a_count_file_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("token,count\na,1\n")
    with pytest.raises(EmbtieError, match="counts"):
        cut(path)


def test_an_empty_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "blank.jsonl"
    path.write_text('{"text": null}\n')
    with pytest.raises(EmbtieError, match="no text"):
        cut(path)


def test_broken_characters_do_not_stop_the_training(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text('{"text": "half a pair \\ud800 of signs, and more words after it"}\n' * 9)
    for tokenizer in ("", "train"):
        assert len(cut(path, tokenizer)[0].ids) > 20


def test_reading_can_be_stopped(verses: Path) -> None:
    stages = []

    def stop(stage: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        stages.append(stage)
        if stage.startswith("cutting"):
            raise Cancelled

    with pytest.raises(Cancelled):
        corpus_for(CorpusRef(str(verses)), "", 300, stop)
    assert stages[0] == "reading the text"


def test_on_a_shared_page_only_the_owners_texts_are_read(
    verses: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    with pytest.raises(EmbtieError, match="shared page") as caught:
        cut(verses)
    assert str(verses.parent) not in str(caught.value)
    monkeypatch.setenv("EMBTIE_CORPORA", str(verses.parent))
    assert len(cut("verses.txt")[0].ids) > 1000
