"""Choosing two models, and what is known of them once they were read."""

from dataclasses import asdict, replace
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import catalogue
from embtie_widgets.jobs.offered import MODEL, names_of
from embtie_widgets.panels.fields import Field, labelled
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.revision import RevisionPicker
from embtie_widgets.panels.words import escape, number, table
from embtie_widgets.requests import ModelRef
from embtie_widgets.results import PairResult
from embtie_widgets.widgets import SearchPicker

_ROLES = (
    ("the tied matrix", "auto"),
    ("its input matrix", "input"),
    ("its output matrix", "output"),
)
_REF_HELP = "bundled name, hub id, folder or GGUF file"
_LISTED_HELP = "a model of the list"


class ModelPicker(w.VBox):
    """One model: its reference with suggestions from the catalogue, and its revision.

    `value` is the ModelRef, or what was typed where that is none: its fields as they stand, which
    a request refuses with a sentence.  Where the `whole` of it is read, fewer can be chosen on a
    public page.
    """

    value = t.Union([t.Instance(ModelRef), t.Dict()])

    def __init__(self, label: str, value: ModelRef, whole: bool = False) -> None:
        self._whole = whole
        self.ref = SearchPicker(
            label=label,
            placeholder=_REF_HELP if names_of(MODEL) is None else _LISTED_HELP,
            hits=_hits("", whole),
        )
        self.ref.add_class("ep-ref")
        self.revision = RevisionPicker(lambda: self.ref.value.strip())
        self.as_tied = labelled(
            w.Checkbox(description="treat its input matrix as tied", indent=False),
            "Take the input matrix for the output too; written on every result",
        )
        self._quiet = False
        super().__init__([self.ref, self.revision, self.as_tied], value=value)
        self.add_class("ep-model")
        self.offer_as_tied(value.treat_as_tied)
        self._show()
        for control in (self.ref, self.revision, self.as_tied):
            control.observe(told(self._edited), "value")
        self.ref.observe(told(lambda _: self._search()), "query")
        self.observe(told(lambda _: self._show()), "value")

    def offer_as_tied(self, offered: bool) -> None:
        """Show the choice only where the model has an input matrix alone."""
        self.as_tied.layout.display = "" if offered else "none"

    def _search(self) -> None:
        self.ref.hits = _hits(self.ref.query, self._whole)

    def _show(self) -> None:
        if not isinstance(self.value, ModelRef):
            return
        self._quiet = True
        try:
            self.ref.value, self.revision.value = self.value.ref, self.value.revision or ""
            self.as_tied.value = self.value.treat_as_tied
        finally:
            self._quiet = False

    def _edited(self, _change: Any) -> None:
        self.revision.forget()
        if self._quiet:
            return
        typed: dict[str, Any] = {"ref": self.ref.value.strip()}
        typed["revision"] = self.revision.value.strip() or None
        before = self.value
        # Companion files and the choice of a tie belong to the model they were given for.
        if isinstance(before, ModelRef) and typed["ref"] == before.ref:
            typed = before.to_dict() | typed | {"treat_as_tied": self.as_tied.value}
        try:
            self.value = ModelRef(**typed)
        except EmbtieError:
            self.value = typed


def _hits(text: str, whole: bool) -> list[dict[str, str]]:
    return [asdict(hit) for hit in catalogue.search(text, whole=whole)]


def _pairs(text: str, whole: bool) -> list[dict[str, str]]:
    return [asdict(hit) for hit in catalogue.search_pairs(text, whole=whole)]


