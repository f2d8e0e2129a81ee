"""The models that people's reports were about, each tiny, in a folder that the owner of a public
page has laid out.  The names are those of the cases."""

import json
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from safetensors.torch import load_file

from tests.app.case_pairs import EMBED, HEAD, write_pairs
from tests.sources.models import (
    COMMON,
    LLAMA,
    edit_config,
    edit_tensors,
    handmade,
    llama,
    randomised,
    saved,
)
from tests.sources.test_families import FAMILIES

RAN = Path(tempfile.gettempdir()) / "was-run-by-a-case"  # by nothing, ever
SHARDED = {"vocab_size": 64, "hidden_size": 16}


def _flag_says_tied(folder: Path) -> None:
    edit_config(saved(llama(), folder), tie_word_embeddings=True)


def _equal_copies(folder: Path) -> None:
    held = load_file(saved(llama(), folder) / "model.safetensors")
    edit_tensors(folder, **{HEAD: held[EMBED]})


def _nested(folder: Path) -> None:
    text = {**COMMON, "intermediate_size": 16, "head_dim": 4, "num_key_value_heads": 2}
    seen = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
            "num_attention_heads": 2, "image_size": 8, "patch_size": 4}  # fmt: skip
    config = hf.Gemma3Config(text_config=text, vision_config=seen, mm_tokens_per_image=4)
    saved(hf.Gemma3ForConditionalGeneration(config), folder)


def _shards(folder: Path) -> Path:
    saved(llama(**SHARDED), folder, max_shard_size="5KB")
    return sorted(folder.glob("model-*.safetensors"))[-1]


def _cut(folder: Path) -> None:
    whole = saved(llama(), folder) / "model.safetensors"
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])


def _pointer(folder: Path) -> None:
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    (saved(llama(), folder) / "model.safetensors").write_text(text)


def _heights(folder: Path) -> None:
    config = {"model_type": "llama", "vocab_size": 40, "hidden_size": 8}
    chance = torch.Generator().manual_seed(0)
    drawn = {
        EMBED: torch.randn(40, 8, generator=chance),
        HEAD: torch.randn(32, 8, generator=chance),
    }
    handmade(folder, config, **drawn)


def _grown(folder: Path) -> None:
    model = llama()
    model.resize_token_embeddings(40)
    saved(model, folder)


def _not_finite(folder: Path) -> None:
    drawn = torch.randn(200, 16, generator=torch.Generator().manual_seed(0))
    drawn[7, 0], drawn[9, 3] = torch.nan, torch.inf
    config = {"model_type": "llama", "vocab_size": 200, "hidden_size": 16}
    handmade(folder, config, **{EMBED: drawn, HEAD: torch.randn(200, 16)})


def _few_rows(folder: Path) -> None:
    config = {"model_type": "llama", "vocab_size": 8, "hidden_size": 16}
    handmade(folder, config, **{EMBED: torch.randn(8, 16), HEAD: torch.randn(8, 16)})


def _older_olmo(folder: Path) -> None:
    config = {"model_type": "hf_olmo", "weight_tying": True, "vocab_size": 60,
              "embedding_size": 64, "auto_map": {"AutoConfig": "code.Config"}}  # fmt: skip
    handmade(folder, config, **{"model.transformer.wte.weight": torch.randn(64, 8)})


class _Command:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (RAN,)


def _command(folder: Path) -> None:
    (saved(llama(), folder) / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({EMBED: _Command()}, protocol=2))


def _pickle(folder: Path) -> None:
    held = load_file(saved(llama(), folder) / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(held, folder / "pytorch_model.bin")


def _steps(folder: Path) -> None:
    for step in (2, 1000, 0, 512):
        saved(llama(), folder / f"step{step}")


def _overflowing(folder: Path) -> None:
    model = llama(num_hidden_layers=3)
    model.model.layers[1].mlp.down_proj.weight.data[:] = 6e4
    _readable(model.half(), folder)


def _gemma() -> Any:
    sizes: dict[str, Any] = {
        **COMMON,
        "intermediate_size": 16,
        "head_dim": 4,
        "num_key_value_heads": 2,
    }
    return hf.GemmaForCausalLM(hf.GemmaConfig(**sizes))


def _cohere() -> Any:
    return hf.CohereForCausalLM(hf.CohereConfig(**LLAMA, logit_scale=0.0625))


def _granite() -> Any:
    return hf.GraniteForCausalLM(
        hf.GraniteConfig(**LLAMA, logits_scaling=8.0, embedding_multiplier=12.0)
    )


def _odd_heads(folder: Path) -> None:
    """Sizes that go together in every tensor, and not in the pass of a text."""
    config = hf.GemmaConfig(**COMMON, intermediate_size=16, head_dim=4)
    _readable(hf.GemmaForCausalLM(config), folder)


def _readable(model: Any, folder: Path) -> None:
    """With a tokenizer of 32 words, for what reads text."""
    words = {f"w{number}": number for number in range(32)}
    told = {"model": {"type": "WordLevel", "vocab": words, "unk_token": "w0"},
            "pre_tokenizer": {"type": "Whitespace"}}  # fmt: skip
    (saved(model, folder) / "tokenizer.json").write_text(json.dumps(told))


MAKERS: dict[str, Callable[[Path], Any]] = {
    "c001-flag": _flag_says_tied,
    "c003-copies": _equal_copies,
    "c007-nested": _nested,
    "c010-narrow": lambda folder: _readable(FAMILIES["opt narrow"][0](), folder),
    "c011-no-head": lambda folder: saved(llama(kind=hf.LlamaModel), folder),
    "c012-shard": lambda folder: _shards(folder).unlink(),
    "c012-cut": _cut,
    "c012-pointer": _pointer,
    "c012-empty": lambda f: (saved(llama(), f) / "model.safetensors").write_bytes(b""),
    "c013-grown": _grown,
    "c013-heights": _heights,
    "c020-bfloat16": lambda folder: saved(llama().bfloat16(), folder),
    "c021-nan": _not_finite,
    "c024-few": _few_rows,
    "c030-cohere": lambda folder: _readable(randomised(_cohere()), folder),
    "c030-granite": lambda folder: _readable(randomised(_granite()), folder),
    "c030-heads": _odd_heads,
    "c032-bias": lambda folder: _readable(randomised(FAMILIES["gptj"][0]()), folder),
    "c033-gemma": lambda folder: _readable(randomised(_gemma()), folder),
    "c035-overflow": _overflowing,
    "c040-steps": _steps,
    "c053-olmo": _older_olmo,
    "c053-pickle": _pickle,
    "c053-command": _command,
    **{
        f"c008-{name}": (lambda folder, make=make: saved(make(), folder))  # type: ignore[misc]
        for name, (make, _, _) in FAMILIES.items()
        if name not in ("opt narrow", "bert")
    },
}


def write_cases(folder: Path) -> None:
    """All of them, each in a folder of its name."""
    for name, make in MAKERS.items():
        make(folder / name)
    write_pairs(folder)
