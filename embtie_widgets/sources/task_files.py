"""Items of multiple-choice tasks from files of this machine, in the forms that the sets come in.

A task lies in the folder by its name: a file such as piqa.jsonl, or a folder such as piqa/ with
files in it, of which those of the split that the harness scores are taken.  Nothing is fetched, no
code of a data set is run.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.permission import TASKS, is_inside, tasks_folder
from embtie_widgets.sources.reading import sentences
from embtie_widgets.sources.task_tables import SUFFIXES, is_table, read_rows

Doc = dict[str, Any]
_DEEP, _MOST_FILES = 4, 1_000
_SPLITS = {
    "validation": {"validation", "valid", "val", "dev"},
    "test": {"test"},
    "train": {"train", "training"},
}
_EXPECTED = f"Expected files that end in {', '.join(SUFFIXES)}, or with .gz behind."


@dataclass(frozen=True, eq=False)
class TaskItemsFile:
    """The items of a task as the harness takes them: plain records of the fields it names.

    task    by its name in the harness
    name    what they were read from, without folders
    sha256  of all items
    notes   sentences about what was left out
    """

    task: str
    docs: tuple[Doc, ...]
    name: str
    sha256: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Form:
    """How a task is stored: under which names, in which splits that have answers, the best first,
    and how one record becomes an item; that raises KeyError, ValueError or the like where it is
    none."""

    places: tuple[str, ...]
    splits: tuple[str, ...]
    doc: Callable[[Doc], Doc]


def read_task(task: str, folder: str) -> TaskItemsFile:
    """All items of a task in the folder that was named; "" is the one of the variable EMBTIE_TASKS.

    An EmbtieError where there are none, where it cannot be told which are meant, or where a record
    is no item of this task.
    """
    form, place = _FORMS[task], _found(folder)
    files = _files_of(task, form, place)
    read = [read_rows(path) for path in files]
    # Of the many files of BLiMP each is a kind of sentence: the first items are to be of all kinds.
    ranks = zip_longest(*read) if task == "blimp" else read
    rows = [row for rank in ranks for row in rank if row is not None]
    docs, unanswered = [], 0
    for number, row in enumerate(rows):
        try:
            docs.append(form.doc(row))
        except _UnansweredError:
            unanswered += 1
        except (KeyError, ValueError, TypeError, IndexError, AttributeError):
            raise _no_item(task, number, files[0].name, row) from None
    if not rows:
        raise EmbtieError(f"'{files[0].name}' holds no records.", _EXPECTED)
    if not docs:
        raise EmbtieError(
            f"None of the {len(rows):,} records of '{files[0].name}' says which choice of {task} "
            "is right.",
            "Use the split that has answers, most often the one for validation.",
        )
    notes = (f"{unanswered:,} records without an answer are left out.",) if unanswered else ()
    name = files[0].relative_to(place).as_posix()
    name += f" and {len(files) - 1:,} more" if len(files) > 1 else ""
    return of_docs(task, docs, name, notes)


def of_docs(
    task: str, docs: Iterable[Doc], name: str, notes: tuple[str, ...] = ()
) -> TaskItemsFile:
    """Items that are known, with their hash."""
    found = tuple(docs)
    sha = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
    return TaskItemsFile(task, found, name, sha, notes)


# Which files.


def _found(named: str) -> Path:
    """The folder that was named; a file in its place, or nothing, is said."""
    place = tasks_folder(named)
    with sentences(place):
        if place.is_dir():
            return place
        is_file = place.is_file()
    if is_file and named:
        raise EmbtieError(
            f"'{place.name}' is a file; items are read from a folder.",
            "Name the folder that it lies in.",
        )
    if named:
        raise EmbtieError(f"There is no folder '{place.name}'.", "Check its name.")
    raise EmbtieError(
        f"{TASKS} names no folder of this machine.", "Set it to the one that holds the items."
    )


def _files_of(task: str, form: _Form, folder: Path) -> list[Path]:
    """The tables of the first place that has any, of its best split."""
    for place in form.places:
        found = _tables(folder, place)
        if found:
            return _of_split(task, form, found, folder)
    shown = ", ".join(sorted(path.name for path in _entries(folder))[:8]) or "nothing"
    raise EmbtieError(
        f"There are no items of {task} in the folder: it holds {shown}.",
        f"Put {form.places[-1]}.jsonl there, or a folder {form.places[-1]}/. {_EXPECTED}",
    )


def _entries(folder: Path) -> list[Path]:
    with sentences(folder):
        return [path for path in folder.iterdir() if not path.name.startswith(".")]


def _tables(folder: Path, place: str) -> list[Path]:
    """The file of that name, or all tables of the folder of that name; letters may be large."""
    *above, last = place.split("/")
    for name in above:
        folder = next((p for p in _entries(folder) if p.is_dir() and _same(p.name, name)), folder)
    for path in sorted(_entries(folder)):
        if path.is_file() and is_table(path) and _same(path.name.split(".")[0], last):
            return [_kept_inside(path, folder)]
    for path in sorted(_entries(folder)):
        if path.is_dir() and _same(path.name, last):
            return [_kept_inside(file, folder) for file in _below(path, _DEEP)[:_MOST_FILES]]
    return []


def _same(name: str, other: str) -> bool:
    return name.casefold().replace("-", "_") == other.casefold().replace("-", "_")


def _below(folder: Path, deep: int) -> list[Path]:
    entries = sorted(_entries(folder))
    found = [path for path in entries if path.is_file() and is_table(path)]
    below = (_below(path, deep - 1) for path in entries if path.is_dir() and deep)
    return [*found, *chain.from_iterable(below)]


def _kept_inside(path: Path, folder: Path) -> Path:
    if not is_inside(path, folder):
        raise EmbtieError(
            f"'{path.name}' is a link that leads out of its folder.", "Copy the file there."
        )
    return path


def _of_split(task: str, form: _Form, files: list[Path], folder: Path) -> list[Path]:
    if len(files) == 1 or task == "blimp":
        return files
    by_split: dict[str, list[Path]] = {}
    for path in files:
        by_split.setdefault(_split_of(path.relative_to(folder)), []).append(path)
    for split in (*form.splits, ""):
        found = by_split.get(split, [])
        if len({path.parent for path in found}) == 1:
            return found
    raise EmbtieError(
        f"It cannot be told which of {len(files)} files hold the items of {task}.",
        f"Put the file with answers into the folder as {task}.jsonl, .csv or .parquet.",
    )


def _split_of(path: Path) -> str:
    """What the names on the way say, the file's own first."""
    for part in reversed(path.parts):
        words = set(re.split(r"[^a-z]+", part.casefold()))
        for split, names in _SPLITS.items():
            if words & names:
                return split
    return ""


