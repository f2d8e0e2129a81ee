"""Models for the tests of the lens, and the plain truth about them in float64."""

import copy
from typing import Any

import numpy as np
import torch
import transformers as hf

from tests.sources.models import COMMON, randomised

PIECES = (
    np.arange(3, 12) % 32,
    np.array([4, 9, 4]),
    (np.arange(3, 17) * 7) % 32,
    np.array([8, 8, 1, 30, 2]),
)
# Each has something that the others have not: factors, caps, biases, positions, experts, scans.
FAMILIES = [
    "gpt2", "gpt_neo", "gpt_neox", "gptj", "opt", "bloom", "falcon", "mpt", "mamba", "mamba2",
    "rwkv", "phi", "phi3", "olmo", "olmo2", "olmoe", "llama", "mistral", "mixtral", "qwen2",
    "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text", "cohere", "cohere2", "granite",
    "stablelm", "starcoder2", "codegen", "biogpt", "xglm", "smollm3", "glm4", "nemotron",
    "persimmon", "jamba", "recurrent_gemma", "deepseek_v3", "helium", "exaone4", "minicpm3",
    "nanochat", "hyperclovax", "lfm2", "gemma3", "llava",
]  # fmt: skip


def narrow_opt() -> Any:
    """Embeddings of width 4, states of width 8, no final norm."""
    more = {"ffn_dim": 16, "max_position_embeddings": 32, "word_embed_proj_dim": 4}
    config = hf.OPTConfig(**COMMON, **more, do_layer_norm_before=False)
    return randomised(hf.OPTForCausalLM(config)).eval()


def in_float64(model: Any) -> Any:
    """A copy that computes in float64 wherever the library lets it."""
    return copy.deepcopy(model).double().eval()


def alone(model: Any, piece: Any) -> torch.Tensor:
    """(T, V) the model's own logits for one piece."""
    with torch.no_grad():
        return model(input_ids=torch.tensor(np.asarray(piece))[None], use_cache=False).logits[0]
