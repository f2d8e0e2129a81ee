"""Items of tasks in the forms that the sets come in, and what is told of those that are none."""

import csv
import gzip
import json
import os

import pyarrow as pa
import pytest
from pyarrow import parquet

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.own_task import line_ends
from embtie_widgets.sources.permission import tasks_folder
from embtie_widgets.sources.task_files import read_task

PIQA = [{"goal": f"do {i}", "sol1": "this", "sol2": "that", "label": i % 2} for i in range(5)]
CHOICES = {"text": ["a", "b", "c"], "label": ["A", "B", "C"]}


def lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows))


def read(task, folder):
    return read_task(task, str(folder))


def test_one_set_in_every_form_is_one_set_of_items(tmp_path):
    made = {}
    for form in ("jsonl", "json", "csv", "parquet", "arrow", "jsonl.gz"):
        folder = tmp_path / form
        folder.mkdir()
        path = folder / f"piqa.{form}"
        if form == "jsonl":
            lines(path, PIQA)
        elif form == "jsonl.gz":
            text = "\n".join(map(json.dumps, PIQA))
            path.write_bytes(gzip.compress(text.encode()))
        elif form == "json":
            path.write_text(json.dumps(PIQA))
        elif form == "csv":
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(PIQA[0]))
                writer.writeheader()
                writer.writerows(PIQA)
        elif form == "parquet":
            parquet.write_table(pa.Table.from_pylist(PIQA), path)
        else:
            table = pa.Table.from_pylist(PIQA)
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
                out.write_table(table)
        made[form] = read("piqa", folder)
    assert {one.sha256 for one in made.values()} == {made["json"].sha256}
    assert [doc["label"] for doc in made["csv"].docs] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("task", "given", "wanted"),
    [
        (
            "arc_easy",
            {"question": {"stem": "why", "choices": [{"text": "x", "label": "1"},
             {"text": "y", "label": "2"}]}, "answerKey": "2"},
            {"question": "why", "choices": {"text": ["x", "y"], "label": ["1", "2"]},
             "answerKey": "2"},
        ),
        (
            "openbookqa",
            {"question_stem": "how", "choices": json.dumps(CHOICES), "answerKey": "C "},
            {"question_stem": "how", "choices": CHOICES, "answerKey": "C"},
        ),
        (
            "boolq",
            {"passage": "p", "question": "q", "answer": True, "title": "t"},
            {"passage": "p", "question": "q", "label": 1},
        ),
        (
            "winogrande",
            {"sentence": "a _ b", "option1": "x", "option2": "y", "answer": 2, "qID": "1"},
            {"sentence": "a _ b", "option1": "x", "option2": "y", "answer": "2"},
        ),
        (
            "hellaswag",
            {"activity_label": "l", "ctx_a": "A", "ctx_b": "b", "endings": ["x", "y"], "label": 1},
            {"activity_label": "l", "ctx_a": "A", "ctx_b": "b", "endings": ["x", "y"],
             "label": "1"},
        ),
        (
            "blimp",
            {"sentence_good": "He is.", "sentence_bad": "He are.", "UID": "x"},
            {"sentence_good": "He is.", "sentence_bad": "He are."},
        ),
    ],
)  # fmt: skip
def test_records_as_they_were_given_out_become_items(tmp_path, task, given, wanted):
    lines(tmp_path / f"{task}.jsonl", [given])
    assert read(task, tmp_path).docs == (wanted,)


def test_of_several_splits_the_one_that_the_harness_scores_is_taken(tmp_path):
    row = {"question": "q", "choices": CHOICES}
    for split, key in (("train", "A"), ("validation", "B"), ("test", "C")):
        lines(tmp_path / "ARC-Easy" / f"{split}-00000-of-00001.jsonl", [{**row, "answerKey": key}])
        lines(tmp_path / "piqa" / "plain_text" / split / "data.jsonl", [{**PIQA[0], "goal": split}])
    assert read("arc_easy", tmp_path).docs[0]["answerKey"] == "C"
    found = read("piqa", tmp_path)
    assert found.docs[0]["goal"] == "validation"
    assert found.name == "piqa/plain_text/validation/data.jsonl"


