"""GGUF files: plain, half, brain-float and quantised matrices; tokens of each kind."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch

import embtie_widgets as ew

E = np.random.default_rng(0).standard_normal((8, 32)).astype(np.float32)
LEVEL = ["Ġa", "a", "Ċ", "<|end|>", "Ġplain", "[PAD5]", "b", "c"]
LEVEL_TYPES = [1, 1, 1, 3, 4, 5, 1, 1]
PIECES = ["<unk>", "<s>", "<0x0A>", "▁the", "the", "a", "b", "c"]
PIECE_TYPES = [2, 3, 6, 1, 1, 1, 1, 1]


def write(
    path: Path,
    *,
    model: str = "gpt2",
    tokens: Any = LEVEL,
    types: Any = LEVEL_TYPES,
    arch: str = "llama",
    **tensors: Any,
) -> Path:
    writer = gguf.GGUFWriter(path, arch)
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    for name, (values, kind) in tensors.items():
        writer.add_tensor(name, values, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def plain(values: Any = E) -> dict[str, Any]:
    return {"token_embd.weight": (values, None)}


def packed(kind: gguf.GGMLQuantizationType, values: Any = E) -> Any:
    return gguf.quants.quantize(values, kind), kind


def test_without_an_output_tensor_it_is_tied(tmp_path: Path) -> None:
    loaded = ew.load(write(tmp_path / "m.gguf", **plain()))
    assert (loaded.tied, loaded.notes) == ("tied", [])
    assert np.array_equal(loaded.input, E)


@pytest.mark.parametrize(("shift", "status"), [(1, "untied"), (0, "tied")])
def test_an_output_tensor_is_compared(tmp_path: Path, shift: int, status: str) -> None:
    head = {"output.weight": (E + shift, None)}
    loaded = ew.load(write(tmp_path / "m.gguf", **plain(), **head))
    assert loaded.tied == status
    assert not any("configuration" in note for note in loaded.notes)
    assert loaded.output is not None
    assert np.array_equal(loaded.output, E + shift)


def test_an_encoder_is_input_only(tmp_path: Path) -> None:
    assert ew.load(write(tmp_path / "m.gguf", arch="bert", **plain())).tied == "input only"


def test_half_and_brain_floats_stay_as_stored(tmp_path: Path) -> None:
    half = ew.load(write(tmp_path / "h.gguf", **plain(E.astype(np.float16))))
    assert half.input.dtype == torch.float16
    assert np.array_equal(half.input, E.astype(np.float16))
    brain = packed(gguf.GGMLQuantizationType.BF16)
    loaded = ew.load(write(tmp_path / "b.gguf", **{"token_embd.weight": brain}))
    assert loaded.input.dtype == torch.bfloat16
    assert torch.equal(loaded.input, torch.from_numpy(E).bfloat16())


def test_a_quantised_matrix_becomes_float32_with_a_note(tmp_path: Path) -> None:
    eight = packed(gguf.GGMLQuantizationType.Q8_0)
    loaded = ew.load(write(tmp_path / "q.gguf", **{"token_embd.weight": eight}))
    assert loaded.input.dtype == torch.float32
    assert np.abs(loaded.input.numpy() - E).max() < 0.02
    assert any("Q8_0" in note and "float32" in note for note in loaded.notes)


def test_byte_level_tokens_controls_and_padding(tmp_path: Path) -> None:
    loaded = ew.load(write(tmp_path / "m.gguf", **plain()))
    plain_text = "Ġplain".encode()
    assert loaded.tokens == [b" a", b"a", b"\n", b"<|end|>", plain_text, None, b"b", b"c"]
    assert loaded.padding.tolist() == [5]


def test_sentencepiece_tokens_and_byte_fallback(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", model="llama", tokens=PIECES, types=PIECE_TYPES, **plain())
    loaded = ew.load(path)
    assert loaded.tokens == [b"<unk>", b"<s>", b"\n", b" the", b"the", b"a", b"b", b"c"]
    assert loaded.byte_rows == {2}


def test_an_unknown_tokenizer_costs_the_texts_only(tmp_path: Path) -> None:
    loaded = ew.load(write(tmp_path / "m.gguf", model="other", **plain()))
    assert loaded.tokens is None
    assert any("'other'" in note for note in loaded.notes)


@pytest.mark.parametrize("damage", [(b"<|end|>", b"<|\xff\xfe|>"), (b"gpt2", b"\xff\xfe\xfd\xfc")])
def test_damaged_texts_cost_the_texts_only(tmp_path: Path, damage: tuple[bytes, bytes]) -> None:
    path = write(tmp_path / "m.gguf", **plain())
    whole, broken = damage
    data = path.read_bytes()
    assert data.count(whole) == 1
    path.write_bytes(data.replace(whole, broken.ljust(len(whole), b">")))
    loaded = ew.load(path)
    assert loaded.tokens is None
    assert np.array_equal(loaded.input, E)
    assert any("damaged" in note for note in loaded.notes)


def test_a_short_list_of_kinds_leaves_the_other_tokens_plain(tmp_path: Path) -> None:
    assert ew.load(write(tmp_path / "k.gguf", types=[1], **plain())).tokens is not None


@pytest.mark.parametrize("keep", [0, 3, 30, 700])
def test_a_cut_file_is_refused(tmp_path: Path, keep: int) -> None:
    path = write(tmp_path / "m.gguf", **plain())
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ew.EmbtieError, match=r"cut short|empty"):
        ew.load(path)


def test_a_file_without_token_matrix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ew.EmbtieError, match=r"token_embd\.weight"):
        ew.load(write(tmp_path / "m.gguf", **{"blk.0.attn_q.weight": (E, None)}))


def test_the_mapped_file_is_never_written(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", **plain())
    before = path.read_bytes()
    ew.load(path).input.zero_()
    assert path.read_bytes() == before


def test_a_real_pretrained_model_is_read(smollm2: Path) -> None:
    loaded = ew.load(smollm2)
    assert (loaded.tied, tuple(loaded.input.shape)) == ("tied", (49_152, 576))
    assert loaded.tokens is not None
    assert loaded.tokens[0] == b"<|endoftext|>"
    assert b" the" in loaded.tokens
    assert bool(loaded.input.isfinite().all())
    found = ew.match(loaded, "nano-tied")
    assert found.counts["matched"] > 2000


def test_names_beside_the_matrices_are_told(tmp_path: Path) -> None:
    more = {"output_norm.weight": (E[0], None), "output.bias": (E[:, 0].copy(), None)}
    loaded = ew.load(write(tmp_path / "m.gguf", **plain(), **more))
    assert loaded.settings["tensors"] == {
        "input": "token_embd.weight",
        "output_bias": "output.bias",
        "final_norm": "output_norm.weight",
    }


def test_a_format_without_tie_flag_says_nothing(tmp_path: Path) -> None:
    tied = ew.load(write(tmp_path / "t.gguf", **plain()))
    assert tied.settings["config says"] == "nothing; a GGUF file without output matrix is tied"
    untied = ew.load(write(tmp_path / "u.gguf", **plain(), **{"output.weight": (E + 1, None)}))
    assert untied.settings["config says"] == "nothing"


def test_a_head_in_numbers_that_are_not_read_is_unavailable(tmp_path: Path) -> None:
    head = {"output.weight": (np.zeros((8, 32), np.int8), None)}
    loaded = ew.load(write(tmp_path / "m.gguf", **plain(), **head))
    assert (loaded.tied, loaded.output) == ("head unavailable", None)
    assert any("I8" in note or "int8" in note for note in loaded.notes)


def test_an_adapter_is_no_model(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_type("adapter")
    writer.add_tensor("token_embd.weight.lora_a", E)
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    with pytest.raises(ew.EmbtieError, match="adapter"):
        ew.load(tmp_path / "a.gguf")
