"""What the named architectures are made of."""

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import centering, training
from embtie_widgets.training.presets import PRESETS, SIZES, preset


def model_of(fields: dict[str, Any], **more: Any) -> Any:
    """Without memory for its weights."""
    known = dict(fields)
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(
            AutoConfig.for_model(known.pop("model_type"), **known, **more)
        )


def test_requests_name_the_presets_and_sizes_that_there_are() -> None:
    assert tuple(PRESETS) == training.PRESETS
    assert tuple(SIZES) == centering.SIZES


@pytest.mark.parametrize("name", PRESETS)
def test_each_size_is_larger_than_the_one_before(name: str) -> None:
    counts = []
    for size in SIZES:
        model = model_of(preset(name, 300, 512, size))
        width, layers = model.config.hidden_size, model.config.num_hidden_layers
        assert (layers, width) == SIZES[size][:2]
        assert model.config.max_position_embeddings == 512
        assert model.get_input_embeddings().weight.shape == (300, width)
        counts.append(sum(p.numel() for p in model.parameters()))
    assert counts == sorted(set(counts))


def test_recipes_of_the_usual_size_stay_what_they_were() -> None:
    assert preset("nano-olmo", 4096, 128) == {
        "model_type": "olmo", "hidden_size": 128, "intermediate_size": 512,
        "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 256,
        "num_key_value_heads": 4, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None,
        "vocab_size": 4096,
    }  # fmt: skip


def test_the_small_stablelm_has_the_parameters_of_the_papers_smallest_model() -> None:
    model = model_of(preset("nano-stablelm", 50_304, 2048, "small"), tie_word_embeddings=True)
    assert round(sum(p.numel() for p in model.parameters()) / 1e6) == 16


def test_a_stablelm_normalises_queries_and_keys_and_has_no_biases() -> None:
    fields = preset("nano-stablelm", 300)
    model = model_of(fields)
    attention = model.model.layers[0].self_attn
    assert attention.rotary_ndims == attention.head_dim // 2
    assert attention.q_layernorm.norms[0].weight.shape == (attention.head_dim,)
    biased = [n for n, m in model.named_modules() if getattr(m, "bias", None) is not None]
    assert all("layernorm" in name or name == "model.norm" for name in biased)
    known = dict(fields)
    torch.manual_seed(0)
    drawn = AutoModelForCausalLM.from_config(AutoConfig.for_model(known.pop("model_type"), **known))
    rows = drawn.get_input_embeddings().weight.detach()
    assert float(rows.norm(dim=1).mean()) == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("wrong", [("nano-bert", "nano"), ("nano-olmo", "huge")])
def test_an_unknown_preset_or_size_is_refused_with_those_that_there_are(
    wrong: tuple[str, str],
) -> None:
    with pytest.raises(EmbtieError, match=r"nano"):
        preset(wrong[0], size=wrong[1])
