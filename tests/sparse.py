"""Checkpoints of full size that take little disk: only the two matrices hold numbers.

All other tensors are holes in the files, which read as zeros.
"""

import json
import struct
from pathlib import Path
from typing import Any

import torch

_BLOCK = 1024
_DTYPES = {torch.float32: ("F32", 4), torch.bfloat16: ("BF16", 2)}

Shapes = dict[str, tuple[int, ...]]


def shapes_of(config: Any) -> Shapes:
    """The stored tensors of the causal language model of a transformers configuration."""
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def sparse_checkpoint(
    folder: Path,
    config: Any,
    embed: str = "model.embed_tokens.weight",
    head: str = "lm_head.weight",
    shards: int = 4,
    dtype: torch.dtype = torch.float32,
) -> Path:
    """The folder, filled: `embed` lies in the first shard, `head` in the last."""
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    shapes = shapes_of(config)
    others = [name for name in shapes if name not in (embed, head)]
    parts = [others[number::shards] for number in range(shards)]
    parts[0].insert(0, embed)
    parts[-1].append(head)
    where = {}
    for number, names in enumerate(parts, 1):
        file = f"model-{number:05d}-of-{shards:05d}.safetensors"
        where |= dict.fromkeys(names, file)
        _write(folder / file, {name: shapes[name] for name in names}, {embed, head}, dtype)
    index = {"metadata": {}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def _write(path: Path, shapes: Shapes, filled: set[str], dtype: torch.dtype) -> None:
    kind, size = _DTYPES[dtype]
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in shapes.items():
        start, end = end, end + torch.Size(shape).numel() * size
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
        for seed, name in enumerate(sorted(filled & set(shapes))):
            file.seek(8 + len(text) + header[name]["data_offsets"][0])
            _fill(file, shapes[name], dtype, seed + len(path.name) + ord(name[0]))


def _fill(file: Any, shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> None:
    """Random rows, each block of them scaled in its own way."""
    rows, width = shape
    block = torch.randn(_BLOCK, width, generator=torch.Generator().manual_seed(seed))
    for number, at in enumerate(range(0, rows, _BLOCK)):
        part = (block[: rows - at] * (1 + number / 64)).to(dtype)
        file.write(part.contiguous().view(torch.uint8).numpy().data)
