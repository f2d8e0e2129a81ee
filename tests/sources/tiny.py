"""A tiny model of any family that transformers knows, with every weight drawn at random."""

import os
from functools import cache
from typing import Any

import torch
import transformers as hf
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)

from tests.sources.models import randomised

ROWS, WIDTH = 32, 16
TOO_BIG = 1_300_000

# Whatever a family calls its sizes; each configuration takes those that it has.
_WIDTHS = ("hidden_size", "d_model", "n_embd", "dim", "embedding_size", "attention_hidden_size",
           "lru_width", "shared_intermediate_size", "shared_expert_intermediate_size",
           "moe_intermediate_size")  # fmt: skip
_INNER = ("intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner", "decoder_ffn_dim",
          "encoder_ffn_dim", "d_ff")  # fmt: skip
_TWOS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers",
         "decoder_layers", "encoder_layers", "num_attention_heads", "n_head", "n_heads",
         "num_heads", "num_key_value_heads", "num_kv_heads", "decoder_attention_heads",
         "encoder_attention_heads", "num_experts_per_tok", "moe_topk", "num_experts_per_token",
         "mamba_d_conv", "mamba_expand")  # fmt: skip
_EIGHTS = ("head_dim", "attention_head_dim", "q_lora_rank", "kv_lora_rank", "qk_rope_head_dim",
           "qk_nope_head_dim", "v_head_dim", "window_size", "sliding_window",
           "hidden_size_per_layer_input", "attention_window_size", "d_kv")  # fmt: skip
_FOURS = ("num_experts", "num_local_experts", "n_routed_experts", "state_size", "mamba_d_state",
          "rotary_dim", "laurel_rank")  # fmt: skip
_LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_target_positions",
            "n_ctx", "context_length")  # fmt: skip
_ONES = ("n_group", "topk_group", "first_k_dense_replace", "bos_token_id")

SIZES: dict[str, Any] = {
    **dict.fromkeys(("vocab_size", "vocab_size_per_layer_input", *_LENGTHS), ROWS),
    **dict.fromkeys(_WIDTHS, WIDTH),
    **dict.fromkeys(_INNER, 24),
    **dict.fromkeys(_TWOS, 2),
    **dict.fromkeys(_EIGHTS, 8),
    **dict.fromkeys(_FOURS, 4),
    **dict.fromkeys(_ONES, 1),
    "pad_token_id": 0,
    "eos_token_id": 2,
}

# Factors that are 1 or off by default are set, so that leaving one out shows.
FACTORS: dict[str, Any] = {
    "embedding_multiplier": 12.0,
    "embedding_scale": 3.0,
    "scale_embedding": True,
    "logits_scaling": 8.0,
    "lm_head_multiplier": 0.25,
    "logit_scale": 0.0625,
    "logits_mup_width_multiplier": 4.0,
    "output_multiplier": 0.5,
    "final_logit_softcapping": 3.0,
    "logits_soft_cap": 3.0,
    "output_logit_soft_cap": 3.0,
    "dim_model_base": 4,
}

