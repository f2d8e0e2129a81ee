"""Small models whose tokens are words, and texts of these words, for tests of the lens job."""

import random
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers

from tests.sources.models import llama, randomised, saved

WORDS = [f"w{i}" for i in range(40)]


def words(count: int, seed: int = 0) -> str:
    """So many words, some far more often than others, in lines of twenty."""
    chance = random.Random(seed)
    found = [WORDS[min(int(chance.expovariate(0.15)), len(WORDS) - 1)] for _ in range(count)]
    return "\n".join(" ".join(found[i : i + 20]) for i in range(0, count, 20))


def write_model(
    folder: Path, tied: bool = False, seed: int = 0, tokenizer: bool = True, **more: Any
) -> str:
    """A model of 2 layers with moderate weights and a tokenizer of these words; its reference."""
    model = randomised(llama(tied, vocab_size=len(WORDS) + 1, hidden_size=16, **more), seed)
    for parameter in model.parameters():
        parameter.data *= 0.3
    saved(model, folder)
    if tokenizer:
        write_tokenizer(folder)
    return str(folder)


def write_tokenizer(folder: Path, known: list[str] = WORDS) -> None:
    """One that cuts at spaces; row 0 is for what it does not know."""
    vocabulary = {word: row for row, word in enumerate(["?", *known])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