# What an item is.


class _UnansweredError(Exception):
    """A record of a split whose answers are kept back."""


def _number(value: Any, start: int, count: int) -> int:
    """Which of `count` choices an answer is that counts from `start`."""
    if value is None or str(value).strip() in ("", "-1"):
        raise _UnansweredError
    found = int(str(value).strip()) - start
    if not 0 <= found < count:
        raise ValueError(value)
    return found


def _text(row: Doc, name: str) -> str:
    value = row[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def _piqa(row: Doc) -> Doc:
    words = {name: _text(row, name) for name in ("goal", "sol1", "sol2")}
    return words | {"label": _number(row.get("label"), 0, 2)}


def _hellaswag(row: Doc) -> Doc:
    words = {name: _text(row, name) for name in ("activity_label", "ctx_a", "ctx_b")}
    endings = [str(ending) for ending in _list(row["endings"])]
    return words | {"endings": endings, "label": str(_number(row.get("label"), 0, len(endings)))}


def _winogrande(row: Doc) -> Doc:
    words = {name: _text(row, name) for name in ("sentence", "option1", "option2")}
    words["sentence"].index("_")
    if words["option1"] == words["option2"]:
        raise ValueError(words["option1"])
    return words | {"answer": str(_number(row.get("answer"), 1, 2) + 1)}


def _arc(row: Doc) -> Doc:
    """As on the hub, or as the file was first given out, with the stem and its choices inside."""
    question = row["question"]
    stem, given = (
        (_text(question, "stem"), question["choices"])
        if isinstance(question, dict)
        else (_text(row, "question"), row["choices"])
    )
    return {"question": stem, **_lettered(given, row.get("answerKey"))}


def _openbookqa(row: Doc) -> Doc:
    inside = row.get("question")
    source = {**inside, "question_stem": inside["stem"]} if isinstance(inside, dict) else row
    answered = _lettered(source["choices"], row.get("answerKey"))
    return {"question_stem": _text(source, "question_stem"), **answered}


def _lettered(given: Any, answer: Any) -> Doc:
    """Choices with their letters, and the letter of the right one."""
    if isinstance(given, str):
        given = json.loads(given)
    if isinstance(given, list):
        given = {name: [one[name] for one in given] for name in ("text", "label")}
    texts, labels = [str(t) for t in given["text"]], [str(one) for one in given["label"]]
    if not str(answer or "").strip():
        raise _UnansweredError
    labels.index(str(answer).strip())
    if len(texts) != len(labels) or len(texts) < 2:
        raise ValueError(given)
    return {"choices": {"text": texts, "label": labels}, "answerKey": str(answer).strip()}


def _boolq(row: Doc) -> Doc:
    answer = row.get("label", row.get("answer"))
    answer = {"true": 1, "false": 0}.get(str(answer).casefold(), answer)
    words = {name: _text(row, name) for name in ("passage", "question")}
    return words | {"label": _number(answer, 0, 2)}


def _blimp(row: Doc) -> Doc:
    return {name: _text(row, name) for name in ("sentence_good", "sentence_bad")}


def _list(value: Any) -> list[Any]:
    found = json.loads(value) if isinstance(value, str) else value
    if not isinstance(found, list) or len(found) < 2:
        raise TypeError(found)
    return found


def _no_item(task: str, number: int, name: str, row: Any) -> EmbtieError:
    has = ", ".join(map(str, list(row)[:10])) if isinstance(row, dict) else type(row).__name__
    return EmbtieError(
        f"Record {number + 1:,} of '{name}' is no item of {task}; it has: {has}.",
        f"An item of {task} needs {_NEEDS[task]}.",
    )


_VALIDATION, _TEST = ("validation", "test"), ("test", "validation")
_FORMS = {
    "piqa": _Form(("piqa",), _VALIDATION, _piqa),
    "hellaswag": _Form(("hellaswag",), _VALIDATION, _hellaswag),
    "winogrande": _Form(("winogrande/winogrande_xl", "winogrande"), _VALIDATION, _winogrande),
    "arc_easy": _Form(("ai2_arc/ARC-Easy", "ARC-Easy"), _TEST, _arc),
    "arc_challenge": _Form(("ai2_arc/ARC-Challenge", "ARC-Challenge"), _TEST, _arc),
    "boolq": _Form(("super_glue/boolq", "boolq"), _VALIDATION, _boolq),
    "openbookqa": _Form(("openbookqa",), _TEST, _openbookqa),
    "blimp": _Form(("blimp",), _VALIDATION, _blimp),
}
_LETTERS = "choices with their labels, and answerKey, the label of the right one"
_NEEDS = {
    "piqa": "goal, sol1, sol2 and label, 0 or 1",
    "hellaswag": "activity_label, ctx_a, ctx_b, endings and label, from 0 on",
    "winogrande": "sentence with _ in it, option1, option2 and answer, 1 or 2",
    "arc_easy": f"question, {_LETTERS}",
    "arc_challenge": f"question, {_LETTERS}",
    "boolq": "passage, question and label, 0 or 1, or answer, true or false",
    "openbookqa": f"question_stem, {_LETTERS}",
    "blimp": "sentence_good and sentence_bad",
}
