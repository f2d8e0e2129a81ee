"""Tied or not, decided by what is stored."""

import json
from pathlib import Path

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file

import embtie_widgets as ew
from tests.sources.models import edit_config, edit_tensors, handmade, llama, saved

CAUSAL = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 32}
EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_two_different_matrices_are_untied_although_the_flag_says_tied(tmp_path: Path) -> None:
    folder = saved(llama(), tmp_path)
    edit_config(folder, tie_word_embeddings=True)
    stored, loaded = load_file(folder / "model.safetensors"), ew.load(folder)
    assert loaded.tied == "untied"
    assert torch.equal(loaded.input, stored[EMBED])
    assert loaded.output is not None
    assert torch.equal(loaded.output, stored[HEAD])
    assert any("says tied" in note for note in loaded.notes)


def test_an_agreeing_flag_needs_no_note(tmp_path: Path) -> None:
    assert ew.load(saved(llama(), tmp_path / "a")).notes == []
    assert ew.load(saved(llama(tied=True), tmp_path / "b")).notes == []


@pytest.mark.parametrize("flag", [True, False])
def test_equal_copies_are_tied_and_counted_once(tmp_path: Path, flag: bool) -> None:
    model = llama()
    model.lm_head.weight.data.copy_(model.model.embed_tokens.weight.data)
    folder = saved(model, tmp_path)
    edit_config(folder, tie_word_embeddings=flag)
    loaded = ew.load(folder)
    assert loaded.tied == "tied"
    assert loaded.output is loaded.input
    assert (loaded.unique_parameters, loaded.stored_parameters) == (256, 512)
    assert "Tied: equal values, stored twice." in loaded.notes
    assert any("says untied" in note for note in loaded.notes) is not flag


def test_copies_with_a_nan_are_still_copies(tmp_path: Path) -> None:
    E = random(32, 8)
    E[3, 1], E[5, 2] = torch.nan, torch.inf
    folder = handmade(tmp_path, CAUSAL, **{EMBED: E, HEAD: E.clone()})
    assert ew.load(folder).tied == "tied"


def test_equal_numbers_of_unequal_dtype_are_tied(tmp_path: Path) -> None:
    E = random(32, 8).half()
    assert ew.load(handmade(tmp_path, CAUSAL, **{EMBED: E, HEAD: E.float()})).tied == "tied"


def test_one_matrix_and_a_tied_flag_is_tied(tmp_path: Path) -> None:
    loaded = ew.load(saved(llama(tied=True), tmp_path))
    assert loaded.tied == "tied"
    assert loaded.output is loaded.input
    assert (loaded.unique_parameters, loaded.stored_parameters) == (256, 256)


def test_one_matrix_under_the_heads_name_is_tied(tmp_path: Path) -> None:
    config = CAUSAL | {"tie_word_embeddings": True}
    loaded = ew.load(handmade(tmp_path, config, **{HEAD: random(32, 8)}))
    assert loaded.tied == "tied"
    assert torch.equal(loaded.input, random(32, 8))


@pytest.mark.parametrize("flag", [False, None])
def test_input_alone_is_never_taken_for_tied(tmp_path: Path, flag: bool | None) -> None:
    folder = saved(llama(tied=True), tmp_path)
    edit_config(folder, tie_word_embeddings=flag)
    loaded = ew.load(folder)
    assert loaded.tied == "input only"
    assert loaded.output is None
    assert set(loaded.hashes) == {"input"}
    assert loaded.notes[0] == "This checkpoint has no output matrix."


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("kind", [hf.LlamaModel, hf.BertModel, hf.GPT2Model])
def test_an_architecture_without_head_is_input_only(
    tmp_path: Path, kind: type, named: bool
) -> None:
    config = kind.config_class(vocab_size=32, hidden_size=8, num_attention_heads=2)
    folder = saved(kind(config), tmp_path)
    edit_config(folder, tie_word_embeddings=True, **({} if named else {"architectures": None}))
    loaded = ew.load(folder)
    assert loaded.tied == "input only"
    assert loaded.output is None
    assert any("no language-model head" in note for note in loaded.notes)


def test_treating_as_tied_is_the_users_choice_and_written_down(tmp_path: Path) -> None:
    folder = saved(llama(kind=hf.LlamaModel), tmp_path)
    loaded = ew.load(ew.ModelRef(str(folder), treat_as_tied=True))
    assert loaded.tied == "tied"
    assert loaded.output is loaded.input
    assert any("user's choice" in note for note in loaded.notes)
    assert loaded.settings["treat_as_tied"] is True


def test_treating_as_tied_leaves_stored_heads_alone(tmp_path: Path) -> None:
    loaded = ew.load(ew.ModelRef(str(saved(llama(), tmp_path)), treat_as_tied=True))
    assert loaded.tied == "untied"


@pytest.mark.parametrize(
    "packed",
    [
        {"lm_head.qweight": torch.zeros(1, 32, dtype=torch.int32), "lm_head.scales": random(1, 32)},
        {HEAD: torch.zeros(128, 1, dtype=torch.uint8), HEAD + ".absmax": random(4)},
        {HEAD: torch.zeros(32, 8, dtype=torch.int8), "lm_head.SCB": random(32)},
        {HEAD: random(32, 8).to(torch.float8_e4m3fn), "lm_head.weight_scale": random(1)},
        {HEAD: torch.zeros(32, 8, dtype=torch.int8)},
    ],
)
def test_a_quantised_head_is_unavailable_never_tied(
    tmp_path: Path, packed: dict[str, torch.Tensor]
) -> None:
    config = CAUSAL | {"tie_word_embeddings": True}
    loaded = ew.load(handmade(tmp_path, config, **{EMBED: random(32, 8), **packed}))
    assert loaded.tied == "head unavailable"
    assert loaded.output is None
    assert any("quantised" in note for note in loaded.notes)
    again = ew.load(ew.ModelRef(str(tmp_path), treat_as_tied=True))
    assert again.tied == "head unavailable"


