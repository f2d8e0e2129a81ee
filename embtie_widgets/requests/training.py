"""What every request has that trains models here: which ones, on what, and how."""

from dataclasses import dataclass, field

from embtie_widgets.requests import fields
from embtie_widgets.requests.corpus import CorpusRef
from embtie_widgets.requests.pair import DEVICES
from embtie_widgets.requests.request import Request

PRESETS = ("nano-olmo", "nano-pythia", "nano-llama", "nano-gpt2", "nano-stablelm")
PRECISIONS = ("auto", "float32", "bfloat16")
# What `tokenizer` says beside the reference of a model whose tokenizer is taken.
OWN_TOKENIZER, TRAIN_TOKENIZER = "", "train"
MOST_STEPS = 100_000
_OWN = CorpusRef()


@dataclass(frozen=True)
class TrainingRequest(Request):
    """Twins that differ in nothing but the tying, trained on the same batches.

    `preset` names the architecture.  `corpus` is the text, without one the sample that the bundled
    pair learned from.  `tokenizer` is "" for the one of the bundled pair, "train" for one learned
    from the text, or the reference of a model whose own is taken; `vocabulary` is how many tokens
    a learned one has.  The rate rises to `lr` over `warmup` steps and falls along a cosine.
    `share_start` starts the tied matrix as a copy of the untied input, which aligns the two before
    any training.  Numbers are logged `every` so many steps.
    """

    preset: str = field(default="nano-olmo", kw_only=True)
    corpus: CorpusRef = field(default=_OWN, kw_only=True)
    tokenizer: str = field(default=OWN_TOKENIZER, kw_only=True)
    vocabulary: int = field(default=4_096, kw_only=True)
    steps: int = field(default=300, kw_only=True)
    batch: int = field(default=8, kw_only=True)
    length: int = field(default=128, kw_only=True)
    lr: float = field(default=3e-3, kw_only=True)
    warmup: int = field(default=50, kw_only=True)
    share_start: bool = field(default=False, kw_only=True)
    every: int = field(default=1, kw_only=True)
    precision: str = field(default="auto", kw_only=True)
    device: str = field(default="auto", kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.choice("preset", self.preset, PRESETS)
        if self.tokenizer != OWN_TOKENIZER:
            fields.text("tokenizer", self.tokenizer)
        fields.whole("vocabulary", self.vocabulary, 300, 300_000)
        fields.whole("steps", self.steps, 1, MOST_STEPS)
        fields.whole("batch", self.batch, 1, 4_096)
        fields.whole("length", self.length, 2, 4_096)
        fields.number("lr", self.lr, 0.0, 100.0)
        fields.whole("warmup", self.warmup, 0, MOST_STEPS)
        fields.flag("share_start", self.share_start)
        fields.whole("every", self.every, 1, MOST_STEPS)
        fields.choice("precision", self.precision, PRECISIONS)
        fields.choice("device", self.device, DEVICES)
        fields.whole("seed", self.seed, 0, 2**31 - 1)
