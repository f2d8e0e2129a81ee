"""Faults that were seen elsewhere: wrong norms, factors, biases, places, and overflow."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from torch.nn import functional

import embtie_widgets as ew
from embtie_widgets.measures.divergence import BITS
from embtie_widgets.measures.head import Head
from embtie_widgets.measures.lens import measure_lens
from tests.measures.lens_models import PIECES, alone
from tests.sources.models import LLAMA, llama, randomised
from tests.sources.tiny import tiny


def kl_of(model: Any, piece: Any, layer: int, logits: Any) -> torch.Tensor:
    """KL in bits at each place, of `logits(state)` for the states that the library hands out."""
    with torch.no_grad():
        ids = torch.tensor(piece)[None]
        state = model(ids, output_hidden_states=True, use_cache=False).hidden_states[layer][0]
        lens, final = logits(state).log_softmax(-1), alone(model, piece).float().log_softmax(-1)
    return functional.kl_div(lens, final, log_target=True, reduction="none").sum(-1) * BITS


class Louder:
    """Translators that make every state of a layer so many times as long."""

    def __init__(self, *factors: float) -> None:
        self.factors = factors

    def __len__(self) -> int:
        return len(self.factors)

    def apply(self, layer: int, states: torch.Tensor) -> torch.Tensor:
        return self.factors[layer] * states


def test_each_layer_is_normed_by_its_own_statistics() -> None:
    """C029: an RMS norm takes the length of a state away, whatever it is."""
    model = llama(num_hidden_layers=3, rms_norm_eps=1e-12)
    plain = measure_lens(model, PIECES)
    grown = measure_lens(model, PIECES, translators=Louder(1, 10, 100))
    assert np.allclose(plain.per_token, grown.per_token, rtol=1e-5, atol=1e-5)
    assert np.ptp(plain.kl_bits) > 0.1


def test_a_factor_behind_the_head_counts_once_at_every_layer() -> None:
    """C030: Cohere multiplies, Granite divides."""
    cohere = hf.CohereForCausalLM(hf.CohereConfig(**LLAMA, logit_scale=0.0625))
    config = hf.GraniteConfig(**LLAMA, logits_scaling=8.0, embedding_multiplier=12.0)
    granite = hf.GraniteForCausalLM(config)
    for model, factor in ((cohere, 0.0625), (granite, 0.125)):
        inner = randomised(model).eval().model
        lens = measure_lens(model, PIECES[:1])
        weight = model.get_output_embeddings().weight
        for layer in (0, 1):
            kl = kl_of(model, PIECES[0], layer, lambda s: factor * inner.norm(s) @ weight.T)  # noqa: B023
            assert np.allclose(lens.per_token[layer], kl, rtol=1e-4, atol=1e-6)
        assert lens.kl_bits[-1] < 1e-6
        assert lens.settings["logit factor"] == pytest.approx(factor)


@pytest.mark.parametrize("kind", ["gptj", "phi"])
def test_a_bias_in_the_head_counts_at_every_layer(kind: str) -> None:
    """C032."""
    model = tiny(kind, False)
    norm = model.transformer.ln_f if kind == "gptj" else model.model.final_layernorm
    lens, head = measure_lens(model, PIECES[:1]), model.lm_head
    for layer in (0, 1):
        right = kl_of(model, PIECES[0], layer, lambda s: head(norm(s)))
        without = kl_of(model, PIECES[0], layer, lambda s: norm(s) @ head.weight.T)
        assert np.allclose(lens.per_token[layer], right, rtol=1e-4, atol=1e-5)
        assert not np.allclose(right, without, rtol=1e-2)
    assert lens.settings["head bias"]


@pytest.mark.parametrize("kind", ["gemma", "granite", "bloom", "gpt2", "llama"])
def test_the_axis_runs_from_the_embedding_to_the_last_of_the_layers(kind: str) -> None:
    """C033."""
    lens = measure_lens(tiny(kind, False), PIECES)
    assert lens.points == ["embedding", "1", "2"]
    assert len(lens.drop_bits) == len(lens.write) == 2


def test_overflow_is_marked_and_the_rest_is_measured() -> None:
    """C035: some positions overflow in the second block of a model in float16."""
    model, pieces = llama(num_hidden_layers=3), np.arange(32)[:, None]
    model.model.layers[1].mlp.down_proj.weight.data[0, 0] = 6e4
    full = measure_lens(model, pieces)
    half = measure_lens(model.half(), pieces)
    assert not full.notes
    assert half.finite[0] < 32
    broken = np.isnan(half.per_token[-1])
    assert 0 < broken.sum() < 32
    assert np.isfinite(half.entropy_bits).all()
    close = np.isclose(half.per_token, full.per_token, rtol=0.1, atol=0.1)
    assert close[:, ~broken].mean() > 0.9
    (note,) = half.notes
    assert "after blocks 2 to 3" in note
    assert "float32 or bfloat16" in note


def test_where_nothing_is_finite_at_the_end_the_entropies_before_it_are_left() -> None:
    """C035."""
    model = llama(num_hidden_layers=3)
    model.model.layers[1].mlp.down_proj.weight.data[:] = 6e4
    lens = measure_lens(model.half(), PIECES)
    assert np.isnan(lens.kl_bits).all()
    assert np.isnan(lens.intervals).all()
    assert lens.finite.tolist() == [0, 0, 0, 0]
    assert np.isfinite(lens.entropy_bits).tolist() == [True, True, False, False]
    assert "31 of 31 positions" in lens.notes[0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["gpt2", "llama", "gemma2", "cohere", "phi", "opt", "mamba"])
def test_half_precision_is_near_to_full(kind: str, dtype: torch.dtype) -> None:
    full = tiny(kind, False)
    lens = measure_lens(copy.deepcopy(full).to(dtype), PIECES)
    known = np.isfinite(lens.per_token[-1])
    wanted = measure_lens(full, PIECES).per_token[:, known]
    assert known.any()
    assert np.abs(lens.per_token[:, known] - wanted).mean() < 0.02 * wanted[:-1].mean() + 0.01
    assert lens.per_token[-1, known].max() < 0.01
    assert 0 < lens.last_layer_check < lens.settings["tolerance"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_norm_head_and_softmax_are_in_float32(dtype: torch.dtype) -> None:
    """C035: states and final logits are the half model's, all between is exact."""
    half = llama().to(dtype)
    exact, lens = copy.deepcopy(half).float(), measure_lens(half, PIECES[:1])
    for layer in (0, 1):
        kl = kl_of(half, PIECES[0], layer, lambda s: exact.lm_head(exact.model.norm(s.float())))
        assert np.allclose(lens.per_token[layer], kl, rtol=1e-4, atol=1e-5)


