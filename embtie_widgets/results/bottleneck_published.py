"""What is printed of the gradient that a head does not transmit: Lost in Backpropagation, arXiv
2603.10145, from a digest of its second version; and one check by a third party."""

from typing import NamedTuple

RATIO = (0.95, 0.99)
"""The ratio that is not transmitted in the paper's families of models, and of `FAMILIES`."""
COSINE = (0.1, 0.3)
"""And the cosine of the gradient with what is transmitted of it."""

HEADS = {"GPT-2": (768, 50_257), "OLMo-1B": (2_048, 50_304), "Llama 3 8B": (4_096, 128_256)}
"""d and V of heads that everybody knows."""

FAMILIES = {
    "GPT-2": (
        "openai-community/gpt2",
        "openai-community/gpt2-medium",
        "openai-community/gpt2-large",
        "openai-community/gpt2-xl",
    ),
    "Pythia": (
        "EleutherAI/pythia-70m",
        "EleutherAI/pythia-160m",
        "EleutherAI/pythia-410m",
        "EleutherAI/pythia-1b",
        "EleutherAI/pythia-2.8b",
    ),
    "Llama 3": ("meta-llama/Llama-3.2-1B", "meta-llama/Llama-3.2-3B", "meta-llama/Llama-3.1-8B"),
    "OLMo 2": ("allenai/OLMo-2-0425-1B", "allenai/OLMo-2-1124-7B"),
    "Qwen3": ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B-Base", "Qwen/Qwen3-1.7B", "Qwen/Qwen3-4B"),
}
"""Models of the paper's families; which ones it measured is not known here."""


class Size(NamedTuple):
    """Of a model: width and rows of its head, and all its parameters."""

    width: int
    rows: int
    parameters: int


SIZES = {"allenai/OLMo-2-0425-1B": Size(2_048, 100_352, 1_484_916_736)}
"""Of those `FAMILIES` that the catalogue, which has the sizes of its own, does not hold."""


class PublishedRatio(NamedTuple):
    """A third party's: mean ratio over sampled tokens of WikiText-2, and what is kept."""

    name: str = "GPT-2"
    ratio: float = 0.9943
    kept: float = 0.105
    tokens: int = 2_039
    source: str = "github.com/tomoqt/lm-head-gradient-bottleneck-flywheel-repro"

    @property
    def share(self) -> float:
        """d / V."""
        width, rows = HEADS[self.name]
        return width / rows


CHECK = PublishedRatio()