class PairPicker(w.VBox):
    """Model A, which gives In and Out, and model B, one matrix of which is Tied.

    `preset` names a pair of the catalogue; a panel asks `chosen` for the request with it, so that
    models and role change at once, and has `follow` show what pair a request is of.  Where the
    models are taken as a `whole`, no matrix of B is chosen.
    """

    def __init__(self, a: ModelRef, b: ModelRef, whole: bool = False) -> None:
        self._whole = whole
        self.preset = SearchPicker(
            label="Pair",
            placeholder="a pair of the catalogue",
            free_text=False,
            hits=_pairs("", whole),
        ).add_class("ep-ref")
        self.preset.observe(told(self._search), "query")
        self.a = ModelPicker("Model A" if whole else "Model A: gives In and Out", a, whole)
        self.b = ModelPicker("Model B" if whole else "Model B: gives Tied", b, whole)
        self.role = labelled(
            w.Dropdown(description="Tied is, in B,", options=_ROLES),
            "Which matrix of B stands for Tied; of two stored ones it can be either",
        )
        super().__init__([self.preset, self.a, self.b, *([] if whole else [self.role])])

    def _search(self, _change: Any) -> None:
        self.preset.hits = _pairs(self.preset.query, self._whole)

    def chosen(self, request: Any) -> Any:
        """The request with the pair that was picked, itself where none was."""
        pair = catalogue.find_pair(self.preset.value)
        return request if pair is None else replace(request, **self._sides(pair))

    def _sides(self, pair: catalogue.Pair) -> dict[str, Any]:
        role = {} if self._whole else {"role_b": pair.role_b}
        return {"a": pair.a, "b": pair.b, **role}

    def follow(self, request: Any) -> None:
        """Name the pair that the request is of; nothing where it is none of the catalogue's."""
        role = None if self._whole else request.role_b
        pair = catalogue.pair_of(request.a, request.b, role)
        with self.preset.hold_sync():
            self.preset.value = "" if pair is None else pair.name
            self.preset.value_label = "" if pair is None else pair.label

    def fields(self) -> dict[str, Field]:
        """The request's fields that this edits."""
        role = {} if self._whole else {"role_b": Field(self.role)}
        return {"a": Field(self.a), "b": Field(self.b), **role}

    def draw(self, result: PairResult) -> None:
        """Offer what only some models need."""
        for picker, facts in zip((self.a, self.b), result.models.values(), strict=False):
            picker.offer_as_tied(facts.get("tied") == "input only" or picker.as_tied.value)


def pair_facts(result: PairResult) -> str:
    """HTML: the two models as stored, the match of their vocabularies, and every note."""
    models = table(
        ["", *(f"{side}: {escape(facts.get('name', '?'))}" for side, facts in _models(result))],
        [[name, *(cell(facts) for _, facts in _models(result))] for name, cell in _FACTS.items()],
        "the two models as stored",
    )
    counts = table(
        [escape(_COUNT_NAMES.get(kind, kind)) for kind in result.counts],
        [[f"{count:,}" for count in result.counts.values()]],
        "how the vocabularies match",
    )
    hashes = table(
        ["SHA-256 as stored", ""],
        [[escape(name), f"<code>{escape(value)}</code>"] for name, value in result.hashes.items()],
        "the matrices by hash",
    )
    return (
        f"{models}<h4>Vocabulary match, in rows</h4>{counts}"
        f"<h4>Matrices</h4>{hashes}{_taken_off(result)}{_notes(result.notes)}"
    )


def _taken_off(result: PairResult) -> str:
    """What was taken off each centred matrix; nothing where none was."""
    rows = [
        [
            escape(name),
            f"{facts['rows']:,}",
            number(facts["length"]),
            number(facts["share"]),
            number(facts["bound_ratio"]),
            f"<code>{escape(facts['sha256'])}</code>",
        ]
        for name, facts in result.settings.get("mean rows taken off", {}).items()
    ]
    head = ["", "mean of rows", "length", "over mean row length", "B-ratio", "SHA-256 of the rest"]
    if not rows:
        return ""
    return f"<h4>Mean rows taken off</h4>{table(head, rows, 'the mean rows taken off')}"


_COUNT_NAMES = {
    "matched": "matched",
    "only_a": "only in A",
    "only_b": "only in B",
    "padding_a": "padding in A",
    "padding_b": "padding in B",
    "ambiguous": "ambiguous",
    "left_out_a": "left out in A",
    "left_out_b": "left out in B",
}


def _models(result: PairResult) -> list[tuple[str, dict[str, Any]]]:
    return list(result.models.items())


def _shape(facts: dict[str, Any]) -> str:
    if "rows" not in facts:
        return "–"
    text = f"{facts['rows']:,} × {facts.get('width', 0):,}"
    other = facts.get("output_rows")
    return text if other in (None, facts["rows"]) else f"{text} (output: {other:,} rows)"


def _parameters(facts: dict[str, Any]) -> str:
    unique, stored = facts.get("unique_parameters"), facts.get("stored_parameters")
    if unique is None:
        return "–"
    return f"{unique:,}" if stored in (None, unique) else f"{unique:,} ({stored:,} stored)"


def _text(name: str, missing: str = "–") -> Any:
    return lambda facts: escape(facts.get(name) or missing)


def _status(facts: dict[str, Any]) -> str:
    chosen = " by your choice, not by what is stored" if facts.get("tied_by_choice") else ""
    return escape(facts.get("tied") or "–") + chosen


_FACTS: dict[str, Any] = {
    "read from": _text("source"),
    "as stored": _status,
    "the configuration says": _text("config_says"),
    "revision": _text("revision", "as found"),
    "V × d": _shape,
    "dtype": _text("dtype"),
    "embedding parameters": _parameters,
}


def _notes(notes: tuple[str, ...]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<h4>Notes</h4><ul class="ep-notes">{items}</ul>' if items else ""
