"""Catalogue files: the models and pairs that the interface offers, in TOML.

embtie's own lies in its data folder; a file of the user's adds to it, read from the place that
EMBTIE_CATALOGUE names, else `catalogue.toml` in the user's configuration folder of embtie
(`embtie fetch --list` says where that is).  It holds any number of

    [[model]]
    ref = "my-group/run-7"      # hub id, folder or GGUF file: the only line that must be there
    label = "Run 7"             # how it reads in the list
    role = "untied"             # "untied": gives In and Out; "tied": gives Tied
    note = "our first run"      # a few words
    paper = "arXiv:2603.26663"  # where it comes from

    [[pair]]
    name = "run-7"              # for `embtie fetch run-7`
    label = "Run 7 and its twin"
    a = "my-group/run-7"        # gives In and Out
    b = {ref = "my-group/run-8", revision = "main"}
    role_b = "auto"             # which matrix of b is Tied: "auto", "input" or "output"
    paper = "..."

Each entry is read on its own: a fault in one is told with its line and costs no other.
"""

import os
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import platformdirs

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import ROLES, ModelRef, fields

PRESETS = Path(__file__).parents[1] / "data" / "catalogue.toml"
VARIABLE = "EMBTIE_CATALOGUE"
MODEL_ROLES = ("untied", "tied", "")
_LARGEST = 2**20
_HEAD = re.compile(r"^\s*\[\[\s*(\w+)\s*\]\]", re.MULTILINE)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Entry:
    """A model of the catalogue: reference, readable name, what it gives, and where it is from."""

    ref: str
    label: str
    role: str = ""
    note: str = ""
    paper: str = ""


@dataclass(frozen=True)
class Pair:
    """Two models with their roles, under a name to ask for them by."""

    name: str
    label: str
    a: ModelRef
    b: ModelRef
    role_b: str = "auto"
    paper: str = ""


@dataclass(frozen=True)
class Contents:
    """What a file holds, and a sentence with its line for each thing that is not read."""

    models: tuple[Entry, ...] = ()
    pairs: tuple[Pair, ...] = ()
    faults: tuple[str, ...] = ()


def user_file() -> Path:
    """Where the user's own catalogue is looked for."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else platformdirs.user_config_path("embtie") / "catalogue.toml"


def read(path: Path) -> Contents:
    """The catalogue in a file, nothing where there is none; read again once it has changed."""
    try:
        known = path.stat()
    except OSError:
        return Contents()
    return _read(path, known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, _changed: int, size: int) -> Contents:
    try:
        if size > _LARGEST:
            raise ValueError
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        return Contents(faults=(f"{path.name} cannot be read as a text of at most 1 MB.",))
    found: dict[str, list[Any]] = {"model": [], "pair": []}
    faults = []
    for line, kind, block in _blocks(text):
        try:
            if kind:
                entry = _entry(kind, block)
                found[kind].append(entry)
            elif tomllib.loads(block):
                raise EmbtieError("only [[model]] and [[pair]] have lines of their own.")
        except tomllib.TOMLDecodeError as error:
            at = re.search(r"at line (\d+)", str(error))
            inside = int(at[1]) - 1 if at else block.rstrip().count("\n")
            faults.append(f"{path.name}, line {line + inside}: this is no valid TOML.")
        except EmbtieError as error:
            faults.append(f"{path.name}, line {line}: {error.message}")
    return Contents(tuple(found["model"]), tuple(found["pair"]), tuple(faults))


def _blocks(text: str) -> Iterator[tuple[int, str, str]]:
    """First line, kind, and text of each entry; "" is the kind of what stands before them all."""
    heads = [*_HEAD.finditer(text)]
    ends = [head.start() for head in heads] + [len(text)]
    yield 1, "", text[: ends[0]]
    for head, end in zip(heads, ends[1:], strict=True):
        start = head.start() + len(head[0]) - len(head[0].lstrip())
        yield text.count("\n", 0, start) + 1, head[1], text[start:end]


def _entry(kind: str, block: str) -> Any:
    if kind not in _READERS:
        raise EmbtieError(f"[[{kind[:40]}]] is no kind of entry; expected model or pair.")
    return _READERS[kind](tomllib.loads(block)[kind][0])


def _model(given: dict[str, Any]) -> Entry:
    values = fields.mapping("model", given, fields.names_of(Entry))
    ref = fields.text("ref", values.get("ref"))
    role = fields.choice("role", values.get("role", ""), MODEL_ROLES)
    return Entry(ref, _text(values, "label") or ref, role, _text(values, "note"), _text(values))


def _pair(given: dict[str, Any]) -> Pair:
    values = fields.mapping("pair", given, fields.names_of(Pair))
    name = fields.text("name", values.get("name"))
    if not _NAME.fullmatch(name):
        raise EmbtieError(f"name is {name[:40]!r}; expected small letters, digits, '.', '_', '-'.")
    a, b = (ModelRef.from_value(values.get(side)) for side in ("a", "b"))
    role_b = fields.choice("role_b", values.get("role_b", "auto"), ROLES)
    return Pair(name, _text(values, "label") or name, a, b, role_b, _text(values))


def _text(values: Any, name: str = "paper") -> str:
    return fields.optional_text(name, values.get(name) or None) or ""


_READERS: dict[str, Callable[[dict[str, Any]], Any]] = {"model": _model, "pair": _pair}
