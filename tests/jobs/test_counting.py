"""Counting tokens: right, once, stoppable, and no more in memory than a block."""

import gzip
import json
import os
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import counting
from embtie_widgets.jobs.counting import count_tokens, estimate_counting
from embtie_widgets.jobs.exports import counts_csv
from embtie_widgets.requests import CorpusRef, ModelRef
from embtie_widgets.results import Counts
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.sources.corpora import BUNDLED_FILE
from embtie_widgets.sources.load import find
from embtie_widgets.sources.matching import match
from embtie_widgets.sources.tokenizing import ModelTokenizer

NANO = ModelRef("nano-tied")


@pytest.fixture(scope="module")
def english() -> str:
    with gzip.open(BUNDLED_FILE, "rt", encoding="utf-8") as file:
        return file.read(300_000)


@pytest.fixture
def text_file(english, tmp_path) -> Path:
    path = tmp_path / "english.txt"
    path.write_text(english, encoding="utf-8")
    return path


@pytest.fixture
def kept(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("EMBTIE_CACHE", str(folder))
    return folder


@pytest.fixture
def encoded(monkeypatch) -> list[int]:
    """How many letters each call encoded."""
    sizes: list[int] = []
    plain = ModelTokenizer.encode

    def encode(self: Any, texts: list[str]) -> list[list[int]]:
        sizes.append(sum(map(len, texts)))
        return plain(self, texts)

    monkeypatch.setattr(ModelTokenizer, "encode", encode)
    return sizes


def test_the_counts_are_those_of_a_counter_over_transformers(english, text_file):
    made = transformers.AutoTokenizer.from_pretrained(find("nano-tied").files.folder)
    expected = Counter(made(english, add_special_tokens=False)["input_ids"])
    found = count_tokens(str(text_file), NANO)
    assert found.counts.shape == (4096,)
    assert found.counts.dtype == np.int64
    assert {row: n for row, n in enumerate(found.counts.tolist()) if n} == expected
    assert (found.total, found.unknown, found.documents) == (expected.total(), 0, 1)
    assert found.bytes == len(english.encode())
    assert found.name == "english.txt"


def test_the_size_of_a_block_does_not_change_them(text_file, monkeypatch):
    whole = count_tokens(str(text_file), NANO)
    monkeypatch.setattr(counting, "BATCH", 10_000)
    monkeypatch.setattr("embtie_widgets.sources.texts.CHUNK", 5_000)
    monkeypatch.setattr("embtie_widgets.sources.cutting.PIECE", 1_000)
    again = count_tokens(str(text_file), NANO)
    assert np.array_equal(again.counts, whole.counts)
    assert (again.sha256, again.bytes) == (whole.sha256, whole.bytes)


def test_documents_are_counted_apart(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "th"}\n{"text": "e"}\n')
    (tmp_path / "b.txt").write_text("the")
    apart, joined = (count_tokens(str(tmp_path / n), NANO) for n in ("a.jsonl", "b.txt"))
    assert apart.documents == 2
    assert apart.sha256 != joined.sha256
    assert not np.array_equal(apart.counts, joined.counts)


def test_a_record_separator_in_a_text_is_no_end_of_a_document(kept, tmp_path):
    (tmp_path / "one.txt").write_text("th\x1ee", newline="")
    (tmp_path / "two.jsonl").write_text('{"text": "th"}\n{"text": "e"}\n')
    one, two = (count_tokens(str(tmp_path / n), NANO) for n in ("one.txt", "two.jsonl"))
    assert (one.documents, one.bytes) == (1, 4)
    assert (two.documents, two.bytes) == (2, 3)


def test_the_hash_of_one_text_is_that_of_its_bytes_however_it_is_packed(text_file, english):
    import hashlib

    packed = text_file.with_suffix(".txt.gz")
    packed.write_bytes(gzip.compress(english.encode()))
    found = [count_tokens(str(path), NANO) for path in (text_file, packed)]
    assert {one.sha256 for one in found} == {hashlib.sha256(english.encode()).hexdigest()}


def test_tokens_without_a_row_are_told_apart(text_file, tmp_path):
    rows = 500
    np.save(tmp_path / "E.npy", np.ones((rows, 8), np.float32))
    whole = find("nano-tied").files.folder / "tokenizer.json"
    short = ModelRef(str(tmp_path / "E.npy"), tokens_file=str(whole))
    found, full = count_tokens(str(text_file), short), count_tokens(str(text_file), NANO)
    assert np.array_equal(found.counts, full.counts[:rows])
    assert found.unknown == full.counts[rows:].sum() > 0
    assert found.total == full.total
    assert "have no row" in found.notes[0]


def test_padding_rows_are_never_counted(text_file, tmp_path):
    np.save(tmp_path / "E.npy", np.ones((4200, 8), np.float32))
    whole = find("nano-tied").files.folder / "tokenizer.json"
    found = count_tokens(str(text_file), ModelRef(str(tmp_path / "E.npy"), tokens_file=str(whole)))
    assert found.counts.shape == (4200,)
    assert not found.counts[4096:].any()


def test_the_counts_of_the_model_itself():
    loaded = ew.load("nano-tied")
    for found in (count_tokens("", loaded), count_tokens(CorpusRef(), NANO)):
        assert np.array_equal(found.counts, loaded.token_counts)
        assert found.total == loaded.token_counts.sum()
        assert found.name == "the training text of nano-tied"


def test_a_model_without_counts_of_its_own_is_a_sentence(tmp_path):
    np.save(tmp_path / "E.npy", np.ones((4, 8), np.float32))
    with pytest.raises(EmbtieError, match="brings no token counts of its own"):
        count_tokens("", ModelRef(str(tmp_path / "E.npy")))


@pytest.mark.parametrize("content", ["", "\ufeff"])
def test_an_empty_text_is_a_sentence(content, tmp_path):
    (tmp_path / "a.txt").write_text(content, encoding="utf-8")
    with pytest.raises(EmbtieError, match=r"a\.txt.? is empty"):
        count_tokens(str(tmp_path / "a.txt"), NANO)


# Kept and found again


def test_counts_are_found_again_without_reading_the_text(kept, text_file, encoded, monkeypatch):
    first = count_tokens(str(text_file), NANO)
    assert encoded
    assert first.settings["cached"] is False
    encoded.clear()
    monkeypatch.setattr("embtie_widgets.sources.texts._plain", lambda _path: pytest.fail("read"))
    again = count_tokens(str(text_file), NANO)
    assert encoded == []
    assert again.settings["cached"] is True
    assert np.array_equal(again.counts, first.counts)
    assert (again.total, again.name, again.sha256) == (first.total, first.name, first.sha256)


def test_models_with_one_tokenizer_are_counted_once(kept, text_file, encoded):
    first = count_tokens(str(text_file), NANO)
    encoded.clear()
    other = count_tokens(str(text_file), ModelRef("nano-untied"))
    assert encoded == []
    assert np.array_equal(other.counts, first.counts)
    assert other.settings["model"] == "nano-untied"


def test_a_model_with_another_tokenizer_is_counted_for_itself(kept, text_file, tmp_path):
    first = count_tokens(str(text_file), NANO)
    whole = find("nano-tied").files.folder / "tokenizer.json"
    tokenizer = json.loads(whole.read_text(encoding="utf-8"))
    tokenizer["model"]["merges"] = tokenizer["model"]["merges"][:50]
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    np.save(tmp_path / "E.npy", np.ones((4096, 8), np.float32))
    tokens_file = str(tmp_path / "tokenizer.json")
    other = count_tokens(str(text_file), ModelRef(str(tmp_path / "E.npy"), tokens_file=tokens_file))
    assert other.tokenizer != first.tokenizer
    assert other.total > 1.5 * first.total


def test_the_same_text_under_another_name_is_read_but_not_counted(kept, text_file, encoded):
    count_tokens(str(text_file), NANO)
    encoded.clear()
    other = text_file.rename(text_file.with_name("other.txt"))
    found = count_tokens(str(other), NANO)
    assert encoded == []
    assert found.name == "other.txt"


def test_a_text_that_changed_is_counted_anew(kept, text_file, english):
    first = count_tokens(str(text_file), NANO)
    text_file.write_text(english[:-1] + "!", encoding="utf-8")  # as long as before
    os.utime(text_file, ns=(0, 10**9))
    second = count_tokens(str(text_file), NANO)
    assert second.sha256 != first.sha256
    assert not np.array_equal(second.counts, first.counts)


def test_a_limit_gives_other_counts(kept, tmp_path, english):
    path = tmp_path / "long.txt"
    path.write_text(english * 5, encoding="utf-8")
    whole, part = (
        count_tokens(str(path), NANO),
        count_tokens(CorpusRef(str(path), limit_mb=1), NANO),
    )
    assert part.bytes == 10**6 < whole.bytes
    assert part.total < whole.total
    assert part.name == "long.txt, the first 1 MB"
    assert count_tokens(str(path), NANO).total == whole.total


def test_a_damaged_entry_is_made_anew(kept, text_file, encoded):
    first = count_tokens(str(text_file), NANO)
    for entry in kept.glob("*.npz"):
        entry.write_bytes(entry.read_bytes()[:-20])
    encoded.clear()
    import logging

    logging.getLogger("embtie.cache").setLevel(logging.ERROR)
    again = count_tokens(str(text_file), NANO)
    logging.getLogger("embtie.cache").setLevel(logging.NOTSET)
    assert encoded
    assert np.array_equal(again.counts, first.counts)


# On the way


def test_progress_is_in_bytes_and_ends_whole(text_file, monkeypatch):
    monkeypatch.setattr(counting, "BATCH", 60_000)
    told: list[tuple[str, int, int]] = []
    count_tokens(str(text_file), NANO, lambda *step: told.append(step))
    size = text_file.stat().st_size
    steps = [(done, total) for stage, done, total in told if stage == "counting tokens"]
    assert steps[0] == (0, size)
    assert steps[-1] == (size, size)
    assert steps == sorted(steps)
    assert len(steps) > 3


def test_where_the_end_is_not_known_no_share_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("embtie_widgets.sources.data_sets.commit_of", lambda _name: "")
    monkeypatch.setattr(
        "embtie_widgets.sources.data_sets._loader", lambda: lambda *_a, **_k: iter([{"text": "a"}])
    )
    told: list[tuple[str, int, int]] = []
    found = count_tokens("datasets:owner/name", NANO, lambda *step: told.append(step))
    assert (found.total, found.name) == (1, "owner/name (train)")
    counting = [step for step in told if step[0].startswith("counting")]
    assert counting[0] == ("counting tokens, 0 MB read", 0, 1)
    assert {step[1:] for step in counting} == {(0, 1)}


def test_it_stops_between_two_blocks(kept, text_file, encoded, monkeypatch):
    monkeypatch.setattr(counting, "BATCH", 60_000)

    def stop(stage: str, done: int, _total: int) -> None:
        if stage == "counting tokens" and len([size for size in encoded if size > 50_000]) == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        count_tokens(str(text_file), NANO, stop)
    assert len([size for size in encoded if size > 50_000]) == 2
    assert not count_tokens(str(text_file), NANO).settings["cached"]


def test_memory_does_not_grow_with_the_text(tmp_path, english, monkeypatch):
    monkeypatch.setattr(counting, "BATCH", 2**16)
    monkeypatch.setattr("embtie_widgets.sources.texts.CHUNK", 2**16)
    monkeypatch.setattr(ModelTokenizer, "encode", lambda _self, texts: [[1]] * len(texts))
    loaded = ew.load("nano-tied")
    peaks = []
    for times in (2, 40):
        path = tmp_path / f"{times}.txt"
        path.write_text(english * times, encoding="utf-8")
        tracemalloc.start()
        count_tokens(str(path), loaded)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 2**20 < 300_000 * 40


def test_a_wrong_name_is_told_before_a_model_is_opened(monkeypatch):
    monkeypatch.setattr(counting, "load", lambda *_a, **_k: pytest.fail("opened"))
    with pytest.raises(EmbtieError, match="There is no file"):
        count_tokens("no-such-text.txt", NANO)


# Out and in again


def test_what_is_exported_is_read_again(text_file, tmp_path):
    loaded = ew.load("nano-tied")
    first = count_tokens(str(text_file), loaded)
    path = tmp_path / "counts.csv"
    path.write_bytes(counts_csv(first))
    again = count_tokens(str(path), loaded)
    assert np.array_equal(again.counts, first.counts)
    assert (again.total, again.unknown) == (first.total, 0)


def test_exported_counts_serve_another_vocabulary(text_file, tmp_path, tiny_twins):
    path = tmp_path / "counts.csv"
    path.write_bytes(counts_csv(count_tokens(str(text_file), NANO)))
    folder = next(iter(sorted(Path(tiny_twins.folder).iterdir())))
    other = ew.load(folder) if (folder / "config.json").exists() else ew.load("nano-untied")
    found, nano = count_tokens(str(path), other), ew.load("nano-tied")
    own = count_tokens(str(text_file), nano).counts
    matched = match(nano, other)
    assert np.array_equal(found.counts[matched.rows_b], own[matched.rows_a])
    assert found.counts.sum() + found.unknown == own.sum()


def test_counts_survive_storage(text_file):
    found = count_tokens(str(text_file), NANO)
    again = from_bytes(to_bytes(found))
    assert isinstance(again, Counts)
    assert np.array_equal(again.counts, found.counts)
    assert (again.tokens, again.settings, again.notes) == (
        found.tokens, found.settings, found.notes,
    )  # fmt: skip


def test_a_frame_has_a_line_for_every_row(text_file):
    found = count_tokens(str(text_file), NANO)
    frame = found.to_frame()
    assert list(frame) == ["row", "token", "bytes", "count"]
    assert frame["count"].sum() == found.total
    assert bytes.fromhex(frame["bytes"][300]) == found.tokens[300]
    assert "of 4,096 rows" in repr(found)


# What it will take


def test_an_estimate_grows_with_the_text_and_learns_the_speed(text_file, monkeypatch):
    monkeypatch.setattr(counting, "speed", counting._Speed())
    short, long = estimate_counting(str(text_file)), estimate_counting("bundled")
    assert short.seconds < long.seconds
    assert estimate_counting("").seconds == 0
    limited = estimate_counting(CorpusRef("bundled", limit_mb=1))
    assert limited.seconds < long.seconds
    counting.speed.took(10 * counting.BATCH, 1.0)
    assert estimate_counting("bundled").seconds < long.seconds


def test_the_size_of_a_data_set_is_not_known(monkeypatch):
    asked = "embtie_widgets.sources.data_sets.commit_of"
    monkeypatch.setattr(asked, lambda _name: pytest.fail("the network was asked"))
    assert estimate_counting("datasets:owner/name") is None
    assert estimate_counting(CorpusRef("datasets:owner/name", limit_mb=9)).seconds > 1


@pytest.mark.slow
def test_the_bundled_text_is_counted_as_transformers_counts_it():
    with gzip.open(BUNDLED_FILE, "rt", encoding="utf-8") as file:
        text = file.read()
    made = transformers.AutoTokenizer.from_pretrained(find("nano-tied").files.folder)
    expected = Counter(made(text, add_special_tokens=False)["input_ids"])
    found = count_tokens("bundled", NANO)
    assert {row: n for row, n in enumerate(found.counts.tolist()) if n} == expected
