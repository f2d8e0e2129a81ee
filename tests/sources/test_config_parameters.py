"""Parameters counted from a configuration alone, given by strangers as often as not."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import transformers as hf

import embtie_widgets as ew
from tests.sources.models import COMMON, GPT, LLAMA, randomised, saved

LLAMA_CONFIG = {"model_type": "llama", **LLAMA}
FAMILIES = {
    "llama": LLAMA,
    "gpt2": GPT,
    "gpt_neox": COMMON | {"intermediate_size": 16},
    "bloom": {"vocab_size": 32, "hidden_size": 8, "n_layer": 2, "n_head": 2},
    "gemma2": {**LLAMA, "head_dim": 4},
    "opt": COMMON | {"ffn_dim": 16, "word_embed_proj_dim": 8, "max_position_embeddings": 32},
    "t5": {"vocab_size": 32, "d_model": 8, "d_kv": 4, "d_ff": 16, "num_layers": 1, "num_heads": 2},
    "bert": COMMON | {"intermediate_size": 16, "max_position_embeddings": 32},
    "mixtral": {**LLAMA, "num_local_experts": 2},
    "mamba": {"vocab_size": 32, "hidden_size": 8, "num_hidden_layers": 1, "state_size": 2},
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tied", [True, False])
def test_configuration_files_and_model_give_the_same_numbers(
    tmp_path: Path, family: str, tied: bool
) -> None:
    config = hf.AutoConfig.for_model(family, **FAMILIES[family], tie_word_embeddings=tied)
    kinds = (hf.AutoModelForCausalLM, hf.AutoModelForSeq2SeqLM, hf.AutoModelForMaskedLM)
    kind = kinds[{"t5": 1, "bert": 2}.get(family, 0)]
    model = randomised(kind.from_config(config))
    folder = saved(model, tmp_path)
    sources = (folder, model, config, folder / "config.json", json.loads(config.to_json_string()))
    found = [ew.parameters(source) for source in sources]
    size = 32 * 8
    assert {(one.untied, one.tied, one.saved, one.embedding) for one in found} == {
        (found[1].tied + size, found[1].tied, size, 2 * size)
    }
    stored = sum(p.numel() for p in model.parameters())
    shared = model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert found[0].tied == stored - (0 if shared else size)


def test_a_folder_with_a_configuration_alone_is_counted(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_CONFIG))
    found = ew.parameters(tmp_path)
    assert found.untied == ew.parameters(LLAMA_CONFIG).untied
    assert "without weights, so its configuration was counted" in found.notes[0]


def test_what_was_assumed_is_said() -> None:
    notes = " ".join(ew.parameters({"model_type": "gpt2", "n_embd": 8, "n_head": 2}).notes)
    assert "built as GPT2LMHeadModel without weights" in notes
    assert "no tie flag; its type's own default, tied" in notes
    assert "vocab_size 50,257, num_hidden_layers 12" in notes
    assert "hidden_size" not in notes
    said = " ".join(ew.parameters(LLAMA_CONFIG | {"tie_word_embeddings": False}).notes)
    assert "The configuration says untied" in said
    assert "default" not in said


def test_the_named_class_is_built() -> None:
    headless = ew.parameters(LLAMA_CONFIG | {"architectures": ["LlamaModel"]})
    assert headless.settings["model"]["class"] == "LlamaModel"
    assert headless.settings["status"] == "input only"
    foreign = ew.parameters(LLAMA_CONFIG | {"architectures": ["GPT2LMHeadModel"]})
    assert foreign.settings["model"]["class"] == "LlamaForCausalLM"
    assert headless.tied == foreign.tied


def test_no_code_of_a_repository_is_run_and_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "modeling_evil.py").write_text("raise SystemExit('run')")
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("it asked a network"))
    evil = {
        "auto_map": {"AutoModelForCausalLM": "modeling_evil.Evil"},
        "attn_implementation": "someone/kernel",
        "_attn_implementation": "someone/kernel",
        "quantization_config": {"quant_method": "gptq", "bits": 4},
        "dtype": "__import__",
    }
    found = ew.parameters(LLAMA_CONFIG | evil)
    assert found.untied == ew.parameters(LLAMA_CONFIG).untied
    assert "modeling_evil" not in sys.modules
    assert "Quantisation was left aside: the numbers are of the unquantised model." in found.notes
    assert "The repository brings code of its own; it was not run." in found.notes


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model_type": None}, "names no model_type"),
        ({"model_type": "no_such_thing"}, "no model type that the installed transformers knows"),
        ({"model_type": "vit"}, "no language model"),
        ({"num_hidden_layers": 10**8}, "num_hidden_layers is 100,000,000"),
        ({"hidden_size": 10**12}, "hidden_size is 1,000,000,000,000"),
        ({"hidden_size": "wide"}, "No model of type 'llama' can be built"),
        ({"hidden_size": -8}, "No model of type 'llama' can be built"),
        ({"num_attention_heads": 0}, "No model of type 'llama' can be built"),
        ({"vocab_size": None}, "No model of type 'llama' can be built"),
        ({"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1}}}}}}}}, "nested too deeply"),
    ],
)
def test_what_cannot_be_built_is_told(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ew.EmbtieError) as caught:
        ew.parameters(LLAMA_CONFIG | changes)
    assert told in caught.value.message
    assert caught.value.hint


def test_lists_that_unfold_without_end_are_refused() -> None:
    config = {"model_type": "gpt_neo", "attention_types": [[["global", "local"], 10**9]]}
    with pytest.raises(ew.EmbtieError, match="attention_types is 1,000,000,000"):
        ew.parameters(config)
