"""What cannot be opened as a whole model is refused in words, before anything runs or grows."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import whole
from embtie_widgets.sources.models import let_go, open_model
from tests.sources.models import edit_config, edit_tensors, llama, randomised, saved
from tests.sources.tiny import tiny


@pytest.fixture(autouse=True)
def nothing_kept() -> Any:
    let_go()
    yield
    let_go()


def refused(ref: Any, **more: Any) -> str:
    """What the refusal says; it names no folder but the model's own."""
    with pytest.raises(EmbtieError) as caught:
        open_model(ref, **more)
    words = f"{caught.value.message} {caught.value.hint}"
    assert os.sep + "tmp" not in words
    assert "Traceback" not in words
    return words


@pytest.mark.parametrize(
    "tensor",
    [
        "model.norm.weight",
        "model.layers.1.mlp.up_proj.weight",
        "model.layers.0.self_attn.q_proj.weight",
    ],
)
def test_a_checkpoint_without_some_of_its_weights_is_refused_and_they_are_named(tmp_path, tensor):
    folder = saved(llama(), tmp_path / "lacking")
    edit_tensors(folder, drop=(tensor,))
    assert tensor in refused(folder)


def test_many_weights_that_lack_are_counted(tmp_path):
    folder = saved(llama(), tmp_path / "lacking")
    lost = [name for name in llama().state_dict() if "layernorm" in name]
    edit_tensors(folder, drop=tuple(lost))
    words = refused(folder)
    assert "lacks 4 of its weights" in words
    assert "drawn at random" in words


def test_a_missing_shard_is_refused(tmp_path):
    folder = saved(llama(), tmp_path / "parts", max_shard_size="3KB")
    shards = sorted(folder.glob("*.safetensors"))
    shards[1].unlink()
    assert shards[1].name in refused(folder)


def test_a_cut_off_file_is_refused(tmp_path):
    folder = saved(llama(), tmp_path / "cut")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    assert "cut short" in refused(folder)


def test_an_encoder_decoder_model_is_refused_in_words(tmp_path):
    assert "encoder-decoder" in refused(saved(tiny("t5", True), tmp_path / "t5"))
    assert "encoder-decoder" in refused(tiny("bart", True))


def test_a_masked_model_is_refused_in_words(tmp_path):
    config = hf.BertConfig(
        vocab_size=32, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16,
    )  # fmt: skip
    model = randomised(hf.BertForMaskedLM(config))
    assert "masked" in refused(saved(model, tmp_path / "bert"))
    assert "masked" in refused(model)


def test_a_model_without_head_is_refused_in_words(tmp_path):
    assert "no output matrix" in refused(saved(llama(kind=hf.LlamaModel), tmp_path / "base"))
    assert "no output matrix" in refused(llama(kind=hf.LlamaModel))


def test_a_classifier_gets_no_head_that_it_never_had(tmp_path):
    model = llama(kind=hf.LlamaForSequenceClassification)
    assert "no output matrix" in refused(saved(model, tmp_path / "classifier"))


def test_a_type_that_transformers_does_not_build_is_refused(tmp_path):
    folder = saved(llama(), tmp_path / "odd")
    edit_config(folder, model_type="my_own_model")
    assert "my_own_model" in refused(folder)


def test_a_quantised_checkpoint_is_refused(tmp_path):
    folder = saved(llama(), tmp_path / "packed")
    edit_config(folder, quantization_config={"quant_method": "gptq", "bits": 4})
    assert "quantised" in refused(folder)


def test_packed_tensors_are_refused_without_any_word_in_the_configuration(tmp_path):
    folder = saved(llama(), tmp_path / "packed")
    packed = {f"model.layers.{i}.mlp.up_proj.qweight": torch.ones(4, 4).int() for i in (0, 1)}
    edit_tensors(folder, **packed)
    assert "quantised" in refused(folder)


def test_matrix_files_are_no_whole_model(tmp_path):
    path = tmp_path / "input.npy"
    np.save(path, np.ones((4, 3), np.float32))
    assert "not a whole model" in refused(path)
    assert "not a whole model" in refused(ew.ModelRef(str(path), output_file=str(path)))


def test_a_checkpoint_of_matrices_alone_is_no_whole_model():
    assert "not a whole model" in refused(ew.ModelRef("nano-tied", revision="step-000050"))


def test_a_name_that_is_nothing_is_refused():
    assert "no folder or file 'nothing-here'" in refused("./nothing-here")
    assert "cannot be opened from a int" in refused(7)


def test_code_of_a_repository_is_never_run(tmp_path):
    model = llama()
    folder = saved(model, tmp_path / "own-code")
    marker = tmp_path / "ran"
    (folder / "modeling_own.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    (folder / "configuration_own.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    edit_config(
        folder,
        auto_map={
            "AutoConfig": "configuration_own.OwnConfig",
            "AutoModelForCausalLM": "modeling_own.OwnModel",
        },
    )
    opened = open_model(folder)
    assert type(opened.model) is hf.LlamaForCausalLM
    assert sum("not run" in note for note in opened.notes) == 1
    assert not marker.exists()


def test_kernels_and_adapters_that_a_configuration_names_are_left_aside(tmp_path):
    folder = saved(llama(), tmp_path / "named")
    edit_config(folder, _attn_implementation="someone/kernel", attn_implementation="someone/kernel")
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "someone/model"}')
    (folder / "generation_config.json").write_text("no json")
    assert open_model(folder).model.config._attn_implementation in ("sdpa", "eager")


class _Runs:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("by_torch", [True, False])
def test_a_pickle_that_would_run_a_command_is_refused_and_runs_nothing(tmp_path, by_torch):
    folder, marker = saved(llama(), tmp_path / "hostile"), tmp_path / "ran"
    (folder / "model.safetensors").unlink()
    content = {**llama().state_dict(), "evil": _Runs(marker)}
    if by_torch:
        torch.save(content, folder / "pytorch_model.bin")
    else:
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"evil": _Runs(marker)}))
    refused(folder)
    assert not marker.exists()


@pytest.mark.parametrize(
    "sizes",
    [
        {"intermediate_size": 900_000_000},
        {"vocab_size": 900_000_000},
        {"hidden_size": 900_000_000, "num_attention_heads": 1, "head_dim": 4},
        {"num_hidden_layers": 1000},
        {"num_hidden_layers": 10**9},
        {"num_hidden_layers": "many"},
        {"hidden_size": -8},
        {"hidden_act": "no such thing"},
    ],
)
def test_absurd_sizes_in_a_configuration_are_refused_before_memory_is_taken(
    tmp_path, monkeypatch, sizes
):
    folder = saved(llama(), tmp_path / "absurd")
    edit_config(folder, **sizes)
    monkeypatch.setattr(whole, "from_pretrained", None)
    refused(folder)


def test_shapes_that_differ_from_the_configuration_are_refused_by_name(tmp_path):
    folder = saved(llama(), tmp_path / "wrong")
    edit_tensors(folder, **{"model.norm.weight": torch.ones(9)})
    words = refused(folder)
    assert "model.norm.weight" in words
    assert "shapes" in words


def test_a_gguf_file_of_nothing_known_is_refused(tmp_path):
    path = tmp_path / "odd.gguf"
    path.write_bytes(b"GGUF" + bytes(200))
    assert "odd.gguf" in refused(path)


def test_a_torch_module_that_is_no_transformers_model_is_refused():
    assert "no model of transformers" in refused(torch.nn.Linear(2, 2))
