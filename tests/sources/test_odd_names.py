"""Names that tools put around, beside and instead of the two matrices."""

from pathlib import Path
from typing import Any

import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.sources import families
from embtie_widgets.sources.architecture import resolve
from tests.sources.models import handmade

CAUSAL = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 32}
EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"
BLOCKS = {f"model.layers.{i}.mlp.up_proj.weight": (8, 8) for i in range(3)}
PLAIN = {EMBED: (32, 8), HEAD: (32, 8), "model.norm.weight": (8,), **BLOCKS}


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    "wrapper",
    [
        "_orig_mod.",
        "module.",
        "model.",
        "module._orig_mod.",
        "_fsdp_wrapped_module.",
        "_forward_module.",
        "base_model.model.",
        "state.model.",
    ],
)
def test_what_training_tools_put_in_front_changes_nothing(wrapper: str) -> None:
    layout = resolve(CAUSAL, {wrapper + name: shape for name, shape in PLAIN.items()})
    assert (layout.input, layout.output) == (wrapper + EMBED, wrapper + HEAD)
    assert (layout.layers, layout.layer_count) == (f"{wrapper}model.layers", 3)
    assert layout.final_norm == f"{wrapper}model.norm.weight"


def test_a_wrapped_headless_model_stays_headless() -> None:
    for name in ("embed_tokens.weight", "module.embed_tokens.weight", "_orig_mod.wte.weight"):
        assert not resolve({}, {name: (32, 8)}).has_head


def test_wrappers_between_the_parts_of_a_name_change_nothing() -> None:
    inside = "model._fsdp_wrapped_module.embed_tokens.weight"
    layout = resolve(CAUSAL, {inside: (32, 8), "lm_head._orig_mod.weight": (32, 8)})
    assert (layout.input, layout.output) == (inside, "lm_head._orig_mod.weight")


MEGATRON = {
    "language_model.embedding.word_embeddings.weight": (32, 8),
    "language_model.embedding.position_embeddings.weight": (64, 8),
    "language_model.encoder.layers.0.input_norm.weight": (8,),
    "language_model.encoder.final_norm.weight": (8,),
    "language_model.output_layer.weight": (32, 8),
}
MCORE = {
    "embedding.word_embeddings.weight": (32, 8),
    "decoder.layers.0.mlp.linear_fc1.layer_norm_weight": (8,),
    "decoder.final_layernorm.weight": (8,),
    "output_layer.weight": (32, 8),
}


@pytest.mark.parametrize(("names", "norm"), [(MEGATRON, "final_norm"), (MCORE, "final_layernorm")])
def test_the_names_of_megatron_are_known(names: dict[str, tuple[int, ...]], norm: str) -> None:
    layout = resolve({"padded_vocab_size": 32}, names)
    assert layout.input is not None
    assert layout.input.endswith("word_embeddings.weight")
    assert layout.output is not None
    assert layout.output.endswith("output_layer.weight")
    assert (layout.norm or "").endswith(norm)


def test_one_slice_of_a_split_vocabulary_is_named_as_such(tmp_path: Path) -> None:
    slices = {name: random(*shape) for name, shape in MCORE.items()}
    loaded = ew.load(handmade(tmp_path, {"padded_vocab_size": 64}, **slices))
    assert any("names 64 tokens" in note and "32 rows" in note for note in loaded.notes)