_ROPE = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}
# What the common sizes do not fit.
EXTRA: dict[str, dict[str, Any]] = {
    "bailing_hybrid": {"n_group": 1, "topk_group": 1},
    "bamba": {"mamba_n_heads": 4, "mamba_d_head": 8},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "rope_theta": 1e4, "clip_qkv": 8.0},
        "ffn_config": {"ffn_hidden_size": 24},
    },
    "fsmt": {"src_vocab_size": ROWS, "tgt_vocab_size": ROWS},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "nemotron_h": {
        "layers_block_type": ["mamba", "attention"],
        "mamba_num_heads": 4,
        "mamba_head_dim": 8,
        "n_groups": 1,
        "ssm_state_size": 4,
    },
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "zamba": {
        "num_hidden_layers": 3,
        "layer_types": ["mamba", "hybrid", "hybrid"],
        "attention_hidden_size": 32,
        "attention_head_dim": 16,
    },
    "zamba2": {
        "num_hidden_layers": 3,
        "layers_block_type": ["mamba", "hybrid", "hybrid"],
        "attention_hidden_size": 32,
        "attention_head_dim": 16,
        "n_mamba_heads": 4,
        "adapter_rank": 4,
    },
    "granitemoehybrid": {"mamba_n_heads": 4, "mamba_d_head": 8},
    "mamba2": {"num_heads": 4, "head_dim": 8, "expand": 2, "n_groups": 1, "chunk_size": 4},
    "mimo_v2_flash": {"num_key_value_heads": 1},
    "mpt": {"logit_scale": None},
    "qwen2_vl_text": {"rope_parameters": _ROPE},
    "qwen2_5_vl_text": {"rope_parameters": _ROPE},
    "zaya": {"num_experts_per_tok": 1},
}
_DECODERS = MODEL_FOR_MASKED_LM_MAPPING_NAMES.keys() & MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.keys()
_CLASSES = (
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

# The other towers of a model that also sees or hears.
TOWERS = {
    "image_size": 8, "patch_size": 4, "hidden_size": WIDTH, "intermediate_size": 24, "depth": 1,
    "num_hidden_layers": 1, "num_attention_heads": 2, "num_heads": 2, "embed_dim": WIDTH,
    "in_channels": 3, "out_hidden_size": WIDTH, "projection_dim": WIDTH,
}  # fmt: skip
_LANGUAGE = ("text_config", "llm_config")
_OTHERS = ("vision_config", "audio_config", "qformer_config", "perceiver_config")


def configuration(kind: str, tied: bool, **more: Any) -> Any:
    """A configuration of that model type with tiny sizes and telling factors."""
    made = CONFIG_MAPPING[kind]
    usual = made()
    parts = {
        name: {"model_type": part.model_type}
        | _fitting(part, name in _LANGUAGE, tied)
        | EXTRA.get(part.model_type, {})
        for name in (*_LANGUAGE, *_OTHERS)
        if (part := getattr(usual, name, None)) is not None
    }
    own = {"tie_word_embeddings": tied}
    if not parts:
        decodes = {"is_decoder": True} if kind in _DECODERS else {}
        return made(**(_fitting(usual, True, tied) | own | decodes | EXTRA.get(kind, {}) | more))
    places = ("image_token_id", "image_token_index", "video_token_id")
    own |= {name: 5 for name in places if hasattr(usual, name)}
    return made(**(parts | own | EXTRA.get(kind, {}) | more))


def _fitting(usual: Any, language: bool, tied: bool) -> dict[str, Any]:
    known = usual.to_dict().keys()
    sizes = SIZES | FACTORS if language else TOWERS
    flag = {"tie_word_embeddings": tied} if language else {}
    return {key: value for key, value in (sizes | flag).items() if key in known or key in flag}


def class_name(kind: str) -> str:
    """The class with a language-model head."""
    found = next(names[kind] for names in _CLASSES if kind in names)
    return found if isinstance(found, str) else found[0]


@cache
def tiny(kind: str, tied: bool) -> Any:
    """The model, made once for all tests: read only."""
    config, made = configuration(kind, tied), getattr(hf, class_name(kind))
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in made(config).parameters())
    if size > TOO_BIG:
        raise ValueError(f"{size} parameters")
    model = randomised(made(config)).eval()
    for name, buffer in model.named_buffers():
        if name.endswith("final_logits_bias"):
            buffer.normal_(generator=torch.Generator().manual_seed(1))
    return model


def all_kinds() -> list[str]:
    """Every model type with a language-model head in the installed transformers."""
    # One makes gigabytes before it can be asked for its size, others want inputs of their own.
    skipped = {"blip", "blt", "cpmant"}
    return sorted({kind for names in _CLASSES for kind in names} - skipped)


WRITING = bool(os.environ.get("EMBTIE_WRITE_ARCHITECTURES"))
