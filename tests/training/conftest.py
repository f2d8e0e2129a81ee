from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus

TINY = {
    "model_type": "olmo",
    "vocab_size": 48,
    "hidden_size": 12,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 16,
    "pad_token_id": None,
    "eos_token_id": 0,
}


@pytest.fixture
def recipe() -> TrainingConfig:
    return TrainingConfig(
        model=TINY, steps=6, batch=3, length=8, lr=1e-2, warmup=2, log_every=2, seed=7
    )


@pytest.fixture
def recipe_of(recipe: TrainingConfig) -> Any:
    return lambda **changes: replace(recipe, **changes)


@pytest.fixture
def corpus() -> Corpus:
    """Ids that can be learnt: a walk in which each id mostly decides the next."""
    rng = np.random.default_rng(0)
    ids = np.cumsum(rng.choice([1, 2, 5], size=600)) % 48
    return Corpus(ids.astype(np.int64))
