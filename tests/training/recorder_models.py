"""Small models with randomised weights, and the model of two copies that parts are held against."""

import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM

from embtie_widgets.training.recorder import RunRecorder
from embtie_widgets.training.recorder_hooks import StepCapture, find_matrices
from embtie_widgets.training.recorder_numbers import check_of, parts_of
from embtie_widgets.training.run_store import RunStore

VOCABULARY, WIDTH = 60, 16
LLAMA = {
    "hidden_size": WIDTH,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
}
GPT2 = {
    "n_embd": WIDTH,
    "n_layer": 2,
    "n_head": 2,
    "n_positions": 32,
    "resid_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "attn_pdrop": 0.0,
}
GEMMA = LLAMA | {"head_dim": 8, "final_logit_softcapping": 3.0}
OPT = {
    "hidden_size": WIDTH,
    "word_embed_proj_dim": WIDTH,
    "ffn_dim": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 32,
    "dropout": 0.0,
    "attention_dropout": 0.0,
}
FAMILIES = {"gpt2": GPT2, "llama": LLAMA, "olmo": LLAMA, "gemma2": GEMMA, "opt": OPT}


def model_of(
    family: str = "gpt2", *, tied: bool = True, dtype: torch.dtype = torch.float32, seed: int = 0
) -> Any:
    """A model whose every weight is drawn, norms and biases included; `opt` has a padding row."""
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 1 if family == "opt" else None}
    fields = FAMILIES[family] | {"vocab_size": VOCABULARY, "tie_word_embeddings": tied} | ends
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **fields), dtype=dtype)
    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.3, generator=drawn)
    return model.train()


def ids_of(rows: int = 4, length: int = 9, seed: int = 1) -> Tensor:
    """Token ids (rows, length), of which many repeat."""
    drawn = torch.Generator().manual_seed(seed)
    return torch.randint(0, VOCABULARY // 2, (rows, length), generator=drawn)


def loss_of(model: Any, ids: Tensor) -> Tensor:
    return model(input_ids=ids, labels=ids).loss


def two_copies(model: Any) -> Any:
    """The model again, with a head of its own that has the same numbers."""
    twin = copy.deepcopy(model)
    head = twin.get_output_embeddings()
    head.weight = nn.Parameter(head.weight.detach().clone())
    twin.zero_grad()
    return twin


def expected(model: Any, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Both parts (V, d) of the gradient of the mean loss."""
    twin = two_copies(model)
    loss_of(twin, ids).backward()
    E, U = twin.get_input_embeddings().weight, twin.get_output_embeddings().weight
    return E.grad, U.grad


def caught_parts(model: Any, backward: Any, scaler: Any = None) -> tuple[Tensor, Tensor, float]:
    """Parts and check of what `backward(model)` leaves in the model."""
    caught = StepCapture(find_matrices(model), 1, scaler)
    caught.arm(model)
    backward(model)
    caught.disarm()
    if caught.error is not None:
        raise caught.error
    check = check_of(caught)
    own, other = parts_of(caught)
    return own, other, check


def train(
    model: Any, folder: Path, steps: int = 4, every: int = 1, **options: Any
) -> tuple[RunStore, RunRecorder]:
    """Some steps of a plain loop, recorded."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    recorder = RunRecorder(folder, every=every, **options).attach(model, optimizer)
    go_on(model, optimizer, recorder, range(1, steps + 1))
    recorder.detach()
    return RunStore.open(recorder.folder), recorder


def go_on(model: Any, optimizer: Any, recorder: Any, steps: Any) -> None:
    """The loop itself; `recorder` may be None."""
    for step in steps:
        loss = loss_of(model, ids_of(seed=step))
        loss.backward()
        if recorder is not None:
            recorder.observe(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()


def hooks_in(model: Any) -> int:
    """How many hooks are on modules and parameters."""
    on_modules = sum(len(m._forward_hooks) + len(m._backward_hooks) for m in model.modules())
    on_parameters = sum(
        len(p._post_accumulate_grad_hooks or ()) + len(p._backward_hooks or ())
        for p in model.parameters()
    )
    return on_modules + on_parameters
