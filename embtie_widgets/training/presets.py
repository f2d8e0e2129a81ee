"""Small architectures to train, of two layers and width 128 unless another size is asked for.

None has dropout.  "nano-stablelm" is nearest to the models of Output Embedding Centering: rotary
positions on half of each head, per-head LayerNorm of queries and keys, SwiGLU, LayerNorm with gain,
and entries of the embedding from N(0, 1/width).  Of theirs it lacks what its configuration cannot
say: smaller entries of the output matrix and of the projections back into the residual stream.
"""

from collections.abc import Mapping
from typing import Any

from embtie_widgets.errors import EmbtieError

VOCABULARY, POSITIONS = 4096, 256
# Layers, width, and width inside the MLP (in GPT-2 always four times the first); four heads.
# "small" is the paper's 16M.
SIZES = {
    "micro": (2, 64, 256),
    "nano": (2, 128, 512),
    "mini": (4, 192, 768),
    "small": (6, 224, 768),
}
_ENDS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
_UNDROPPED = ("resid_pdrop", "embd_pdrop", "attn_pdrop")

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "nano-olmo": {"model_type": "olmo", **_ENDS},
    "nano-pythia": {
        "model_type": "gpt_neox", "hidden_dropout": 0.0, "attention_dropout": 0.0, **_ENDS,
    },
    "nano-llama": {"model_type": "llama", **_ENDS},
    "nano-gpt2": {
        "model_type": "gpt2", **dict.fromkeys(_UNDROPPED, 0.0), "bos_token_id": 0,
        "eos_token_id": 0,
    },
    "nano-stablelm": {
        "model_type": "stablelm", "qk_layernorm": True, "use_qkv_bias": False,
        "rope_parameters": {
            "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5,
        },
        "hidden_dropout": 0.0, "attention_dropout": 0.0, **_ENDS,
    },
}  # fmt: skip
"""transformers configurations by name; all but their size and the number of tokens."""


def preset(
    name: str, vocabulary: int = VOCABULARY, length: int = POSITIONS, size: str = "nano"
) -> dict[str, Any]:
    """The configuration of that name and size, for so many tokens and windows of `length`.

    An EmbtieError for a name or size that is none.
    """
    for what, given, known in (("preset", name, PRESETS), ("size", size, SIZES)):
        if given not in known:
            raise EmbtieError(
                f"There is no {what} {given!r}; known are {', '.join(known)}.",
                "Choose one of these, or give a transformers configuration.",
            )
    chosen = dict(PRESETS[name])
    return (
        chosen
        | _sized(chosen["model_type"], *SIZES[size], max(POSITIONS, length))
        | {"vocab_size": vocabulary}
    )


def shaped(name: str, vocabulary: int, length: int, layers: int, width: int) -> dict[str, Any]:
    """The configuration of that name with any number of layers and any even width.

    Four heads or fewer, so that each has at least four numbers, and as many as rotations need.
    """
    if width % 2:
        raise EmbtieError(
            f"The width is {width}, an odd number; positions are told by turning pairs of numbers.",
            "Choose an even width.",
        )
    chosen = dict(PRESETS[name])
    heads = next((n for n in (4, 2) if width % (4 * n) == 0), 1)
    sizes = _sized(chosen["model_type"], layers, width, 4 * width, max(POSITIONS, length), heads)
    return chosen | sizes | {"vocab_size": vocabulary}


def _sized(
    kind: str, layers: int, width: int, inner: int, positions: int, heads: int = 4
) -> dict[str, Any]:
    """The fields of a configuration that say how large the model is."""
    if kind == "gpt2":
        return {"n_embd": width, "n_layer": layers, "n_head": heads, "n_positions": positions}
    sizes = {
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "max_position_embeddings": positions,
    }
    if kind in ("olmo", "llama", "stablelm"):
        sizes["num_key_value_heads"] = heads
    return sizes | ({"initializer_range": width**-0.5} if kind == "stablelm" else {})
