"""Choosing the lens: as it is or tuned, corrected or as published, and where its maps come from."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.charts.lens_words import LENS_WORDS, MODE_WORDS
from embtie_widgets.jobs.offered import SAVED_LENS
from embtie_widgets.jobs.uploads import LENS
from embtie_widgets.panels.fields import Field, fold, labelled, number_box, whole_if_it_is
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.named import named
from embtie_widgets.panels.words import escape
from embtie_widgets.requests.lens import TRAIN, USUAL
from embtie_widgets.widgets import UploadButton

_SAVED = "saved"
_SOURCES = (
    ("what ships with it, else trained here", USUAL),
    ("trained here", TRAIN),
    ("a saved lens", _SAVED),
)
_RECIPES = (("fast", "fast"), ("as published", "published"))
_STARTS = (("least squares", "least-squares"), ("zero", "zero"))
# (bytes of an uploaded file, its name) -> what the request names it by.
Keep = Callable[[bytes, str], str]


class TranslatorPicker(w.VBox):
    """Where the translators of one model come from; `value` is the request's field.

    A saved lens is named by its path, or uploaded: `keep` puts it where a run can read it.
    """

    value = t.Unicode("")

    def __init__(self, side: str, keep: Keep, callback: Callable[..., Any]) -> None:
        self.source = labelled(
            w.Dropdown(description=f"translators of {side}", options=_SOURCES),
            "The affine maps of the tuned lens",
        )
        self.path = named(
            SAVED_LENS,
            "its path",
            "a .safetensors file, or a folder of tuned-lens",
            "A lens that was saved here, or a folder that the tuned-lens package has saved",
        )
        self.upload = UploadButton(
            callback(self.take),
            LENS.most,
            label=f"Load lens {side}",
            title="A .safetensors file of a lens from this computer",
            accept=".safetensors",
        )
        self._keep, self._quiet = keep, False
        self._saved = w.VBox([self.path, self.upload])
        super().__init__([self.source, self._saved.add_class("ep-corpus")])
        self.add_class("ep-corpus")
        self._show()
        for control in (self.source, self.path):
            control.observe(told(lambda _: self._edited()), "value")
        self.observe(told(lambda _: self._show()), "value")

    def take(self, content: bytes, name: str) -> None:
        """Use a lens that was uploaded."""
        self.value = self._keep(content, name)

    def _show(self) -> None:
        self._quiet = True
        try:
            known = self.value in (USUAL, TRAIN)
            self.source.value = self.value if known else _SAVED
            self.path.value = "" if known else self.value
        finally:
            self._quiet = False
        self._adapt()

    def _adapt(self) -> None:
        self._saved.layout.display = "" if self.source.value == _SAVED else "none"

    def _edited(self) -> None:
        self._adapt()
        path = self.path.value.strip()
        if self._quiet or (self.source.value == _SAVED and not path):
            return  # nothing is asked for before a lens is named
        self.value = path if self.source.value == _SAVED else self.source.value


class LensPicker(w.VBox):
    """The two switches, each with its sentence, and what a tuned lens needs."""

    def __init__(self, keep: Keep, callback: Callable[..., Any]) -> None:
        self.lens = _switch("lens", (("Tuned", "tuned"), ("Logit", "logit")), LENS_WORDS)
        self.mode = _switch(
            "mode", (("Corrected", "corrected"), ("Paper", "paper")), MODE_WORDS["tuned"]
        )
        self.lens_words, self.mode_words = w.HTML(), w.HTML()
        self.a, self.b = (TranslatorPicker(side, keep, callback) for side in "AB")
        self.steps = number_box(
            "steps", "How long translators are trained; 0 leaves the logit lens"
        )
        self.train_tokens = number_box(
            "training tokens",
            "On how much text, none of it measured on; 0 for a short training, as much of text and "
            "of the usual steps as takes two cores about a quarter of a minute",
        )
        self.recipe = labelled(
            w.Dropdown(description="recipe", options=_RECIPES),
            "The quick way, or that of the tuned-lens package: SGD, rate 1, to the letter",
        )
        self.start = labelled(
            w.Dropdown(description="start", options=_STARTS),
            "From the maps that are nearest by least squares, or from the logit lens",
        )
        numbers = [self.steps, self.train_tokens, self.recipe, self.start]
        training = w.Box(numbers).add_class("ep-pairs")
        self.tuned = w.VBox([self.a, self.b, fold("training", training)]).add_class("ep-corpus")
        super().__init__([self.lens, self.lens_words, self.mode, self.mode_words, self.tuned])
        self.add_class("ep-corpus")

    def fields(self) -> dict[str, Field]:
        """The request's fields that this edits."""
        return {
            "lens": Field(self.lens),
            "mode": Field(self.mode),
            "translators_a": Field(self.a),
            "translators_b": Field(self.b),
            "steps": Field(self.steps, to_request=whole_if_it_is),
            "train_tokens": Field(self.train_tokens, to_request=whole_if_it_is),
            "recipe": Field(self.recipe),
            "start": Field(self.start),
        }

    def adapt(self) -> None:
        """Say what the switches mean, and ask of a tuned lens alone what it needs."""
        self.lens_words.value = _said(LENS_WORDS[self.lens.value])
        said = MODE_WORDS[self.lens.value]
        self.mode.tooltips = [said[value] for _, value in self.mode.options]
        self.mode_words.value = _said(said[self.mode.value])
        self.tuned.layout.display = "" if self.lens.value == "tuned" else "none"


def _switch(
    name: str, options: tuple[tuple[str, str], ...], words: dict[str, str]
) -> w.ToggleButtons:
    tips = [words[value] for _, value in options]
    buttons = w.ToggleButtons(description=name, options=options, tooltips=tips)
    labelled(buttons, f"Which {name}")
    return buttons.add_class("ep-segments")


def _said(words: str) -> str:
    return f'<p class="ep-said">{escape(words)}</p>'
