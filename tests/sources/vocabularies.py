# ruff: noqa: RUF001, RUF002
"""Two small tokenizers of different families that stand for some of the same bytes."""

import json
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from embtie_widgets.sources.spelling import BYTE_ALPHABET


def as_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """The tokenizer.json of it."""
    return dict(json.loads(tokenizer.to_str()))


def sentencepiece() -> Tokenizer:
    """All byte tokens, then ▁the, the, ▁, a, e, A: a BPE with byte fallback."""
    pieces = [f"<0x{byte:02X}>" for byte in range(256)] + ["▁the", "the", "▁", "a", "e", "A"]
    tokenizer = Tokenizer(
        models.BPE({piece: row for row, piece in enumerate(pieces)}, [], byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def byte_level() -> Tokenizer:
    """All 256 byte tokens, then ðŁ, Ġthe, the, ä¸Ń, a two-space token, and an end token."""
    pieces = [*BYTE_ALPHABET, "ðŁ", "Ġthe", "the", "ä¸Ń", "ĠĠ"]
    tokenizer = Tokenizer(models.BPE({piece: row for row, piece in enumerate(pieces)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|end|>", special=True)])
    return tokenizer
