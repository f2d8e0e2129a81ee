"""Choosing what was recorded elsewhere: a file or the folder of a run, and which column of a table
means what."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.offered import RECORDED, names_of
from embtie_widgets.jobs.recorded import Peek, look_into, look_into_run
from embtie_widgets.jobs.uploads import TABLE, UPLOADED, keep_upload
from embtie_widgets.panels.fields import Field, fold, labelled
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.named import named
from embtie_widgets.panels.words import escape, table
from embtie_widgets.widgets import UploadButton

FILE, RUN = "file", "run"
_NOT_THERE = ("not in the file", "")
_SHOWN = 12
# What the path field asks for, by source.
_ASKED = {
    FILE: ("a .csv, .tsv, .json, .jsonl or .parquet file", "A table that was recorded elsewhere"),
    RUN: ("a folder", "The folder that RunRecorder writes; it may still grow"),
}
# (bytes of an uploaded file, its name) -> what the request names it by.
Keep = Callable[[bytes, str], str]


class FilePicker(w.VBox):
    """A file or folder by its path, or a file that is uploaded; `value` is the request's field."""

    value = t.Unicode("")

    def __init__(self, keep: Keep, callback: Callable[..., Any]) -> None:
        self.path = named(RECORDED, "its path", "", "")
        self.upload = UploadButton(
            callback(self.take),
            TABLE.most,
            label="Load file",
            title="A table from this computer",
            accept=",".join(TABLE.suffixes),
        )
        self._keep, self._quiet = keep, False
        super().__init__([self.path, self.upload])
        self.add_class("ep-corpus")
        self.path.observe(told(lambda _: self._edited()), "value")
        self.observe(told(lambda _: self._show()), "value")

    def take(self, content: bytes, name: str) -> None:
        """Use a file that was uploaded."""
        self.value = self._keep(content, name)

    def ask(self, source: str) -> None:
        """Say what is to be named."""
        placeholder, self.path.tooltip = _ASKED[source]
        if names_of(RECORDED) is None:
            self.path.placeholder = placeholder
        self.upload.layout.display = "" if source == FILE else "none"

    def _show(self) -> None:
        self._quiet = True
        try:
            self.path.value = "" if self.value.startswith(UPLOADED) else self.value
        finally:
            self._quiet = False

    def _edited(self) -> None:
        path = self.path.value.strip()
        if path and not self._quiet:  # nothing is asked for before a file is named
            self.value = path


class ColumnPicker(w.VBox):
    """Which header means what; `value` is the request's field: pairs "name=header", or none where
    what the headers are known to mean is right."""

    value = t.Tuple()

    def __init__(self) -> None:
        self.choices: dict[str, w.Dropdown] = {}
        self._guess: dict[str, str] = {}
        self._quiet = False
        super().__init__([])
        self.add_class("ep-corpus")
        self.observe(told(lambda _: self._show()), "value")

    def offer(self, seen: Peek | None) -> None:
        """One choice per name, of the headers of this file; without a file none."""
        self.choices = {}
        if seen is not None:
            self._guess = {k: v for k, v in seen.guess.items() if k in seen.names}
            options = [_NOT_THERE, *((_short(header), header) for header in seen.headers)]
            self.choices = {name: _choice(name, seen, options) for name in seen.names}
        for control in self.choices.values():
            control.observe(told(lambda _: self._edited()), "value")
        self.children = tuple(self.choices.values())
        self._show()

    def _show(self) -> None:
        given = dict(pair.split("=", 1) for pair in self.value if "=" in pair) or self._guess
        self._quiet = True
        try:
            for name, control in self.choices.items():
                known = {value for _, value in control.options}
                control.value = given[name] if given.get(name) in known else ""
        finally:
            self._quiet = False

    def _edited(self) -> None:
        if self._quiet:
            return
        chosen = {name: c.value for name, c in self.choices.items() if c.value}
        pairs = tuple(f"{name}={header}" for name, header in chosen.items())
        self.value = () if chosen == self._guess else pairs


