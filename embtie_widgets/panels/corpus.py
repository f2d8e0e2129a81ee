"""Choosing a text: what the tokens are counted in, or what the models read."""

from dataclasses import dataclass
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.offered import TEXT
from embtie_widgets.panels.fields import fold, labelled, usable
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.named import named
from embtie_widgets.requests import CorpusRef
from embtie_widgets.requests.corpus import BUNDLED, OWN

OTHER = "other"
SOURCES = (
    ("what comes with the models", OWN),
    ("the bundled English text", BUNDLED),
    ("another text or count file", OTHER),
)


@dataclass(frozen=True)
class CorpusWords:
    """What a picker says: its label and its choices, and how a text of one's own may be named."""

    label: str
    source_help: str
    placeholder: str
    name_help: str
    sources: tuple[tuple[str, str], ...]


COUNTED = CorpusWords(
    "Tokens are counted in",
    "Where the counts come from",
    "a path, datasets:NAME, or a count file",
    "A text file, a folder of them, datasets:NAME, or counts as .npy, .json, .csv or .tsv",
    SOURCES,
)


class CorpusPicker(w.VBox):
    """A corpus: what comes with the models, the bundled text, or one that is named.

    `value` is the CorpusRef, or what was typed where that is none: its fields as they stand, which
    a request refuses with a sentence.
    """

    value = t.Union([t.Instance(CorpusRef), t.Dict()])

    def __init__(self, value: CorpusRef, words: CorpusWords = COUNTED) -> None:
        self.source = labelled(
            w.Dropdown(description=words.label, options=words.sources), words.source_help
        )
        self.name = named(TEXT, "its name", words.placeholder, words.name_help)
        self.limit = labelled(
            w.FloatText(description="read at most, MB", continuous_update=False),
            "How many million bytes of text are read; 0 for all",
        )
        self.column = labelled(
            w.Text(description="column", continuous_update=False),
            "The column that holds the text, in .jsonl files and data sets",
        )
        self.split = labelled(
            w.Text(description="split", continuous_update=False), "The part of a data set"
        )
        self._quiet = False
        details = w.Box([self.column, self.split]).add_class("ep-pairs")
        self._named = w.VBox([self.name, fold("Columns and splits", details)])
        super().__init__([self.source, self._named, self.limit], value=value)
        self.add_class("ep-corpus")
        self._show()
        for control in (self.source, self.name, self.limit, self.column, self.split):
            control.observe(told(self._edited), "value")
        self.observe(told(lambda _: self._show()), "value")

    def give_way(self, pasted: str) -> None:
        """What is pasted goes before the corpus, which is off as long as there is any."""
        for control in (self.source, self.name, self.limit):
            usable(control, "the pasted text is read" if pasted.strip() else "")

    def _show(self) -> None:
        value = self.value
        if isinstance(value, CorpusRef):
            self._quiet = True
            try:
                known = value.ref in (OWN, BUNDLED)
                self.source.value = value.ref if known else OTHER
                self.name.value = "" if known else value.ref
                self.limit.value = value.limit_mb
                self.column.value, self.split.value = value.column, value.split
            finally:
                self._quiet = False
        self._adapt()

    def _adapt(self) -> None:
        """Show what the source asks for."""
        source = self.source.value
        self._named.layout.display = "" if source == OTHER else "none"
        self.limit.layout.display = "none" if source == OWN else ""

    def _edited(self, _change: Any) -> None:
        self._adapt()
        if self._quiet or (self.source.value == OTHER and not self.name.value.strip()):
            return  # nothing is asked for before a name is typed
        try:
            self.value = CorpusRef(**self._typed())
        except EmbtieError:
            self.value = self._typed()

    def _typed(self) -> dict[str, Any]:
        """What the controls say; what the source has no use for is as usual."""
        source, limit = self.source.value, self.limit.value
        if source == OWN:
            return {"ref": OWN}
        whole = {"limit_mb": int(limit) if limit.is_integer() else limit}
        if source == BUNDLED:
            return {"ref": BUNDLED, **whole}
        named = {"column": self.column.value.strip(), "split": self.split.value.strip()}
        return {"ref": self.name.value.strip(), **named, **whole}