GUESSING = {
    "model.mtp.embed_tokens.weight": (32, 8),
    "mtp.lm_head.weight": (32, 8),
    "model.layers.3.embed_tokens.weight": (32, 8),
    "model.layers.3.shared_head.head.weight": (32, 8),
    "model.layers.3.shared_head.norm.weight": (8,),
    "medusa_head.0.linear.weight": (8, 8),
    "medusa_head.lm_head.weight": (32, 8),
    "eagle.embed_tokens.weight": (32, 8),
    "draft_model.lm_head.weight": (32, 8),
    "nextn_predict.lm_head.weight": (32, 8),
}
ELSEWHERE = {
    "vision_tower.embeddings.word_embeddings.weight": (32, 8),
    "model.visual.patch_embed.proj.weight": (8, 3, 2, 2),
    "audio_tower.embed_tokens.weight": (64, 8),
    "model.embed_vision.embedding.weight": (64, 8),
    "talker.model.embed_tokens.weight": (40, 8),
    "vqmodel.quantize.embedding.weight": (40, 8),
    "codec_model.quantizer.embedding.weight": (40, 8),
    "model.embed_tokens_per_layer.weight": (32, 16),
    "model.embed_positions.weight": (64, 8),
    "ema.model.embed_tokens.weight": (32, 8),
    "v_head.summary.weight": (1, 8),
    "reward_head.weight": (1, 8),
}


@pytest.mark.parametrize("extra", [*GUESSING, *ELSEWHERE])
def test_no_other_part_is_taken_for_the_language_models_own(extra: str) -> None:
    shape = (GUESSING | ELSEWHERE)[extra]
    layout = resolve(CAUSAL | {"num_hidden_layers": 3}, {**PLAIN, extra: shape})
    assert (layout.input, layout.output, layout.layers) == (EMBED, HEAD, "model.layers")
    assert layout.layer_count == 3


@pytest.mark.parametrize("extra", [*GUESSING, *ELSEWHERE])
def test_no_other_part_stands_in_for_a_matrix_that_is_not_there(extra: str) -> None:
    shape = (GUESSING | ELSEWHERE)[extra]
    layout = resolve(CAUSAL, {EMBED: (32, 8), extra: shape})
    assert (layout.input, layout.output) == (EMBED, None)


def test_three_copies_of_a_shared_table_are_one_input() -> None:
    names = ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    layout = resolve({"model_type": "t5"}, dict.fromkeys((*names, HEAD), (32, 8)))
    assert (layout.input, layout.output) == ("decoder.embed_tokens.weight", HEAD)


def test_a_decoder_with_a_vocabulary_of_its_own_is_the_input() -> None:
    names = {"encoder.embed_tokens.weight": (50, 8), "decoder.embed_tokens.weight": (32, 8)}
    assert resolve({}, names).input == "decoder.embed_tokens.weight"


PACKED = {
    "GPTQ": {"qweight": (1, 32), "qzeros": (1, 4), "scales": (1, 32), "g_idx": (8,)},
    "AWQ": {"qweight": (8, 4), "qzeros": (1, 4), "scales": (1, 32)},
    "bitsandbytes 4": {"weight": (128, 1), "weight.absmax": (4,), "weight.quant_map": (16,)},
    "bitsandbytes 8": {"weight": (32, 8), "SCB": (32,)},
    "compressed-tensors": {"weight_packed": (32, 1), "weight_scale": (32, 1), "weight_shape": (2,)},
    "FP8 by tensor": {"weight": (32, 8), "weight_scale": (1,), "input_scale": (1,)},
    "FP8 by block": {"weight": (32, 8), "weight_scale_inv": (1, 1)},
    "MLX": {"weight": (32, 1), "scales": (32, 1), "biases": (32, 1)},
    "HQQ": {"W_q": (32, 4), "scale": (32,), "zero": (32,)},
    "EXL2": {"q_weight": (1, 32), "q_scale": (1, 4), "q_invperm": (8,)},
    "EXL3": {"trellis": (2, 4, 16), "suh": (8,), "svh": (32,)},
    "QuIP#": {"Qidxs": (32, 1), "SU": (8,), "SV": (32,)},
    "AQLM": {"codes": (32, 1, 1), "codebooks": (1, 16, 1, 8), "scales": (32, 1, 1, 1)},
    "quanto": {"weight._data": (32, 8), "weight._scale": (32, 1)},
    "weight norm": {"parametrizations.weight.original0": (32, 1),
                    "parametrizations.weight.original1": (32, 8)},
}  # fmt: skip


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", PACKED)
def test_a_packed_head_is_unavailable_whatever_the_packing(
    tmp_path: Path, kind: str, tied: bool
) -> None:
    parts = {f"lm_head.{name}": random(*shape) for name, shape in PACKED[kind].items()}
    config = CAUSAL | {"tie_word_embeddings": tied}
    loaded = ew.load(handmade(tmp_path, config, **{EMBED: random(32, 8)}, **parts))
    assert (loaded.tied, loaded.output) == ("head unavailable", None)
    assert any("quantised" in note for note in loaded.notes)


