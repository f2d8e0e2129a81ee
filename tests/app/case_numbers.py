"""The numbers of cases, computed anew in float64 from the stored files, in another way."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf
from safetensors.torch import load_file

from tests.app.case_pairs import EMBED, HEAD

_BLOCK = 16  # tokens, as the links of the lens ask


def cosines(folder: Path, first: int | None = None) -> Any:
    """Of each token of an untied model, or of the `first`: input to output, by the least-squares
    map, centred."""
    held = load_file(folder / "model.safetensors")
    E, U = (held[name][:first].double().numpy() for name in (EMBED, HEAD))
    E, U = E - E.mean(0), U - U.mean(0)
    mapped = E @ (np.linalg.pinv(E) @ U)
    lengths = np.linalg.norm(mapped, axis=1) * np.linalg.norm(U, axis=1)
    return (mapped * U).sum(1) / lengths


def divergences(folder: Path, words: str) -> list[float]:
    """Mean bits from what each state says, through norm, head, bias and factor, to the answer."""
    model = hf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    ids = [int(word.removeprefix("w")) for word in words.split()]
    parts = [ids[start : start + _BLOCK] for start in range(0, len(ids), _BLOCK)]
    with torch.no_grad():
        each = torch.cat([_of_part(model, torch.tensor([part])) for part in parts], 1)
    return [float(mean) for mean in each.mean(1)]


def _of_part(model: Any, ids: Any) -> Any:
    made = model(ids, output_hidden_states=True)
    answer = made.logits[0].log_softmax(-1)
    states = [_norm(model)(one[0]) for one in made.hidden_states[:-1]]
    said = [_logits(model, state).log_softmax(-1) for state in (*states, made.hidden_states[-1][0])]
    return torch.stack([(answer.exp() * (answer - one)).sum(-1) / np.log(2) for one in said])


def _norm(model: Any) -> Any:
    inner = model.base_model
    return inner.norm if hasattr(inner, "norm") else inner.ln_f


def _logits(model: Any, state: Any) -> Any:
    config, head = model.config, model.get_output_embeddings()
    made = state @ head.weight.T + (0 if head.bias is None else head.bias)
    return made * getattr(config, "logit_scale", 1.0) / getattr(config, "logits_scaling", 1.0)


def column(table: bytes, name: str, **where: str) -> list[float]:
    """A column of an exported table, of the rows that have these values."""
    lines = table.decode().split("\n", 1)[1]
    rows = csv.DictReader(io.StringIO(lines))
    kept = (row for row in rows if all(row[key] == value for key, value in where.items()))
    return [float(row[name]) for row in kept]