def test_the_check_fails_in_half_precision_too() -> None:
    model = llama().to(torch.bfloat16)
    model.model.norm.register_forward_pre_hook(lambda _m, args: (args[0].roll(1, -1),))
    with pytest.raises(ew.EmbtieError, match="last-layer check failed"):
        measure_lens(model, PIECES)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_norm_that_is_wrong_by_little_is_told_in_half_precision(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
) -> None:
    """No logit is off by more than rounding may leave at one of them, but all are."""
    model = llama().to(dtype)
    right = Head.of(model)
    wrong = copy.deepcopy(right.norm)
    wrong.weight.data *= 1 + 3 * torch.finfo(dtype).eps
    measure_lens(model, PIECES)
    monkeypatch.setattr(Head, "of", lambda _model: replace(right, norm=wrong))
    with pytest.raises(ew.EmbtieError, match="last-layer check failed"):
        measure_lens(model, PIECES)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_all_logits_share_neither_fails_a_check_nor_hides_a_wrong_norm(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
) -> None:
    model = tiny("phi", False)
    model.lm_head.bias.data += 300
    model = model.to(dtype)
    lens = measure_lens(model, PIECES)
    assert lens.last_layer_check <= lens.settings["tolerance"]
    if dtype == torch.float32:
        right = Head.of(model)
        wrong = copy.deepcopy(right.norm)
        wrong.weight.data *= 1.001
        monkeypatch.setattr(Head, "of", lambda _model: replace(right, norm=wrong))
        with pytest.raises(ew.EmbtieError, match="last-layer check failed"):
            measure_lens(model, PIECES)


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_models_with_an_encoder_are_refused_in_words(kind: str) -> None:
    with pytest.raises(ew.EmbtieError, match="encoder"):
        measure_lens(tiny(kind, False), PIECES)
