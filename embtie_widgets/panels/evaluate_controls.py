"""What an evaluation asks for: tasks, their text and their files, and the machine."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w

from embtie_widgets.charts.evaluate import NAMES
from embtie_widgets.jobs import devices
from embtie_widgets.jobs.offered import ITEMS
from embtie_widgets.panels.chips import ChipPicker
from embtie_widgets.panels.corpus import CorpusPicker
from embtie_widgets.panels.fields import (
    Field,
    fold,
    labelled,
    number_box,
    pairs,
    section,
    usable,
    whole_if_it_is,
)
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.lens_text import READ, pasted_text
from embtie_widgets.panels.named import named
from embtie_widgets.panels.pair import PairPicker
from embtie_widgets.requests.evaluate import (
    OWN_TASK,
    PERPLEXITY,
    PRECISIONS,
    TASKS,
    EvaluateRequest,
)

_OWN = {
    PERPLEXITY: "How well each model predicts a text",
    OWN_TASK: "How a line of the bundled text ends; its items come with embtie",
}
_NUMBERS = ("letters", "length", "stride", "limit", "shots", "seed")


class EvaluateControls:
    """The controls of an EvaluateRequest; a panel places `sections` and adds `fields()` to its own,
    and calls `adapt` in its `edited`."""

    def __init__(self, request: EvaluateRequest) -> None:
        self.pair = PairPicker(request.a, request.b, whole=True)
        chips = {
            name: (NAMES[name], _OWN.get(name, "Its items are read from the folder of items"))
            for name in TASKS
        }
        self.tasks = ChipPicker(str, chips, None)
        self.corpus, self.text = CorpusPicker(request.corpus, READ), pasted_text()
        self.letters = number_box("letters", "How much of the text is predicted, at most")
        self.length = number_box("tokens a window", "How many tokens a model sees at once, at most")
        self.stride = number_box(
            "moved on by", "So many new tokens in each window; the rest of it is context"
        )
        self.files = named(
            ITEMS,
            "folder of items",
            "a folder",
            "In it piqa.jsonl or a folder piqa/, and so on: .jsonl, .json, .csv, .parquet, .arrow",
        )
        self.limit = number_box("items of each task", "The first so many; 0 for all")
        self.shots = number_box("worked examples", "So many stand before each item")
        self.precision = labelled(
            w.Dropdown(description="precision", options=PRECISIONS), "How the models are held"
        )
        self.device = labelled(
            w.Dropdown(description="device", options=devices.available(request.device)),
            "Where it is computed",
        )
        self.seed = number_box("seed", "Draws the worked examples")

    @property
    def sections(self) -> list[w.Widget]:
        """All of them, as they stand in the page."""
        sizes = pairs(self.length, self.stride)
        self.prose = section(
            "Text of the perplexity", self.corpus, self.text, self.letters, fold("windows", sizes)
        )
        self.items = section("Items", self.files, pairs(self.limit, self.shots))
        return [
            section("Models", self.pair),
            section("Tasks", self.tasks),
            self.prose,
            self.items,
            section("Machine", pairs(self.precision, self.device, self.seed)),
        ]

    def fields(self) -> dict[str, Field]:
        """The request's fields that these edit."""
        numbers = {name: Field(getattr(self, name), whole_if_it_is) for name in _NUMBERS}
        return {
            **self.pair.fields(),
            "tasks": Field(self.tasks),
            "corpus": Field(self.corpus),
            "text": Field(self.text),
            "files": Field(self.files, str.strip),
            "precision": Field(self.precision),
            "device": Field(self.device),
            **numbers,
        }

    def adapt(self, request: EvaluateRequest) -> None:
        """Ask for no more than the tasks need; what is pasted goes before the corpus."""
        choices = [task for task in request.tasks if task != PERPLEXITY]
        self.pair.follow(request)
        self.prose.layout.display = "" if PERPLEXITY in request.tasks else "none"
        self.items.layout.display = "" if choices else "none"
        self.files.layout.display = "" if set(choices) - {OWN_TASK} else "none"
        usable(self.seed, "" if request.shots else "without examples nothing is drawn")
        self.corpus.give_way(self.text.value)

    def offer_devices(self, chosen: str) -> None:
        """Those that there are, and the chosen one even where it is missing."""
        self.device.options = devices.available(chosen)

    def follow_pair(self, take: Callable[[Any], None]) -> None:
        """`take` is called where a pair of the catalogue is picked."""
        self.pair.preset.observe(told(take), "value")
