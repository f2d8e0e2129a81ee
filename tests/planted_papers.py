"""The weight-tying paper's models with their names, row numbers and files, at reduced width."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models

from tests.hub_server import HubServer

OLMO_A, OLMO_B = "allenai/OLMo-1B-0724-hf", "allenai/OLMo-1B-hf"
PYTHIA, NEO = "EleutherAI/pythia-2.8b", "EleutherAI/gpt-neo-2.7B"
QWEN_A, QWEN_B = "Qwen/Qwen3-8B", "Qwen/Qwen3-4B"
STEP = "step2000-tokens4B"
WIDTH, SHARED = 16, 36_938
OLMO_TOKENS, OLMO_ROWS = 50_280, 50_304
NEOX_TOKENS, GPT2_TOKENS = 50_277, 50_257
Matrix = np.ndarray[Any, np.dtype[np.float64]]


def plant(hub: HubServer, folder: Path) -> dict[str, dict[str, Matrix]]:
    """Publish all of them; by reference the values of their matrices as they are stored."""
    made = plant_olmo(hub, folder) | _plant_neo(hub, folder)
    made[QWEN_A] = _pair(7, 151_936, torch.bfloat16, 151_669)
    made[QWEN_B] = {"tied": _mixed(made[QWEN_A]["output"], 0.2, 8)[:, :12].contiguous()}
    for ref in (QWEN_A, QWEN_B):
        _publish(hub, folder, ref, "qwen3", made[ref], None)
    return {ref: {n: m.double().numpy() for n, m in one.items()} for ref, one in made.items()}


def plant_olmo(
    hub: HubServer,
    folder: Path,
    rows: int = OLMO_ROWS,
    tokens: int = OLMO_TOKENS,
    broken: tuple[int, ...] = (),
) -> dict[str, dict[str, torch.Tensor]]:
    """Publish the two models of one family, and the untied one at an early step; the output rows
    of some tokens may be no numbers."""
    made = {OLMO_A: _pair(1, rows, torch.float32, tokens)}
    made[OLMO_A]["output"][list(broken)] = torch.nan
    made[OLMO_B] = {"tied": _mixed(made[OLMO_A]["output"], 0.6, 2)}
    made[f"{OLMO_A}@{STEP}"] = _pair(3, rows, torch.float32, tokens, 0.05)
    named = [f"t{i}" for i in range(tokens)]
    _publish(hub, folder, OLMO_A, "olmo", made[OLMO_A], named)
    _publish(hub, folder, OLMO_B, "olmo", made[OLMO_B], named)
    _publish(hub, folder, OLMO_A, "olmo", made[f"{OLMO_A}@{STEP}"], named, STEP)
    return made


_ORDER = np.random.default_rng(4).permutation(GPT2_TOKENS)


def neo_rows() -> tuple[Any, Any]:
    """The rows of the common tokens in Pythia and in GPT-Neo, whose order is another one."""
    return np.arange(SHARED), np.argsort(_ORDER)[:SHARED]


def _plant_neo(hub: HubServer, folder: Path) -> dict[str, dict[str, torch.Tensor]]:
    untied = _pair(5, 50_304, torch.float16, NEOX_TOKENS)
    rows_a, rows_b = neo_rows()
    tied = torch.randn(GPT2_TOKENS, WIDTH, generator=torch.Generator().manual_seed(6))
    tied[rows_b] = _mixed(untied["output"].float(), 0.8, 6)[rows_a]
    by_row = [f"t{i}" if i < SHARED else f"g{i}" for i in _ORDER]
    neox = [f"t{i}" if i < SHARED else f"x{i}" for i in range(NEOX_TOKENS)]
    _publish(hub, folder, PYTHIA, "gpt_neox", untied, neox)
    _publish(hub, folder, NEO, "gpt_neo", {"tied": tied}, by_row)
    return {PYTHIA: untied, NEO: {"tied": tied}}


def _pair(
    seed: int, rows: int, dtype: torch.dtype, tokens: int, alike: float = 0.7
) -> dict[str, torch.Tensor]:
    """An input and an output matrix that have something in common, and a mean row; their rows that
    were never tokens lie far away."""
    generator = torch.Generator().manual_seed(seed)
    e = torch.randn(rows, WIDTH, generator=generator) + 0.2
    u = alike * _turned(e, seed) + torch.randn(rows, WIDTH, generator=generator) + 0.1
    u[tokens:] = 40 * torch.randn(rows - tokens, WIDTH, generator=generator)
    return {"input": e.to(dtype), "output": (3 * u).to(dtype)}


def _mixed(matrix: torch.Tensor, noise: float, seed: int) -> torch.Tensor:
    """The matrix turned, with noise, in its own type."""
    generator = torch.Generator().manual_seed(seed)
    values = _turned(matrix.float(), seed)
    return (values + noise * torch.randn(values.shape, generator=generator)).to(matrix.dtype)


def _turned(matrix: torch.Tensor, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + 100)
    turn = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=generator))[0]
    return matrix @ turn


_NAMES = {
    "olmo": ("model.embed_tokens.weight", "lm_head.weight"),
    "qwen3": ("model.embed_tokens.weight", "lm_head.weight"),
    "gpt_neox": ("gpt_neox.embed_in.weight", "embed_out.weight"),
    "gpt_neo": ("transformer.wte.weight", "lm_head.weight"),
}


def _publish(
    hub: HubServer,
    folder: Path,
    ref: str,
    kind: str,
    matrices: dict[str, torch.Tensor],
    tokens: list[str] | None,
    *revisions: str,
) -> None:
    """In two shards: the input with some of the body, the rest of the body with the output."""
    place = folder / "-".join([ref.replace("/", "-"), *revisions])
    place.mkdir(parents=True)
    tied = "tied" in matrices
    first, second = _NAMES[kind]
    body = torch.zeros(2_000, WIDTH)
    shards = [{first: matrices["tied" if tied else "input"], "body.0": body}, {"body.1": body}]
    if not tied:
        shards[1][second] = matrices["output"]
    where = {}
    for number, shard in enumerate(shards, 1):
        name = f"model-{number:05}-of-00002.safetensors"
        save_file({n: m.contiguous() for n, m in shard.items()}, place / name)
        where |= dict.fromkeys(shard, name)
    index = {"metadata": {}, "weight_map": where}
    (place / "model.safetensors.index.json").write_text(json.dumps(index))
    rows, width = shards[0][first].shape
    config = {
        "model_type": kind,
        "vocab_size": rows,
        "hidden_size": width,
        "tie_word_embeddings": tied,
    }
    (place / "config.json").write_text(json.dumps(config))
    if tokens is not None:
        tokenizer = Tokenizer(models.BPE({token: row for row, token in enumerate(tokens)}, []))
        tokenizer.save(str(place / "tokenizer.json"))
    hub.add(ref, place, *revisions)