@pytest.mark.parametrize("kind", PACKED)
def test_a_packed_input_is_refused_whatever_the_packing(tmp_path: Path, kind: str) -> None:
    parts = {f"model.embed_tokens.{name}": random(*s) for name, s in PACKED[kind].items()}
    with pytest.raises(ew.EmbtieError, match="quantised"):
        ew.load(handmade(tmp_path, CAUSAL, **parts, **{HEAD: random(32, 8)}))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.uint8])
def test_eight_bits_without_their_scales_are_no_matrix(tmp_path: Path, dtype: torch.dtype) -> None:
    eight = random(32, 8).to(dtype)
    loaded = ew.load(handmade(tmp_path / "a", CAUSAL, **{EMBED: random(32, 8), HEAD: eight}))
    assert loaded.tied == "head unavailable"
    with pytest.raises(ew.EmbtieError, match="quantised"):
        ew.load(handmade(tmp_path / "b", CAUSAL, **{EMBED: eight, HEAD: random(32, 8)}))


ADAPTED = {
    "lm_head.base_layer.weight": (32, 8),
    "lm_head.lora_A.default.weight": (2, 8),
    "lm_head.lora_B.default.weight": (32, 2),
}


def test_a_head_with_an_adapter_that_is_not_merged_is_unavailable(tmp_path: Path) -> None:
    parts = {name: random(*shape) for name, shape in ADAPTED.items()}
    loaded = ew.load(handmade(tmp_path, CAUSAL, **{EMBED: random(32, 8)}, **parts))
    assert (loaded.tied, loaded.output) == ("head unavailable", None)
    assert any("not merged" in note for note in loaded.notes)


def test_an_input_with_an_adapter_that_is_not_merged_is_refused(tmp_path: Path) -> None:
    parts = {
        "model.embed_tokens.base_layer.weight": random(32, 8),
        "model.embed_tokens.lora_embedding_A.default": random(2, 32),
        "model.embed_tokens.lora_embedding_B.default": random(8, 2),
    }
    with pytest.raises(ew.EmbtieError, match="not merged"):
        ew.load(handmade(tmp_path, CAUSAL, **parts, **{HEAD: random(32, 8)}))


def test_adapters_of_the_body_do_not_matter(tmp_path: Path) -> None:
    body = {"model.layers.0.mlp.up_proj.lora_A.weight": random(2, 8)}
    loaded = ew.load(
        handmade(tmp_path, CAUSAL, **{EMBED: random(32, 8), HEAD: random(32, 8)}, **body)
    )
    assert loaded.tied == "tied"


def test_of_a_module_saved_in_full_the_trained_copy_counts() -> None:
    whole = {
        "base_model.model.lm_head.original_module.weight": (32, 8),
        "base_model.model.lm_head.modules_to_save.default.weight": (32, 8),
        "base_model.model." + EMBED: (32, 8),
    }
    layout = resolve(CAUSAL, whole)
    assert layout.output == "base_model.model.lm_head.modules_to_save.default.weight"
    assert not layout.quantised


@pytest.mark.parametrize("size", [32, None])
def test_of_two_tables_the_one_that_holds_the_vocabulary_counts(size: int | None) -> None:
    shapes: dict[str, Any] = {"a.embed.weight": (5, 8), "b.embed.weight": (32, 8)}
    if size is None:
        with pytest.raises(ew.EmbtieError, match="Several tensors"):
            resolve({}, shapes)
    else:
        assert resolve({"vocab_size": size}, shapes).input == "b.embed.weight"


