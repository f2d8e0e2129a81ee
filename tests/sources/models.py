"""Tiny models with randomised weights, made from a configuration and never downloaded."""

import json
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from safetensors.torch import load_file, save_file

LLAMA: dict[str, Any] = {
    "vocab_size": 32,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": None,
}
COMMON = {"vocab_size": 32, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
GPT = {"vocab_size": 32, "n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 32}


def llama(tied: bool = False, kind: Any = hf.LlamaForCausalLM, **more: Any) -> Any:
    """A Llama of 32 x 8 with random weights, norms included."""
    return randomised(kind(hf.LlamaConfig(**{**LLAMA, "tie_word_embeddings": tied, **more})))


def randomised(model: Any, seed: int = 0) -> Any:
    """The model with every parameter drawn anew."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


def saved(model: Any, folder: Path, **more: Any) -> Path:
    """The folder that the model was saved to."""
    model.save_pretrained(folder, **more)
    return folder


def edit_config(folder: Path, **changes: Any) -> None:
    """Change entries of config.json; None removes one."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    for key, value in changes.items():
        config.pop(key, None) if value is None else config.update({key: value})
    path.write_text(json.dumps(config))


def edit_tensors(folder: Path, drop: tuple[str, ...] = (), **changes: torch.Tensor) -> None:
    """Rewrite model.safetensors with tensors replaced, added or dropped."""
    path = folder / "model.safetensors"
    tensors = {name: value.clone() for name, value in load_file(path).items()}
    tensors |= changes
    save_file({n: v.contiguous() for n, v in tensors.items() if n not in drop}, path)


def handmade(folder: Path, config: dict[str, Any], **tensors: torch.Tensor) -> Path:
    """A checkpoint written by hand."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file(tensors, folder / "model.safetensors")
    return folder
