"""The table of tied or not, on every kind of file; and the configuration's word beside it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
import transformers as hf
from safetensors.torch import save_file

import embtie_widgets as ew
from tests.sources.models import GPT, edit_config, handmade, llama, randomised, saved

CAUSAL = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 32}
E = torch.randn(32, 8, generator=torch.Generator().manual_seed(0))
U = torch.randn(32, 8, generator=torch.Generator().manual_seed(1))
EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"
Write = Callable[[Path, dict[str, torch.Tensor], "bool | None"], Any]


def config_of(folder: Path, tied: bool | None) -> None:
    said = {} if tied is None else {"tie_word_embeddings": tied}
    (folder / "config.json").write_text(json.dumps(CAUSAL | said))


def single(folder: Path, tensors: dict[str, torch.Tensor], tied: bool | None) -> Path:
    config_of(folder, tied)
    save_file(
        {name: value.clone() for name, value in tensors.items()}, folder / "model.safetensors"
    )
    return folder


def sharded(folder: Path, tensors: dict[str, torch.Tensor], tied: bool | None) -> Path:
    config_of(folder, tied)
    files = {name: f"model-{i}.safetensors" for i, name in enumerate(tensors)}
    for name, file in files.items():
        save_file({name: tensors[name].clone()}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
    return folder


def pickled(folder: Path, tensors: dict[str, torch.Tensor], tied: bool | None) -> Path:
    config_of(folder, tied)
    torch.save(tensors, folder / "pytorch_model.bin")
    return folder


def in_memory(folder: Path, tensors: dict[str, torch.Tensor], tied: bool | None) -> Any:
    both = {EMBED, HEAD} <= tensors.keys()
    model = llama(tied=not both)
    model.config.tie_word_embeddings = bool(tied)
    for name, value in tensors.items():
        model.get_parameter(name).data = value.clone()
    if not both:
        model.lm_head.weight = model.model.embed_tokens.weight
    return model


def gguf_file(folder: Path, tensors: dict[str, torch.Tensor], tied: bool | None) -> Path:
    writer = gguf.GGUFWriter(folder / "m.gguf", "llama")
    for name, value in tensors.items():
        named = {EMBED: "token_embd.weight", HEAD: "output.weight"}[name]
        writer.add_tensor(named, value.numpy().astype(np.float32))
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    return folder / "m.gguf"


FOLDERS = [single, sharded, pickled]
KINDS = [*FOLDERS, in_memory, gguf_file]


@pytest.mark.parametrize("flag", [True, False, None])
@pytest.mark.parametrize("write", KINDS)
def test_two_different_matrices_are_untied(tmp_path: Path, write: Write, flag: bool | None) -> None:
    loaded = ew.load(write(tmp_path, {EMBED: E, HEAD: U}, flag))
    assert loaded.tied == "untied"
    assert torch.equal(loaded.input, E)
    assert torch.equal(loaded.output, U)
    disagrees = flag is True and write is not gguf_file
    assert any("says tied" in note for note in loaded.notes) is disagrees


@pytest.mark.parametrize("flag", [True, False, None])
@pytest.mark.parametrize("write", KINDS)
def test_two_equal_matrices_are_tied_and_stored_twice(
    tmp_path: Path, write: Write, flag: bool | None
) -> None:
    loaded = ew.load(write(tmp_path, {EMBED: E, HEAD: E}, flag))
    assert (loaded.tied, loaded.stored_copies) == ("tied", 2)
    assert any("stored twice" in note for note in loaded.notes)
    disagrees = write is not gguf_file and (flag is False or (write is in_memory and not flag))
    assert any("says untied" in note for note in loaded.notes) is disagrees


@pytest.mark.parametrize("write", KINDS)
def test_one_matrix_is_tied_where_the_configuration_says_so(tmp_path: Path, write: Write) -> None:
    loaded = ew.load(write(tmp_path, {EMBED: E}, True))
    assert (loaded.tied, loaded.stored_copies) == ("tied", 1)
    assert loaded.output is loaded.input


@pytest.mark.parametrize("write", FOLDERS)
def test_one_matrix_under_the_heads_name_counts_as_well(tmp_path: Path, write: Write) -> None:
    loaded = ew.load(write(tmp_path, {HEAD: U}, True))
    assert loaded.tied == "tied"
    assert torch.equal(loaded.input, U)


@pytest.mark.parametrize("flag", [False, None])
@pytest.mark.parametrize("write", FOLDERS)
def test_one_matrix_alone_is_input_only(tmp_path: Path, write: Write, flag: bool | None) -> None:
    loaded = ew.load(write(tmp_path, {EMBED: E}, flag))
    assert (loaded.tied, loaded.output) == ("input only", None)


@pytest.mark.parametrize("flag", [True, False, None])
def test_a_listed_head_without_its_file_is_unavailable(tmp_path: Path, flag: bool | None) -> None:
    folder = sharded(tmp_path, {EMBED: E, HEAD: U}, flag)
    (folder / "model-1.safetensors").unlink()
    loaded = ew.load(folder)
    assert (loaded.tied, loaded.output) == ("head unavailable", None)


@pytest.mark.parametrize("write", FOLDERS)
@pytest.mark.parametrize(("flag", "word"), [(True, "tied"), (False, "untied")])
def test_the_configurations_word_is_written_beside_the_status(
    tmp_path: Path, write: Write, flag: bool, word: str
) -> None:
    loaded = ew.load(write(tmp_path, {EMBED: E, HEAD: U}, flag))
    assert (loaded.settings["tied"], loaded.settings["config says"]) == ("untied", word)


def test_a_model_in_memory_keeps_its_configurations_word_although_it_shares() -> None:
    model = llama(tied=True)
    model.config.tie_word_embeddings = False
    loaded = ew.load(model)
    assert (loaded.tied, loaded.settings["config says"]) == ("tied", "untied")
    assert any("shares one matrix" in note for note in loaded.notes)


def test_a_pair_of_files_and_a_gguf_file_have_no_configuration(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", E.numpy())
    np.save(tmp_path / "u.npy", U.numpy())
    pair = ew.load((tmp_path / "e.npy", tmp_path / "u.npy"))
    assert (pair.tied, pair.settings["config says"]) == ("untied", "nothing")
    loaded = ew.load(gguf_file(tmp_path, {EMBED: E}, None))
    assert loaded.settings["config says"].startswith("nothing")


@pytest.mark.parametrize("prefix", ["transformer.", ""])
def test_a_silent_configuration_means_the_documented_default(tmp_path: Path, prefix: str) -> None:
    folder = saved(randomised(hf.GPT2LMHeadModel(hf.GPT2Config(**GPT))), tmp_path)
    edit_config(folder, tie_word_embeddings=None)
    named = {f"{prefix}wte.weight": E, f"{prefix}h.0.ln_1.weight": torch.ones(8)}
    save_file(named, folder / "model.safetensors")
    loaded = ew.load(folder)
    assert loaded.tied == "tied"
    assert loaded.settings["config says"] == "nothing (the default of gpt2 is tied)"
    assert any("does not say" in note for note in loaded.notes)


def test_a_silent_configuration_of_an_untied_family_stays_input_only(tmp_path: Path) -> None:
    loaded = ew.load(single(tmp_path, {EMBED: E}, None))
    assert loaded.tied == "input only"
    assert loaded.settings["config says"] == "nothing (the default of llama is untied)"
    assert any("treat as tied" in note for note in loaded.notes)


def test_a_silent_configuration_of_an_unknown_family_says_nothing(tmp_path: Path) -> None:
    config = {"architectures": ["OddForCausalLM"], "model_type": "odd"}
    loaded = ew.load(handmade(tmp_path, config, **{EMBED: E}))
    assert (loaded.tied, loaded.settings["config says"]) == ("input only", "nothing")


def test_a_default_never_overrules_what_is_stored(tmp_path: Path) -> None:
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2"}
    loaded = ew.load(handmade(tmp_path, config, **{"wte.weight": E, HEAD: U}))
    assert (loaded.tied, loaded.notes) == ("untied", [])


def test_a_flag_three_levels_deep_is_the_language_models_own(tmp_path: Path) -> None:
    deep = {"model_type": "llama", "vocab_size": 32, "tie_word_embeddings": True}
    config = {
        "architectures": ["OmniForConditionalGeneration"],
        "model_type": "omni",
        "tie_word_embeddings": False,
        "vision_config": {"vocab_size": 9, "tie_word_embeddings": False},
        "thinker_config": {"model_type": "thinker", "text_config": {"llm_config": deep}},
    }
    loaded = ew.load(handmade(tmp_path, config, **{"thinker." + EMBED: E}))
    assert (loaded.tied, loaded.settings["config says"]) == ("tied", "tied")
    assert any("differs between levels" in note for note in loaded.notes)


@pytest.mark.parametrize("junk", ["true", 1, [True], {"value": True}])
def test_a_flag_that_is_no_flag_says_nothing(tmp_path: Path, junk: Any) -> None:
    config = {"architectures": ["OddForCausalLM"], "model_type": "odd", "tie_word_embeddings": junk}
    assert ew.load(handmade(tmp_path, config, **{EMBED: E})).settings["config says"] == "nothing"


def test_a_choice_is_told_from_what_is_stored(tmp_path: Path) -> None:
    folder = saved(llama(kind=hf.LlamaModel), tmp_path)
    chosen = ew.load(ew.ModelRef(str(folder), treat_as_tied=True))
    assert (chosen.settings["treat_as_tied"], chosen.settings["tied by choice"]) == (True, True)
    stored = ew.load(ew.ModelRef("nano-tied", treat_as_tied=True))
    assert (stored.settings["treat_as_tied"], stored.settings["tied by choice"]) == (True, False)


def test_fewer_rows_than_the_vocabulary_may_be_a_part_of_the_matrix(tmp_path: Path) -> None:
    loaded = ew.load(handmade(tmp_path, CAUSAL | {"vocab_size": 64}, **{EMBED: E, HEAD: U}))
    assert any("one part of a matrix" in note for note in loaded.notes)


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("GPT2LMHeadModel", True),
        ("BertForMaskedLM", True),
        ("BertForPreTraining", True),
        ("T5ForConditionalGeneration", True),
        ("SeamlessM4TForTextToText", True),
        ("DiffusionGemmaForBlockDiffusion", True),
        ("LlamaModel", False),
        ("LlamaForSequenceClassification", False),
        ("BertForTokenClassification", False),
    ],
)
def test_the_named_class_tells_whether_there_is_a_head(
    tmp_path: Path, name: str, head: bool
) -> None:
    config = {"architectures": [name], "tie_word_embeddings": True, "vocab_size": 32}
    loaded = ew.load(handmade(tmp_path, config, **{EMBED: E}))
    assert loaded.tied == ("tied" if head else "input only")


@pytest.mark.parametrize(
    ("value", "told"), [(1, "1"), ("true", '"true"'), ([True], "no short word or number")]
)
def test_a_flag_that_is_neither_true_nor_false_is_named(
    value: Any, told: str, tmp_path: Path
) -> None:
    single(tmp_path, {EMBED: E}, None)
    edit_config(tmp_path, model_type="unheard-of", tie_word_embeddings=value)
    note = f"tie_word_embeddings is {told}, neither true nor false, so it was not followed."
    loaded = ew.load(tmp_path)
    assert loaded.settings["config says"] == "nothing"
    assert f"In the configuration {note}" in loaded.notes
    assert any(note in told for told in ew.parameters(tmp_path).notes)


@pytest.mark.parametrize("value", [True, False, None])
def test_a_plain_flag_or_none_is_no_oddity(value: bool | None, tmp_path: Path) -> None:
    single(tmp_path, {EMBED: E}, value)
    assert not any("neither true nor false" in note for note in ew.load(tmp_path).notes)
