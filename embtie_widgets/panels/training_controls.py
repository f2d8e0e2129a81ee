"""What every panel asks for that trains models here: the recipe, its text, and the machine."""

import random
from collections.abc import Callable, Iterable
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.jobs import devices
from embtie_widgets.jobs.offered import MODEL
from embtie_widgets.panels.corpus import OTHER, CorpusPicker, CorpusWords
from embtie_widgets.panels.fields import (
    Field,
    fold,
    heading,
    labelled,
    number_box,
    pairs,
    section,
    whole_if_it_is,
)
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.named import named
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.requests.training import (
    OWN_TOKENIZER,
    PRECISIONS,
    PRESETS,
    TRAIN_TOKENIZER,
    TrainingRequest,
)

_MODEL = "model"
_TEXT = CorpusWords(
    "Text",
    "What the models learn from, or what is split",
    "a path, or datasets:NAME",
    "A text file, a folder of them, or datasets:NAME",
    (
        ("the sample of the bundled pair", OWN),
        ("the bundled English text", BUNDLED),
        ("another text", OTHER),
    ),
)
_TOKENIZERS = (
    ("of the bundled pair", OWN_TOKENIZER),
    ("learned from the text", TRAIN_TOKENIZER),
    ("of a model", _MODEL),
)
_ARCHITECTURES = tuple(
    zip(
        ("nano OLMo", "nano Pythia", "nano Llama", "nano GPT-2", "nano StableLM"),
        PRESETS,
        strict=True,
    )
)
_NUMBERS = {
    "steps": ("steps", "How many optimiser steps each model takes"),
    "batch": ("batch", "How many pieces of text a step reads; shares depend on it"),
    "lr": ("rate", "The highest learning rate"),
    "warmup": ("warm-up", "Over so many steps the rate rises to it; shares depend on it"),
    "length": ("tokens a piece", "How many tokens one piece of text has"),
    "every": ("log every", "Numbers are taken at every so many steps"),
    "vocabulary": ("its tokens", "How many tokens a tokenizer has that is learned here"),
}


# What is folded away, and what the three sections hold.
_FOLDED = frozenset({"length", "every", "precision", "tokenizer", "vocabulary", "share_start"})
_SECTIONS = (
    frozenset({"preset", "steps", "batch", "lr", "warmup"}) | _FOLDED,
    frozenset({"corpus"}),
    frozenset({"device", "seed"}),
)


class TokenizerPicker(w.VBox):
    """Whose tokens the text is cut into; `value` is the request's field.

    Of a model, nothing is asked for before it is named.
    """

    value = t.Unicode(OWN_TOKENIZER)

    def __init__(self) -> None:
        self.source = labelled(
            w.Dropdown(description="tokenizer", options=_TOKENIZERS),
            "Whose tokens the text is cut into",
        )
        self.ref = named(
            MODEL,
            "that model",
            "bundled name, hub id or folder",
            "The model whose tokenizer is taken",
        )
        self._quiet = False
        super().__init__([self.source, self.ref])
        self.add_class("ep-corpus")
        self._show()
        for control in (self.source, self.ref):
            control.observe(told(lambda _: self._edited()), "value")
        self.observe(told(lambda _: self._show()), "value")

    def _show(self) -> None:
        self._quiet = True
        try:
            known = self.value in (OWN_TOKENIZER, TRAIN_TOKENIZER)
            self.source.value = self.value if known else _MODEL
            self.ref.value = "" if known else self.value
        finally:
            self._quiet = False
        _see(self.ref, self.source.value == _MODEL)

    def _edited(self) -> None:
        of_model, ref = self.source.value == _MODEL, self.ref.value.strip()
        _see(self.ref, of_model)
        if not self._quiet and (ref or not of_model):
            self.value = ref if of_model else self.source.value


class TrainingControls:
    """The controls of a `TrainingRequest`, for every panel that trains.

    A panel places `sections` among its own and adds `fields()` to its own; it calls `adapt` in its
    `edited`, `prepare` in its `prepare`, and `offer_devices` once a result is drawn, while its
    binding is quiet.  `show` leaves the named fields alone in sight, for a panel that does not
    always train.
    """

    def __init__(self, request: TrainingRequest, callback: Callable[..., Any]) -> None:
        self.preset = labelled(
            w.Dropdown(description="architecture", options=_ARCHITECTURES),
            "A small decoder of this kind; all are of one size",
        )
        self.numbers = {name: number_box(*words) for name, words in _NUMBERS.items()}
        self.corpus, self.tokenizer = CorpusPicker(request.corpus, _TEXT), TokenizerPicker()
        self.share_start = labelled(
            w.Checkbox(description="tied starts as untied input", indent=False),
            "The two then agree before any training; else each matrix is drawn by itself",
        )
        self.precision = labelled(
            w.Dropdown(description="precision", options=PRECISIONS),
            "auto takes bfloat16 on a GPU that has it, else float32",
        )
        self.device = labelled(
            w.Dropdown(description="device", options=devices.available(request.device)),
            "Where it is computed",
        )
        self.seed = number_box("seed", "Draws the start of the models and the order of the batches")
        self.new_seed = w.Button(description="New seed", tooltip="Draw another seed")
        self.new_seed.add_class("ep-upload").on_click(callback(lambda _: self._draw_seed()))
        self.sections = self._arranged()
        self.show(self.fields())

    def _arranged(self) -> list[w.Widget]:
        """Recipe, text and machine; what is seldom changed is folded away."""
        number = self.numbers
        recipe = pairs(number["steps"], number["batch"], number["lr"], number["warmup"])
        more = pairs(number["length"], number["every"], self.precision, number["vocabulary"])
        self.more = fold("More settings", self.tokenizer, more, self.share_start)
        return [
            section("", self.preset, recipe, self.more),
            section("Text", self.corpus),
            section("Machine", pairs(self.device, self.seed), self.new_seed),
        ]

    def fields(self) -> dict[str, Field]:
        """The request's fields that these edit."""
        numbers = {"seed": self.seed, **self.numbers}
        return {
            "preset": Field(self.preset),
            "corpus": Field(self.corpus),
            "tokenizer": Field(self.tokenizer),
            "share_start": Field(self.share_start),
            "precision": Field(self.precision),
            "device": Field(self.device),
            **{name: Field(one, to_request=whole_if_it_is) for name, one in numbers.items()},
        }

    def show(self, fields: Iterable[str], title: str = "Training") -> None:
        """Leave the controls of these fields alone in sight, and what holds any of them; the first
        section is called by `title`."""
        self._shown = frozenset(fields)
        self.sections[0].children[0].value = heading(title)
        self.adapt()

    def adapt(self) -> None:
        """Ask for no more than what counts."""
        counts = self._shown
        if self.tokenizer.value != TRAIN_TOKENIZER:
            counts -= {"vocabulary"}
        for name, field in self.fields().items():
            _see(field.control, name in counts)
        _see(self.new_seed, "seed" in counts)
        _see(self.more, bool(counts & _FOLDED))
        for one, names in zip(self.sections, _SECTIONS, strict=True):
            _see(one, bool(counts & names))

    def prepare(self, request: TrainingRequest) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.device.options = devices.available(request.device)

    def offer_devices(self, chosen: str) -> None:
        """Offer what torch has found by now."""
        offered = devices.available(chosen)
        if list(self.device.options) != offered:
            self.device.options, self.device.value = offered, chosen

    def _draw_seed(self) -> None:
        self.seed.value = random.randrange(1, 100_000)  # noqa: S311 - no secret


def _see(widget: w.Widget, shown: bool) -> None:
    widget.layout.display = "" if shown else "none"
