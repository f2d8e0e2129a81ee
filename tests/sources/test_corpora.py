"""Texts and ready counts: what is read, what is left out, and what is refused in which words."""

import gzip
import hashlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import CorpusRef
from embtie_widgets.sources import texts
from embtie_widgets.sources.corpora import BUNDLED_FILE, Corpus, find_corpus

SHA256 = "013d63e580263ac4"


def documents(ref: Any, **more: Any) -> list[str]:
    found = find_corpus(CorpusRef(str(ref), **more))
    assert isinstance(found, Corpus)
    whole = [""]
    for chunk in found.open():
        whole[-1] += chunk.text
        whole += [""] if chunk.last else []
    assert whole.pop() == ""
    return whole


def refused(ref: Any, **more: Any) -> str:
    with pytest.raises(EmbtieError) as caught:
        documents(ref, **more)
    said = str(caught.value)
    assert caught.value.hint
    assert str(Path(str(ref)).parent) not in said or not Path(str(ref)).is_absolute()
    return said


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def test_a_text_file_is_one_document_as_it_stands(tmp_path):
    text = "\ufeffa\r\n\tb \u2028c\n\n"
    (tmp_path / "a.txt").write_bytes(text.encode())
    assert documents(tmp_path / "a.txt") == [text[1:]]  # but for the mark of its encoding
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert documents(tmp_path / "a.txt.gz") == [text[1:]]


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 1000])
def test_a_letter_of_many_bytes_is_never_cut(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "CHUNK", chunk)
    (tmp_path / "a.txt").write_text("a測é🙂" * 3, encoding="utf-8")
    assert documents(tmp_path / "a.txt") == ["a測é🙂" * 3]


def test_each_line_of_records_is_a_document(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines({"text": "one\n"}, {"text": None}, {"text": "zwei", "n": 1}) + b"\n")
    assert documents(path) == ["one\n", "zwei"]
    path.write_bytes(lines({"body": "three"}))
    assert documents(path, column="body") == ["three"]


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines({"text": "a1"}, {"text": "a2"})))
    (tmp_path / "c.TXT").write_text("c")
    (tmp_path / "notes.pdf").write_bytes(b"\0")
    (tmp_path / ".hidden.txt").write_text("no")
    assert documents(tmp_path) == ["a1", "a2", "b", "c"]
    found = find_corpus(CorpusRef(str(tmp_path)))
    assert isinstance(found, Corpus)
    assert found.notes == ("1 other file of the folder is no text and was left out.",)


def test_a_folder_of_ten_thousand_files_is_read_one_at_a_time(tmp_path):
    for number in range(10_000):
        (tmp_path / f"{number:05}.txt").write_text(f"{number} ")
    assert documents(tmp_path) == [f"{number} " for number in range(10_000)]


@pytest.mark.parametrize(("text", "kept"), [("a" * 1_500_000, 10**6), ("é" * 700_000, 500_000)])
def test_the_limit_counts_bytes_and_cuts_between_letters(text, kept, tmp_path):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    (found,) = documents(tmp_path / "a.txt", limit_mb=1)
    assert found == text[:kept]


def test_the_limit_runs_over_documents(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines(*({"text": "x" * 600_000} for _ in range(4))))
    assert [len(one) for one in documents(tmp_path / "a.jsonl", limit_mb=1)] == [600_000, 400_000]


def test_the_bundled_text_is_the_public_domain_one():
    (text,) = documents("bundled")
    assert len(text) > 10_000_000
    assert "To be, or not to be" in text
    assert text.isascii() or len(text.encode()) < 10_500_000
    found = find_corpus(CorpusRef("bundled"))
    assert isinstance(found, Corpus)
    assert found.stored == BUNDLED_FILE.stat().st_size


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", "café".encode("latin-1"), "no UTF-8 text: byte 0xe9"),
        ("a.txt", "text".encode("utf-16"), "UTF-16"),
        ("a.txt", b"PK\x03\x04\x00\x00", "binary data"),
        ("a.txt", "測".encode()[:2], "no UTF-8 text"),
        ("a.txt.gz", gzip.compress(b"word " * 1000)[:30], "cut short or damaged"),
        ("a.txt.gz", b"plain words", "cut short or damaged"),
        ("a.txt.gz", gzip.compress(b"word " * 1000)[:-6] + b"abcdef", "cut short or damaged"),
        ("a.jsonl", b'{"text": "a"}\n{"text": \n', "Line 2 of 'a.jsonl' is no valid JSON"),
        ("a.jsonl", b'["a"]\n', "Line 1 of 'a.jsonl' is no JSON object"),
        ("a.jsonl", b'{"body": "a", "id": 1}\n', "no column 'text'. It has: 'body', 'id'."),
        ("a.jsonl", b'{"text": ["a"]}\n', "holds no text in the column 'text', but ['a']"),
        ("a.jsonl", b'{"text": "\xe9"}\n', "no valid JSON"),
    ],
)
def test_what_is_no_text_is_a_sentence(name, content, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert words in refused(tmp_path / name)


def test_what_is_not_there_is_a_sentence(tmp_path):
    assert "There is no file gone.txt" in refused(tmp_path / "gone.txt")
    assert "holds no text" in refused(tmp_path)
    assert "NUL byte" in refused_ref("a\0b")


def refused_ref(ref: str) -> str:
    with pytest.raises(EmbtieError) as caught:
        find_corpus(SimpleNamespace(ref=ref, column="text", split="train", limit_mb=0))
    return str(caught.value)


def test_a_line_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "LONGEST_LINE", 2**20)
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "' + b"x" * 2**21 + b'"}')
    assert "Line 1 of 'a.jsonl' is longer than 1 MB" in refused(tmp_path / "a.jsonl")


