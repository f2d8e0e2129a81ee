"""The request behind the panel that evaluates two models."""

from dataclasses import dataclass
from typing import ClassVar

from embtie_widgets.requests import fields
from embtie_widgets.requests.corpus import CorpusRef
from embtie_widgets.requests.model import ModelRef
from embtie_widgets.requests.pair import DEVICES
from embtie_widgets.requests.passage import checked_text
from embtie_widgets.requests.request import Request

PERPLEXITY, OWN_TASK = "perplexity", "line-end"
TASKS = (
    PERPLEXITY,
    OWN_TASK,
    "piqa",
    "hellaswag",
    "winogrande",
    "arc_easy",
    "arc_challenge",
    "boolq",
    "openbookqa",
    "blimp",
)
"""Perplexity of a text; a multiple-choice task of the bundled text; those of the paper's table 7,
by the names of the harness."""
PRECISIONS = ("auto", "float32", "bfloat16", "float16")
_UNTIED, _TIED = ModelRef("nano-untied"), ModelRef("nano-tied")
_OWN = CorpusRef()


@dataclass(frozen=True)
class EvaluateRequest(Request):
    """Evaluate two models, or runs, on the same items.

    `tasks` are names of `TASKS`.  Perplexity is that of `text`, if any is pasted, else of `corpus`
    (without one, of the part of the bundled text that the bundled pair was not trained on), of at
    most `letters` characters, read in windows of at most `length` tokens that move on by `stride`.
    The items of the other tasks lie in the folder `files`, one file or folder for each task; those
    of "line-end" come with embtie.  `limit` takes the first so many items of each task, 0 all;
    `shots` worked examples, drawn by `seed` from the other items, stand before each.  `precision`
    and `device` say how the models are held.
    """

    a: ModelRef = _UNTIED
    b: ModelRef = _TIED
    tasks: tuple[str, ...] = (PERPLEXITY, OWN_TASK)
    corpus: CorpusRef = _OWN
    text: str = ""
    letters: int = 40_000
    length: int = 256
    stride: int = 128
    files: str = ""
    limit: int = 200
    shots: int = 0
    precision: str = "auto"
    device: str = "auto"
    seed: int = 0

    kind: ClassVar[str] = "evaluate"

    def __post_init__(self) -> None:
        super().__post_init__()
        tasks = fields.some("tasks", self.tasks)
        named = (fields.choice("tasks", one, TASKS) for one in tasks)
        object.__setattr__(self, "tasks", tuple(sorted(named, key=TASKS.index)))
        checked_text(self.text)
        fields.whole("letters", self.letters, 100, 20_000_000)
        fields.whole("length", self.length, 2, 32_768)
        fields.whole("stride", self.stride, 1, self.length)
        if self.files:
            fields.text("files", self.files)
        fields.whole("limit", self.limit, 0, 1_000_000)
        fields.whole("shots", self.shots, 0, 32)
        fields.choice("precision", self.precision, PRECISIONS)
        fields.choice("device", self.device, DEVICES)
        fields.whole("seed", self.seed, 0, 2**31 - 1)