def test_the_kinds_of_blimp_are_mixed(tmp_path):
    for kind in "ab":
        rows = [{"sentence_good": f"{kind}{i}", "sentence_bad": "-"} for i in range(3)]
        lines(tmp_path / "blimp" / f"{kind}.jsonl", rows)
    first = [doc["sentence_good"] for doc in read("blimp", tmp_path).docs]
    assert first == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_records_without_an_answer_are_left_out_and_counted(tmp_path):
    lines(tmp_path / "piqa.jsonl", [*PIQA, {**PIQA[0], "label": -1}])
    assert read("piqa", tmp_path).notes == ("1 records without an answer are left out.",)
    lines(tmp_path / "piqa.jsonl", [{**PIQA[0], "label": -1}])
    with pytest.raises(EmbtieError, match="None of the 1 records"):
        read("piqa", tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "piqa.jsonl",
            b'{"goal": "x"}',
            "Record 1 of 'piqa.jsonl' is no item of piqa; it has: goal",
        ),
        ("piqa.jsonl", b'{"goal": 1, "sol1": "", "sol2": "", "label": 0}', "no item of piqa"),
        ("piqa.jsonl", b'{"goal": "", "sol1": "", "sol2": "", "label": 7}', "no item of piqa"),
        ("piqa.jsonl", b"\x80\x00", "cannot be read as .jsonl"),
        ("piqa.parquet", b"PAR1 nothing", "cannot be read as .parquet"),
        ("piqa.json", b"[1, 2]", "no list of records"),
        ("piqa.jsonl.gz", b"\x1f\x8b\x08", "cut short or damaged"),
        ("other.txt", b"", "no items of piqa in the folder: it holds other.txt"),
    ],
)
def test_what_is_none_is_said_in_words(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EmbtieError, match=said):
        read("piqa", tmp_path)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    lines(tmp_path / "secret.jsonl", PIQA)
    (tmp_path / "in").mkdir()
    os.symlink(tmp_path / "secret.jsonl", tmp_path / "in" / "piqa.jsonl")
    with pytest.raises(EmbtieError, match="leads out of its folder"):
        read("piqa", tmp_path / "in")


def test_a_visitor_reads_only_what_the_owner_has_laid_out(tmp_path, monkeypatch):
    lines(tmp_path / "own" / "set" / "piqa.jsonl", PIQA)
    lines(tmp_path / "else" / "piqa.jsonl", PIQA)
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    with pytest.raises(EmbtieError, match="On a shared page") as refused:
        read("piqa", tmp_path / "else")
    assert str(tmp_path) not in str(refused.value)
    monkeypatch.setenv("EMBTIE_TASKS", str(tmp_path / "own"))
    assert len(read("piqa", "set").docs) == 5
    for name in (str(tmp_path / "else"), "../else", "nothing"):
        with pytest.raises(EmbtieError, match="On a shared page"):
            read("piqa", name)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("piqa.jsonl", "'piqa.jsonl' is a file; items are read from a folder"),
        ("gone", "There is no folder 'gone'"),
        ("x" * 300, "cannot be read"),
    ],
)
def test_what_is_no_folder_is_said_without_its_path(tmp_path, named, said):
    lines(tmp_path / "piqa.jsonl", PIQA)
    with pytest.raises(EmbtieError, match=said) as told:
        read("piqa", tmp_path / named)
    assert str(tmp_path) not in str(told.value)


def test_the_folder_of_the_machine_that_is_not_there_is_told_to_no_visitor(tmp_path, monkeypatch):
    monkeypatch.setenv("EMBTIE_TASKS", str(tmp_path / "secret"))
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    with pytest.raises(EmbtieError, match="EMBTIE_TASKS names no folder") as told:
        read_task("piqa", "")
    assert "secret" not in str(told.value)


def test_an_empty_file_holds_no_records(tmp_path):
    lines(tmp_path / "piqa.jsonl", [])
    with pytest.raises(EmbtieError, match=r"'piqa\.jsonl' holds no records"):
        read("piqa", tmp_path)


def test_without_a_folder_the_owners_is_meant(tmp_path, monkeypatch):
    monkeypatch.delenv("EMBTIE_TASKS", raising=False)
    with pytest.raises(EmbtieError, match="none is named"):
        tasks_folder("")
    monkeypatch.setenv("EMBTIE_TASKS", str(tmp_path))
    assert tasks_folder("") == tmp_path


def test_our_own_items_are_always_the_same_and_fair():
    made = line_ends()
    assert len(made.docs) == 400
    assert made.sha256 == line_ends.__wrapped__().sha256
    for doc in made.docs:
        end = doc["choices"][doc["gold"]]
        assert len(set(doc["choices"])) == 4
        assert all(abs(len(one) - len(end)) <= 0.3 * len(end) for one in doc["choices"])
    golds = [doc["gold"] for doc in made.docs]
    assert all(70 < golds.count(place) < 130 for place in range(4))