ODD = {
    "core.tokens_table.weight": (32, 8),
    "core.out_table.weight": (32, 8),
    "core.stack.0.mix.weight": (8, 8),
    "core.stack.1.mix.weight": (8, 8),
    "core.closing.weight": (8,),
}


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "_registry", dict(families._registry))


def test_an_unknown_layout_shows_the_lines_that_register_it(registered: None) -> None:
    with pytest.raises(ew.EmbtieError) as caught:
        resolve({"model_type": "odd"}, ODD)
    assert "core.tokens_table.weight" in caught.value.message
    call = 'ew.register_family("odd", input="core.tokens_table", output="core.out_table")'
    assert call in caught.value.hint
    assert "/" not in str(caught.value)
    exec(call, {"ew": ew})
    layout = resolve({"model_type": "odd"}, ODD)
    assert (layout.input, layout.output) == ("core.tokens_table.weight", "core.out_table.weight")
    assert (layout.layers, layout.layer_count) == ("core.stack", 2)


@pytest.mark.parametrize(
    ("names", "output"),
    [
        (["core.tokenz", "core.unemb"], True),
        (["a", "b"], False),
        (["transformer.tok"], False),
        (["wibble"], False),
        (['a"b.embx', "out"], True),
        (["word_emb", "position_emb"], False),
        (["m.embeddingz", "m.headz"], True),
    ],
    ids=lambda value: "" if isinstance(value, bool) else "+".join(value),
)
def test_the_lines_of_the_message_run_as_they_stand(
    registered: None, tmp_path: Path, names: list[str], output: bool
) -> None:
    tensors = {f"{name}.weight": random(32, 8) for name in names}
    tensors |= {"between.weight": random(8, 8), "m.blocks.0.w.weight": random(64, 8)}
    folder = handmade(tmp_path, {"model_type": "odd", "vocab_size": 32}, **tensors)
    with pytest.raises(ew.EmbtieError) as caught:
        ew.load(folder)
    line = caught.value.hint.split("again: ")[1].split("; ew.load(...)")[0]
    exec(line, {})
    loaded = ew.load(folder)
    assert loaded.settings["tensors"]["input"] == f"{names[0]}.weight"
    assert loaded.settings["tensors"].get("output") == (f"{names[1]}.weight" if output else None)


@pytest.mark.parametrize("number", ["\u00b2", "\u0663", "9" * 5000, "1" * 10])
def test_a_block_with_an_odd_number_is_no_crash(number: str) -> None:
    held = {"model.embed_tokens.weight": (32, 8), f"model.layers.{number}.w.weight": (8, 8)}
    layout = resolve({"model_type": "llama"}, held)
    assert (layout.input, layout.layer_count) == ("model.embed_tokens.weight", 0)


def test_a_registered_family_is_loaded_and_listed(registered: None, tmp_path: Path) -> None:
    ew.register_family(
        "odd", input="tokens_table.weight", output="out_table", norm="closing", tied=True
    )
    tensors = {name: random(*shape) for name, shape in ODD.items() if "out" not in name}
    loaded = ew.load(handmade(tmp_path, {"model_type": "odd"}, **tensors))
    assert (loaded.tied, loaded.settings["tensors"]["final_norm"]) == (
        "tied",
        "core.closing.weight",
    )
    row = next(row for row in ew.supported_families().rows if row.family == "odd")
    assert (row.input, row.tied_default) == ("tokens_table", True)


@pytest.mark.parametrize("wrong", [{"model_type": ""}, {"model_type": "x", "input": 3}])
def test_a_registration_that_names_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ew.EmbtieError):
        ew.register_family(**wrong)


def test_a_name_that_is_registered_but_not_there_is_refused(registered: None) -> None:
    ew.register_family("odd", input="core.absent")
    with pytest.raises(ew.EmbtieError, match="not known"):
        resolve({"model_type": "odd"}, ODD)


def test_an_unknown_layout_without_model_type_is_told_what_it_lacks() -> None:
    with pytest.raises(ew.EmbtieError) as caught:
        resolve({}, ODD)
    assert "model_type" in caught.value.hint
