"""The request behind the panel of the lens."""

from dataclasses import dataclass
from typing import ClassVar

from embtie_widgets.requests import fields
from embtie_widgets.requests.corpus import CorpusRef
from embtie_widgets.requests.model import ModelRef
from embtie_widgets.requests.pair import DEVICES
from embtie_widgets.requests.passage import checked_text
from embtie_widgets.requests.request import Request

LENSES = ("tuned", "logit")
MODES = ("corrected", "paper")
PRECISIONS = ("auto", "float32", "bfloat16", "float16")
RECIPES = ("fast", "published")
STARTS = ("least-squares", "zero")
# What `translators_a` and `translators_b` say beside the path of a saved lens.
USUAL, TRAIN = "", "train"
# What `train_tokens` says for a short training, and how much text that reads at most.
SHORT, MOST_SHORT = 0, 50_000
_UNTIED, _TIED = ModelRef("nano-untied"), ModelRef("nano-tied")
_OWN = CorpusRef()


@dataclass(frozen=True)
class LensRequest(Request):
    """Say how far each layer of two models is from what the model predicts in the end.

    `lens` reads a layer's state through the model's own head, "logit", or through a trained affine
    map before it, "tuned"; `mode` "paper" repeats two slips of the published evaluation.  The text
    is `text`, if any is pasted, else `corpus` (without one, the sample that ships with embtie), in
    pieces of at most `length` tokens; about `positions` are measured.

    `translators_a` and `translators_b` say where the maps of a tuned lens come from: "" for those
    that ship with a bundled model and for training elsewhere, "train", or the path of a saved lens.
    They are trained in `steps` on at most `train_tokens` of the text, by the `recipe` "fast" or
    "published", from the `start` "least-squares" or "zero".  With 0 `train_tokens`, the usual, it
    is a short training: 50,000 tokens and 100 steps, or of both only as much as takes two cores
    about a quarter of a minute; the result says how much that was.  `floor` adds how near any lens
    at the embedding could come.  `precision` and `device` say how the models are held; `seed` draws
    batches and intervals.
    """

    a: ModelRef = _UNTIED
    b: ModelRef = _TIED
    lens: str = "tuned"
    mode: str = "corrected"
    corpus: CorpusRef = _OWN
    text: str = ""
    length: int = 128
    positions: int = 1_000
    translators_a: str = USUAL
    translators_b: str = USUAL
    steps: int = 100
    train_tokens: int = 0
    recipe: str = "fast"
    start: str = "least-squares"
    floor: bool = True
    precision: str = "auto"
    device: str = "auto"
    seed: int = 0

    kind: ClassVar[str] = "lens"

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.choice("lens", self.lens, LENSES)
        fields.choice("mode", self.mode, MODES)
        checked_text(self.text)
        fields.whole("length", self.length, 2, 4_096)
        fields.whole("positions", self.positions, 2, 100_000)
        for name in ("translators_a", "translators_b"):
            if getattr(self, name) != USUAL:
                fields.text(name, getattr(self, name))
        fields.whole("steps", self.steps, 0, 100_000)
        least = SHORT if self.train_tokens == SHORT else 2
        fields.whole("train_tokens", self.train_tokens, least, 10**8)
        fields.choice("recipe", self.recipe, RECIPES)
        fields.choice("start", self.start, STARTS)
        fields.flag("floor", self.floor)
        fields.choice("precision", self.precision, PRECISIONS)
        fields.choice("device", self.device, DEVICES)
        fields.whole("seed", self.seed, 0, 2**31 - 1)
