"""From the last state to the logits: measured on a live model, never read off a name."""

from typing import Any

import pytest
import torch
import transformers as hf

import embtie_widgets as ew
from embtie_widgets.sources import families
from embtie_widgets.sources.live import layout_of
from embtie_widgets.sources.readout import Readout, measure_readout
from tests.sources.models import COMMON, LLAMA, llama, randomised
from tests.sources.tiny import tiny

OPT = {"ffn_dim": 16, "max_position_embeddings": 32, "word_embed_proj_dim": 4}


def test_cohere_multiplies_and_granite_divides() -> None:
    cohere = hf.CohereForCausalLM(hf.CohereConfig(**LLAMA, logit_scale=0.0625))
    assert measure_readout(randomised(cohere)).logits == pytest.approx(0.0625)
    config = hf.GraniteConfig(**LLAMA, logits_scaling=8.0, embedding_multiplier=12.0)
    granite = randomised(hf.GraniteForCausalLM(config))
    assert measure_readout(granite).logits == pytest.approx(0.125)
    assert layout_of(granite).scales.embedding == 12.0


def test_two_families_use_one_field_the_opposite_way() -> None:
    assert measure_readout(tiny("granite", False)).logits == pytest.approx(1 / 8)
    assert measure_readout(tiny("hyperclovax", False)).logits == pytest.approx(8)


def test_a_cap_and_a_factor_before_the_head_are_found() -> None:
    assert measure_readout(tiny("gemma2", True)).cap == pytest.approx(3.0)
    assert measure_readout(tiny("minicpm3", True)).hidden == pytest.approx(4 / 16)


def test_a_plain_model_has_neither() -> None:
    assert measure_readout(llama()) == Readout("model.norm")


def test_a_narrow_head_is_reached_through_the_models_own_projection() -> None:
    config = hf.OPTConfig(**COMMON, **OPT, do_layer_norm_before=False)
    found = measure_readout(randomised(hf.OPTForCausalLM(config)))
    assert (found.norm, found.projection) == (None, "model.decoder.project_out")


class Renamed(hf.LlamaModel):
    """A Llama whose final norm goes by a name that says nothing."""

    norm = property(lambda self: self.finish)


def renamed() -> Any:
    model = llama()
    model.model._modules["finish"] = model.model._modules.pop("norm")
    model.model.__class__ = Renamed
    return model


def test_a_norm_by_an_unusual_name_is_found_or_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "_registry", dict(families._registry))
    with pytest.raises(ew.EmbtieError, match="not those of norm") as caught:
        measure_readout(renamed())
    assert "norm=" in caught.value.hint
    ew.register_family("llama", norm="finish")
    assert measure_readout(renamed()).norm == "model.finish"


@pytest.mark.parametrize("kind", ["dory", "bert", "prophetnet"])
def test_what_is_no_scaled_and_capped_head_is_refused(kind: str) -> None:
    with pytest.raises(ew.EmbtieError, match="not those of norm, head, scale and cap"):
        measure_readout(tiny(kind, False))


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_as_it_was(training: bool) -> None:
    model = llama().train(training)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    measure_readout(model)
    assert model.training is training
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_half_precision_is_measured_too() -> None:
    config = hf.CohereConfig(**LLAMA, logit_scale=0.0625)
    model = randomised(hf.CohereForCausalLM(config)).to(torch.bfloat16)
    assert measure_readout(model).logits == pytest.approx(0.0625, rel=1e-2)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("tied", [True, False])
def test_a_head_with_a_number_that_is_not_finite_is_refused_in_words(
    tied: bool, number: float
) -> None:
    model = llama(tied)
    with torch.no_grad():
        model.get_output_embeddings().weight[4, 1] = number
    with pytest.raises(ew.EmbtieError, match="not finite") as told:
        measure_readout(model)
    assert told.value.hint
