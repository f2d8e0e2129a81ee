"""Those of the models of cases that are made of chosen matrices and tokens, some of them large."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from tests.browser.rehearsal import LARGEST, MODEL_NAMES, write_hostile_pair
from tests.sources.vocabularies import as_json, byte_level, sentencepiece

EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"
HOSTILE_PAIR = MODEL_NAMES
LARGE_ROWS, LARGE_WIDTH = 65_536, 256  # of a pair: three matrices of 67 MB


def write_pairs(folder: Path) -> None:
    """The quick ones."""
    padded_pair(folder)
    write_hostile_pair(folder)
    chance = np.random.default_rng(0)
    _turned(folder, chance)
    _spelt(folder, chance)
    unrelated = chance.normal(size=(2, 2000, 50))
    _written(folder / "c024-chance", unrelated[0], unrelated[1])
    holes = {"a": 0, "b": 1, "d": 3}
    _written(folder / "c015-hole", chance.normal(size=(4, 2)), tokenizer=_words(holes))


def write_large(folder: Path) -> None:
    """C027, C046 and C048, with the sizes that these name."""
    chance = np.random.default_rng(0)
    tall = chance.normal(size=(2, 60_000, 32))
    _written(folder / "c027-tall", tall[0], tall[1])
    names = _words({f"word{row}": row for row in range(LARGEST)})
    _written(folder / "c046-equal", chance.normal(size=(LARGEST, 8)), tokenizer=names)
    shape = (LARGE_ROWS, LARGE_WIDTH)
    first, second, third = (chance.normal(size=shape).astype(np.float32) for _ in range(3))
    _written(folder / "c048-untied", first, second)
    _written(folder / "c048-tied", third)


def padded_pair(folder: Path) -> None:
    """C014: rows that no token has, below the same 500 rows and their rotation."""
    chance = np.random.default_rng(0)
    rows = chance.normal(size=(500, 32))
    turn = np.linalg.qr(chance.normal(size=(32, 32)))[0]
    words = _words({f"w{row}": row for row in range(500)})
    for name, real, extra in (("c014-a", rows, 47), ("c014-b", rows @ turn, 60)):
        padding = 0.02 * chance.normal(size=(extra, 32))
        _written(folder / name, np.vstack([real, padding]), tokenizer=words)


def _turned(folder: Path, chance: np.random.Generator) -> None:
    """C025: the same rows, turned, and with one axis turned over."""
    rows = chance.normal(size=(40, 3))
    turn = np.linalg.qr(chance.normal(size=(3, 3)))[0]
    _written(folder / "c025-rows", rows)
    _written(folder / "c025-turned", rows @ turn)
    _written(folder / "c025-mirrored", rows * np.array([1, 1, -1]))


def _spelt(folder: Path, chance: np.random.Generator) -> None:
    """C017: two ways to write the same tokens."""
    for name, tokenizer in (("c017-pieces", sentencepiece()), ("c017-bytes", byte_level())):
        rows = chance.normal(size=(tokenizer.get_vocab_size(), 8))
        _written(folder / name, rows, tokenizer=as_json(tokenizer))


def _words(vocabulary: dict[str, int]) -> dict[str, Any]:
    return {"model": {"type": "WordLevel", "vocab": vocabulary}}


def _written(
    folder: Path, rows: Any, head: Any = None, tokenizer: dict[str, Any] | None = None
) -> None:
    """A model of these matrices, tied where it has one."""
    folder.mkdir()
    held = {EMBED: rows} if head is None else {EMBED: rows, HEAD: head}
    config = {"model_type": "llama", "vocab_size": len(rows), "hidden_size": rows.shape[1],
              "tie_word_embeddings": head is None}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    if tokenizer is not None:
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    as_stored = {name: torch.tensor(one, dtype=torch.float32) for name, one in held.items()}
    save_file(as_stored, folder / "model.safetensors")