def test_a_quantised_input_is_refused(tmp_path: Path) -> None:
    packed = {"model.embed_tokens.qweight": torch.zeros(1, 32, dtype=torch.int32)}
    with pytest.raises(ew.EmbtieError, match="quantised"):
        ew.load(handmade(tmp_path, CAUSAL, **packed, **{HEAD: random(32, 8)}))


@pytest.mark.parametrize(("untied", "status"), [(False, "tied"), (True, "untied")])
def test_the_older_olmo_format_is_read_without_its_code(
    tmp_path: Path, untied: bool, status: str
) -> None:
    config = {
        "model_type": "hf_olmo",
        "weight_tying": not untied,
        "vocab_size": 60,
        "embedding_size": 64,
        "auto_map": {"AutoConfig": "configuration_olmo.OLMoConfig"},
    }
    tensors = {"model.transformer.wte.weight": random(64, 8)}
    tensors["model.transformer.blocks.0.ff_out.weight"] = random(8, 16)
    if untied:
        tensors["model.transformer.ff_out.weight"] = random(64, 8, seed=1)
    (tmp_path / "configuration_olmo.py").write_text("raise SystemExit('was run')")
    loaded = ew.load(handmade(tmp_path, config, **tensors))
    assert loaded.tied == status
    assert loaded.padding.tolist() == [60, 61, 62, 63]
    assert any("ending in -hf" in note for note in loaded.notes)
    assert any("not run" in note for note in loaded.notes)
    assert ew.match(loaded, loaded).counts["padding_a"] == 4


def test_matrices_of_unequal_height_are_untied_and_the_difference_is_stated(tmp_path: Path) -> None:
    loaded = ew.load(handmade(tmp_path, CAUSAL, **{EMBED: random(40, 8), HEAD: random(32, 8)}))
    assert loaded.tied == "untied"
    assert loaded.common_rows == 32
    assert any("40 rows" in note and "32" in note for note in loaded.notes)


def test_a_head_stored_the_other_way_round_is_unavailable(tmp_path: Path) -> None:
    loaded = ew.load(handmade(tmp_path, CAUSAL, **{EMBED: random(32, 8), HEAD: random(8, 32)}))
    assert loaded.tied == "head unavailable"


def test_a_head_without_input_matrix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ew.EmbtieError, match="No input matrix"):
        ew.load(handmade(tmp_path, CAUSAL, **{HEAD: random(32, 8)}))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_dtype_and_bits_stay_as_stored(tmp_path: Path, dtype: torch.dtype) -> None:
    E, U = random(32, 8).to(dtype), random(32, 8, seed=1)
    loaded = ew.load(handmade(tmp_path, CAUSAL, **{EMBED: E, HEAD: U}))
    assert loaded.output is not None
    assert (loaded.input.dtype, loaded.output.dtype) == (dtype, torch.float32)
    assert torch.equal(loaded.input, E)
    assert loaded.settings["dtype"] == {"input": str(dtype)[6:], "output": "float32"}


def test_hashes_follow_values_shape_and_dtype(tmp_path: Path) -> None:
    def hashed(E: torch.Tensor) -> str:
        folder = handmade(tmp_path, CAUSAL, **{EMBED: E})
        return ew.load(folder).hashes["input"]

    E = random(32, 8)
    assert hashed(E) == hashed(E.clone())
    assert (
        len(
            {
                hashed(E),
                hashed(E + 1),
                hashed(E.view(64, 4)),
                hashed(E.view(torch.int32).view(torch.float32) * 2),
            }
        )
        == 4
    )


def test_changing_a_loaded_matrix_never_reaches_the_file(tmp_path: Path) -> None:
    folder = handmade(tmp_path, CAUSAL, **{EMBED: random(32, 8)})
    before = (folder / "model.safetensors").read_bytes()
    ew.load(folder).input.mul_(0)
    assert (folder / "model.safetensors").read_bytes() == before


def test_settings_are_plain_json_and_hold_no_path(tmp_path: Path) -> None:
    loaded = ew.load(saved(llama(), tmp_path))
    text = json.dumps(loaded.settings)
    assert str(tmp_path.parent) not in text
    assert loaded.settings["tensors"]["output"] == HEAD
    edit_tensors(tmp_path, drop=(HEAD,))
    assert "output" not in ew.load(tmp_path).settings["tensors"]


def test_the_frame_has_a_line_for_every_row() -> None:
    frame = ew.load("nano-tied").to_frame()
    assert list(frame.columns) == ["row", "token", "bytes", "count"]
    assert len(frame) == len(ew.load("nano-tied").input)


@pytest.mark.parametrize("taller", [EMBED, HEAD])
def test_rows_that_only_lengthen_an_equal_matrix_are_told(tmp_path: Path, taller: str) -> None:
    matrix = random(32, 8)
    tensors = {EMBED: matrix, HEAD: matrix.clone()}
    tensors[taller] = torch.cat([matrix, random(8, 8, seed=1)])
    loaded = ew.load(handmade(tmp_path, CAUSAL, **tensors))
    assert loaded.tied == "untied"
    assert any("equal in both" in note for note in loaded.notes)
    tensors[EMBED][0] += 1
    loaded = ew.load(handmade(tmp_path / "other", CAUSAL, **tensors))
    assert not any("equal in both" in note for note in loaded.notes)
