"""Small architectures to train, all about the same size: two layers, width 128, no dropout."""

from collections.abc import Mapping
from typing import Any

from embtie_widgets.errors import EmbtieError

VOCABULARY, POSITIONS = 4096, 256
_SIZES = {
    "hidden_size": 128,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": POSITIONS,
}
_ENDS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
_UNDROPPED = ("resid_pdrop", "embd_pdrop", "attn_pdrop")

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "nano-olmo": {"model_type": "olmo", **_SIZES, "num_key_value_heads": 4, **_ENDS},
    "nano-pythia": {
        "model_type": "gpt_neox", **_SIZES, "hidden_dropout": 0.0, "attention_dropout": 0.0,
        **_ENDS,
    },
    "nano-llama": {"model_type": "llama", **_SIZES, "num_key_value_heads": 4, **_ENDS},
    "nano-gpt2": {
        "model_type": "gpt2", "n_embd": 128, "n_layer": 2, "n_head": 4, "n_positions": POSITIONS,
        **dict.fromkeys(_UNDROPPED, 0.0), "bos_token_id": 0, "eos_token_id": 0,
    },
}  # fmt: skip
"""transformers configurations by name; all but the number of tokens."""


def preset(name: str, vocabulary: int = VOCABULARY, length: int = POSITIONS) -> dict[str, Any]:
    """The configuration of that name, for so many tokens, with positions for windows of `length`.

    An EmbtieError for a name that is none.
    """
    if name not in PRESETS:
        raise EmbtieError(
            f"There is no preset {name!r}; known are {', '.join(PRESETS)}.",
            "Choose one of these, or give a transformers configuration.",
        )
    chosen = dict(PRESETS[name])
    positions = "n_positions" if "n_positions" in chosen else "max_position_embeddings"
    return chosen | {"vocab_size": vocabulary, positions: max(POSITIONS, length)}