def test_a_link_that_leads_out_of_its_folder_is_refused(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    (folder / "b.txt").symlink_to(folder / "a.txt")
    assert documents(folder) == ["a", "a"]
    (folder / "c.txt").symlink_to(tmp_path / "secret.txt")
    assert "'c.txt' is a link that leads out of its folder" in refused(folder)


def test_a_stamp_follows_every_file_and_setting(tmp_path):
    (tmp_path / "a.txt").write_text("a")

    def stamp(**more: Any) -> Any:
        found = find_corpus(CorpusRef(str(tmp_path), **more))
        assert isinstance(found, Corpus)
        return found.stamp

    first = stamp()
    assert stamp() == first == stamp(column="body")  # no file of records, so no column
    assert stamp(limit_mb=1) != first
    (tmp_path / "a.txt").write_text("ab")
    second = stamp()
    (tmp_path / "b.jsonl").write_bytes(lines({"text": "a"}))
    assert len({first, second, stamp(), stamp(column="body")}) == 4


# Data sets of the hub


@pytest.fixture
def data_set(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "train.jsonl").write_bytes(lines({"text": "one"}, {"text": None}, {"text": "two"}))
    (folder / "test.jsonl").write_bytes(lines({"text": "three"}))
    return folder


def test_a_local_data_set_is_streamed_by_split(data_set):
    assert documents(f"datasets:{data_set}") == ["one", "two"]
    assert documents(f"datasets:{data_set}", split="test") == ["three"]
    found = find_corpus(CorpusRef(f"datasets:{data_set}"))
    assert isinstance(found, Corpus)
    assert (found.name, found.stamp, found.local) == ("set (train)", (), False)


def test_what_a_data_set_lacks_is_a_sentence(data_set):
    named = f"datasets:{data_set}"
    assert "no split 'dev'" in refused(named, split="dev")
    assert "Row 1 of 'set' has no column 'body'" in refused(named, column="body")


def fake(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> list[Any]:
    """A library that notes how it is called."""
    calls: list[Any] = []

    def load_dataset(*names: Any, **more: Any) -> Any:
        calls.append((names, more))
        if error is not None:
            raise error
        return iter([{"text": "word"}])

    library = SimpleNamespace(load_dataset=load_dataset, __version__="4.0.0")
    monkeypatch.setitem(sys.modules, "datasets", library)
    return calls


def test_a_data_set_of_the_hub_is_read_at_a_commit(monkeypatch):
    calls = fake(monkeypatch)
    monkeypatch.setattr(
        "huggingface_hub.HfApi.dataset_info", lambda *_a, **_k: SimpleNamespace(sha="abc")
    )
    assert documents("datasets:owner/name:en", split="test") == ["word"]
    assert calls == [
        (("owner/name", "en"), {"split": "test", "streaming": True, "revision": "abc"})
    ]
    found = find_corpus(CorpusRef("datasets:owner/name:en"))
    assert isinstance(found, Corpus)
    assert found.name == "owner/name:en (train)"
    assert "abc" in found.stamp


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionError("Couldn't reach 'o/n' at http://hub"), "cannot be reached"),
        (type("DatasetNotFoundError", (Exception,), {})("x"), "no public data set 'o/n'"),
        (RuntimeError("Dataset scripts are no longer supported, but found n.py"), "not run"),
        (ValueError("Config name is missing. Pick one of ['en', 'de']"), "It has: en, de"),
        (ValueError("Unknown split \"dev\". Should be one of ['train']"), "no split 'train'"),
        (OSError("/var/secret"), "cannot be read (OSError)"),
    ],
)
def test_what_the_library_fails_with_is_a_sentence(error, words, monkeypatch):
    fake(monkeypatch, error)
    monkeypatch.setattr("embtie_widgets.sources.data_sets.commit_of", lambda _name: "")
    said = refused("datasets:o/n")
    assert words in said
    assert "secret" not in said
    assert "http" not in said


@pytest.mark.parametrize("name", ["json", "text", "", "a/b/c", "../x", "https://hub/x/y", "/gone"])
def test_what_is_no_name_of_a_data_set_never_reaches_the_library(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    calls = fake(monkeypatch)
    assert "names no data set" in refused(f"datasets:{name}")
    assert not calls


def test_without_the_library_the_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    monkeypatch.setattr("embtie_widgets.sources.data_sets.commit_of", lambda _name: "")
    assert "pip install 'embtie[corpora]'" in refused("datasets:o/n")


def test_a_library_that_may_run_code_is_not_used(monkeypatch):
    calls = fake(monkeypatch)
    sys.modules["datasets"].__version__ = "3.6.0"
    monkeypatch.setattr("embtie_widgets.sources.data_sets.commit_of", lambda _name: "")
    assert "may run a data set's own code" in refused("datasets:o/n")
    assert not calls


def test_the_bundled_file_is_the_one_that_was_looked_at():
    """Its licence was checked by eye: public domain everywhere; another file is another look."""
    text = gzip.decompress(BUNDLED_FILE.read_bytes())
    assert hashlib.sha256(text).hexdigest()[:16] == SHA256


def test_signs_in_a_files_name_that_steer_a_terminal_are_escaped(tmp_path):
    (tmp_path / "a\x1b[31m\u202eb.txt").write_bytes(b"\xff\xfe")
    said = refused(tmp_path)
    assert "a\\x1b[31m\\u202eb.txt" in said
    assert not set("\x1b\u202e") & set(said)
