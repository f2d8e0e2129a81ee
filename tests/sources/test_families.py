"""Names differ by family and by prefix; the file and the whole model give the same matrices."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

import embtie_widgets as ew
from embtie_widgets.sources.architecture import resolve
from tests.sources.models import COMMON, GPT, LLAMA, edit_config, handmade, randomised, saved

MLP = {"intermediate_size": 16}
OPT = {"ffn_dim": 16, "max_position_embeddings": 32}
BLOOM = {"vocab_size": 32, "hidden_size": 8, "n_layer": 2, "n_head": 2}
MPT = {"vocab_size": 32, "d_model": 8, "n_layers": 2, "n_heads": 2, "max_seq_len": 32}
RWKV = {"attention_hidden_size": 8, "intermediate_size": 16}
SIZES = {"vocab_size": 32, "hidden_size": 8, "num_hidden_layers": 2}
NARROW = OPT | {"word_embed_proj_dim": 4, "do_layer_norm_before": False}

FAMILIES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "gpt2": (lambda: hf.GPT2LMHeadModel(hf.GPT2Config(**GPT)), "transformer.wte", "tied"),
    "neox": (
        lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**COMMON, **MLP)),
        "gpt_neox.embed_in",
        "embed_out",
    ),
    "opt": (
        lambda: hf.OPTForCausalLM(hf.OPTConfig(**COMMON, **OPT)),
        "model.decoder.embed_tokens",
        "tied",
    ),
    "opt narrow": (
        lambda: hf.OPTForCausalLM(hf.OPTConfig(**COMMON, **NARROW)),
        "model.decoder.embed_tokens",
        "tied",
    ),
    "bloom": (
        lambda: hf.BloomForCausalLM(hf.BloomConfig(**BLOOM)),
        "transformer.word_embeddings",
        "tied",
    ),
    "falcon": (
        lambda: hf.FalconForCausalLM(hf.FalconConfig(**COMMON)),
        "transformer.word_embeddings",
        "tied",
    ),
    "mpt": (lambda: hf.MptForCausalLM(hf.MptConfig(**MPT)), "transformer.wte", "tied"),
    "mamba": (
        lambda: hf.MambaForCausalLM(hf.MambaConfig(**SIZES, state_size=4)),
        "backbone.embeddings",
        "tied",
    ),
    "rwkv": (
        lambda: hf.RwkvForCausalLM(hf.RwkvConfig(**SIZES, **RWKV)),
        "rwkv.embeddings",
        "head",
    ),
    "phi": (
        lambda: hf.PhiForCausalLM(hf.PhiConfig(**COMMON, **MLP)),
        "model.embed_tokens",
        "lm_head",
    ),
    "gptj": (
        lambda: hf.GPTJForCausalLM(hf.GPTJConfig(**GPT, rotary_dim=2)),
        "transformer.wte",
        "lm_head",
    ),
    "olmo": (
        lambda: hf.OlmoForCausalLM(hf.OlmoConfig(**COMMON, **MLP)),
        "model.embed_tokens",
        "lm_head",
    ),
    "gemma": (
        lambda: hf.GemmaForCausalLM(hf.GemmaConfig(**COMMON, **MLP, head_dim=4)),
        "model.embed_tokens",
        "tied",
    ),
    "bert": (
        lambda: hf.BertForMaskedLM(hf.BertConfig(**COMMON, **MLP)),
        "bert.embeddings.word_embeddings",
        "tied",
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_file_and_the_whole_model_give_the_same_matrices(tmp_path: Path, family: str) -> None:
    make, name, head = FAMILIES[family]
    model = randomised(make())
    loaded = ew.load(saved(model, tmp_path))
    assert loaded.settings["tensors"]["input"] == f"{name}.weight"
    assert torch.equal(loaded.input, model.get_input_embeddings().weight)
    assert loaded.output is not None
    assert torch.equal(loaded.output, model.get_output_embeddings().weight)
    assert loaded.tied == ("tied" if head == "tied" else "untied")
    if head != "tied":
        assert loaded.settings["tensors"]["output"] == f"{head}.weight"
    live = ew.load(model)
    assert (live.tied, live.hashes) == (loaded.tied, loaded.hashes)


def test_a_file_without_prefix_is_read_the_same(tmp_path: Path) -> None:
    folder = saved(randomised(hf.GPT2LMHeadModel(hf.GPT2Config(**GPT))), tmp_path)
    before = ew.load(folder)
    path = folder / "model.safetensors"
    bare = {n.removeprefix("transformer."): v.clone() for n, v in load_file(path).items()}
    save_file(bare, path)
    after = ew.load(folder)
    assert after.settings["tensors"]["input"] == "wte.weight"
    assert (after.tied, after.hashes) == (before.tied, before.hashes)


def test_a_wrapped_models_doubled_prefix_is_read_the_same() -> None:
    layout = resolve({}, {"_orig_mod.module.model.embed_tokens.weight": (32, 8)})
    assert layout.input == "_orig_mod.module.model.embed_tokens.weight"


def test_a_narrow_embedding_keeps_its_own_width(tmp_path: Path) -> None:
    make, _, _ = FAMILIES["opt narrow"]
    loaded = ew.load(saved(randomised(make()), tmp_path))
    assert loaded.output is not None
    assert tuple(loaded.input.shape) == tuple(loaded.output.shape) == (32, 4)


@pytest.mark.parametrize("family", ["phi", "gptj"])
def test_a_heads_bias_is_shown(tmp_path: Path, family: str) -> None:
    loaded = ew.load(saved(randomised(FAMILIES[family][0]()), tmp_path))
    assert loaded.scales["head bias"] == "lm_head.bias"


@pytest.mark.parametrize("family", ["phi", "gptj"])
def test_a_bias_without_a_matrix_of_its_own_is_no_output_matrix(
    tmp_path: Path, family: str
) -> None:
    kind, config = {
        "phi": (hf.PhiForCausalLM, hf.PhiConfig(**COMMON, **MLP, tie_word_embeddings=True)),
        "gptj": (hf.GPTJForCausalLM, hf.GPTJConfig(**GPT, rotary_dim=2, tie_word_embeddings=True)),
    }[family]
    model = randomised(kind(config))
    loaded = ew.load(saved(model, tmp_path))
    assert loaded.tied == "tied"
    assert loaded.scales["head bias"] == "lm_head.bias"
    assert torch.equal(loaded.input, model.get_input_embeddings().weight)


def gemma3() -> Any:
    text = LLAMA | {"head_dim": 4}
    vision = COMMON | MLP | {"image_size": 28, "patch_size": 14}
    vision.pop("vocab_size")
    config = hf.Gemma3Config(
        text_config=text,
        vision_config=vision,
        mm_tokens_per_image=4,
        image_token_index=5,
        boi_token_index=3,
        eoi_token_index=4,
    )
    return randomised(hf.Gemma3ForConditionalGeneration(config))


@pytest.mark.parametrize("only_inside", [False, True])
def test_the_flag_and_sizes_of_a_nested_text_config_count(
    tmp_path: Path, only_inside: bool
) -> None:
    model = gemma3()
    folder = saved(model, tmp_path)
    if only_inside:
        inner = json.loads((folder / "config.json").read_text())["text_config"]
        inner["tie_word_embeddings"] = True
        edit_config(folder, text_config=inner, tie_word_embeddings=None)
    loaded = ew.load(folder)
    assert loaded.settings["tensors"]["input"] == "language_model.model.embed_tokens.weight"
    assert torch.equal(loaded.input, model.get_input_embeddings().weight)
    assert (loaded.tied, len(loaded.input)) == ("tied", 32)
    assert loaded.scales["embedding multiplier sqrt(d)"] == pytest.approx(8**0.5)


def test_multipliers_are_listed_and_not_applied(tmp_path: Path) -> None:
    config = hf.GraniteConfig(**LLAMA, logits_scaling=8.0, embedding_multiplier=12.0)
    model = randomised(hf.GraniteForCausalLM(config))
    loaded = ew.load(saved(model, tmp_path))
    assert loaded.scales == {"logits_scaling": 8.0, "embedding_multiplier": 12.0}
    assert torch.equal(loaded.input, model.model.embed_tokens.weight)


FOREIGN = {
    "model.decoder.embed_positions.weight": (34, 8),
    "model.decoder.project_in.weight": (8, 4),
    "transformer.wpe.weight": (32, 8),
    "vision_tower.embeddings.position_embedding.weight": (40, 8),
    "vision_tower.embeddings.patch_embedding.weight": (8, 3, 14, 14),
    "audio_tower.embed_tokens.weight": (64, 8),
}


def test_position_patch_and_projection_tables_are_never_offered() -> None:
    with pytest.raises(ew.EmbtieError, match="no name comes close"):
        resolve({}, FOREIGN)
    assert resolve({}, FOREIGN | {"m.wte.weight": (32, 8)}).input == "m.wte.weight"


def test_an_unknown_layout_is_refused_with_the_closest_names(tmp_path: Path) -> None:
    odd = {"core.tokens_table.weight": torch.ones(32, 8), "core.dense.weight": torch.ones(8, 8)}
    with pytest.raises(ew.EmbtieError, match=r"core\.tokens_table\.weight") as caught:
        ew.load(handmade(tmp_path, {"model_type": "odd"}, **odd))
    assert "dense" not in str(caught.value)
    assert ".npy" in caught.value.hint


def test_two_candidates_are_refused_rather_than_guessed() -> None:
    with pytest.raises(ew.EmbtieError, match="Several tensors"):
        resolve({}, {"a.embed_tokens.weight": (32, 8), "b.embed_tokens.weight": (32, 8)})


def test_an_everyday_head_name_must_fit_the_vocabulary() -> None:
    shapes = {"m.embed_tokens.weight": (32, 8), "head.weight": (5, 8)}
    assert resolve({"vocab_size": 32}, shapes).output is None
    assert resolve({"vocab_size": 32}, shapes | {"head.weight": (32, 8)}).output == "head.weight"