def form_of(
    wanted: str, parts: Mapping[str, Any]
) -> tuple[Callable[..., "RecordedForm"], dict[str, Any]]:
    """The form, with what a panel's `parts` put in place of `peek`, `follow` and `keep`, and the
    parts that are left for the frame."""
    own = {"peek": "look", "follow": "follow", "keep": "keep"}
    taken = {own[name]: part for name, part in parts.items() if name in own}
    rest = {name: part for name, part in parts.items() if name not in own}
    return partial(RecordedForm, wanted, **taken), rest


class RecordedForm(w.VBox):
    """A recorded file with its columns, or the folder of a run.

    `wanted` is "gradient", "drift", "sweep" or "metrics", as in `sources.recorded`.  A panel binds
    `fields()`, and calls `adapt(source)` when its source turns "file" or "run".  `look`, `follow`
    and `keep` take the place of what looks into files and runs, and keeps an uploaded file.
    """

    def __init__(
        self,
        wanted: str,
        callback: Callable[..., Any],
        *,
        look: Callable[[str, str], Peek] = look_into,
        follow: Callable[[str], str] = look_into_run,
        keep: Keep = partial(keep_upload, TABLE),  # noqa: B008 - it has no state
    ) -> None:
        self.file, self.columns = FilePicker(keep, callback), ColumnPicker()
        self.said, self.rows = w.HTML(), w.HTML()
        self._wanted, self._look, self._follow = wanted, look, follow
        self._source, self._seen = FILE, ("", "")
        self._table = fold("Columns", self.rows, self.columns)
        super().__init__([self.file, self.said, self._table])
        self.add_class("ep-corpus")
        self.file.observe(told(lambda _: self._changed()), "value")
        self.adapt(FILE)

    def fields(self) -> dict[str, Field]:
        """The request's fields that this edits."""
        return {"file": Field(self.file), "columns": Field(self.columns)}

    def adapt(self, source: str) -> None:
        """Ask for a file, or for the folder of a run; other sources leave all as it is."""
        if source not in _ASKED:
            return
        self._source = source
        self.file.ask(source)
        self._look_again()

    def _changed(self) -> None:
        self.columns.value = ()  # other columns were of another file
        self._look_again()

    def _look_again(self) -> None:
        """Say what the file is, once for each."""
        here = (self._source, self.file.value)
        if here == self._seen:
            return
        self._seen, seen = here, None
        self.said.value = ""
        try:
            if self.file.value and self._source == RUN:
                self.said.value = _said(self._follow(self.file.value))
            elif self.file.value:
                seen = self._look(self.file.value, self._wanted)
                self.said.value = _said(_words(seen))
        except EmbtieError as error:
            self.said.value = _said(str(error))
        self.columns.offer(seen)
        self.rows.value = "" if seen is None else _first_rows(seen)
        self._table.layout.display = "none" if seen is None else ""
        if seen is not None and not seen.is_known:
            self._table.children[0].value = True  # there is something to be said


def _choice(name: str, seen: Peek, options: list[tuple[str, str]]) -> w.Dropdown:
    control = w.Dropdown(description=name.replace("_", " "), options=options)
    return labelled(control, seen.names[name])


def _words(seen: Peek) -> str:
    what = f"'{seen.name}': {seen.words}, {seen.height:,} rows."
    if seen.is_known:
        how = "Its columns are known by their names; what is wrong can be set right."
    else:
        how = "Say which of its columns is which."
    return " ".join([what, how, *seen.notes])


def _said(words: str) -> str:
    return f'<p class="ep-said">{escape(words)}</p>'


def _first_rows(seen: Peek) -> str:
    """The first rows, as a table that scrolls."""
    head = [escape(_short(header)) for header in seen.headers[:_SHOWN]]
    rows = [[escape(cell) for cell in row[:_SHOWN]] for row in seen.rows]
    return table(head, rows, f"The first rows of {seen.name}")


def _short(header: str) -> str:
    return header if len(header) <= 60 else header[:57] + "..."
