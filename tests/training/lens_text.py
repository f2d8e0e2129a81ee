"""A model and pieces of text for the tests of the tuned lens."""

from functools import cache
from typing import Any

import numpy as np
import transformers as hf

from tests.sources.models import COMMON, randomised


def runs(seed: int, count: int = 24, length: int = 16) -> list[Any]:
    """Pieces in which each token mostly decides the next."""
    rng = np.random.default_rng(seed)
    return [np.cumsum(rng.choice([1, 2, 5], size=length)) % 32 for _ in range(count)]


PIECES, HELD = runs(0), runs(1, 6)


@cache
def model(kind: str = "LlamaForCausalLM", **more: Any) -> Any:
    """A tiny one with random weights, made once: read only."""
    made = getattr(hf, kind)
    return randomised(made(made.config_class(**COMMON, **more))).eval()
