"""Parameter counts of a model as untied and as tied, from headers alone."""

import json
import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
import transformers as hf

import embtie_widgets as ew
from embtie_widgets.sources.reading import TensorFile
from tests.sources.models import edit_config, edit_tensors, llama, randomised, saved

T5 = {"vocab_size": 32, "d_model": 8, "d_kv": 4, "d_ff": 16, "num_layers": 1, "num_heads": 2}


def total(model: Any) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def sparse(path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    """A safetensors file with a header and a hole."""
    header, end = {}, 0
    for name, shape in shapes.items():
        start, end = end, end + 2 * int(np.prod(shape))
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [start, end]}
    raw = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(raw)) + raw)
        file.truncate(8 + len(raw) + end)


@pytest.mark.parametrize("alive", [True, False])
def test_tied_and_untied_models_give_the_same_five_numbers(tmp_path: Path, alive: bool) -> None:
    tied, untied = llama(tied=True), llama()
    folders = (saved(tied, tmp_path / "t"), saved(untied, tmp_path / "u"))
    for source in (tied, untied) if alive else folders:
        found = ew.parameters(source)
        assert (found.untied, found.tied) == (total(untied), total(tied))
        assert (found.saved, found.embedding) == (256, 512)
        assert found.share == pytest.approx(512 / total(untied))


def test_a_second_equal_copy_is_not_counted(tmp_path: Path) -> None:
    model = llama()
    model.lm_head.weight.data.copy_(model.model.embed_tokens.weight.data)
    found = ew.parameters(saved(model, tmp_path))
    assert (found.untied, found.tied) == (total(model), total(model) - 256)
    assert found.settings["stored"] == total(model)


def test_sharded_checkpoints_count_the_same(tmp_path: Path) -> None:
    whole = ew.parameters(saved(llama(), tmp_path / "a"))
    parts = saved(llama(), tmp_path / "b", max_shard_size="2KB")
    assert ew.parameters(parts).untied == whole.untied
    next(iter(sorted(parts.glob("*-00002-of-*")))).unlink()
    with pytest.raises(ew.EmbtieError, match="missing or broken"):
        ew.parameters(parts)


def test_stored_buffers_are_no_parameters(tmp_path: Path) -> None:
    folder = saved(llama(), tmp_path)
    before = ew.parameters(folder)
    buffer = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}
    edit_tensors(folder, **buffer)
    assert ew.parameters(folder).untied == before.untied


def test_a_quantised_body_is_counted_from_its_configuration(tmp_path: Path) -> None:
    folder = saved(llama(), tmp_path)
    before = ew.parameters(folder)
    edit_tensors(folder, **{"model.layers.0.mlp.up_proj.qweight": torch.ones(2, 2)})
    found = ew.parameters(folder)
    assert (found.untied, found.tied) == (before.untied, before.tied)
    assert "quantised, so its configuration was counted" in found.notes[0]
    (folder / "config.json").unlink()
    with pytest.raises(ew.EmbtieError, match="quantised, and it has no configuration"):
        ew.parameters(folder)


def test_a_second_name_of_a_shared_matrix_is_not_counted(tmp_path: Path) -> None:
    model = randomised(hf.T5ForConditionalGeneration(hf.T5Config(**T5)))
    folder = saved(model, tmp_path)
    before = ew.parameters(folder)
    edit_tensors(folder, **{"encoder.embed_tokens.weight": model.shared.weight.data})
    found = ew.parameters(folder)
    assert (found.untied, found.tied) == (before.untied, before.tied)
    assert found.tied == total(model)


def test_a_head_of_another_height_counts_as_it_is_stored(tmp_path: Path) -> None:
    folder = saved(llama(), tmp_path)
    edit_tensors(folder, **{"lm_head.weight": torch.ones(40, 8)})
    found = ew.parameters(folder)
    assert (found.embedding, found.saved, found.settings["output_rows"]) == (576, 320, 40)
    assert found.settings["status"] == "untied"


def test_what_is_stored_is_named_as_far_as_headers_tell(tmp_path: Path) -> None:
    two, one = saved(llama(), tmp_path / "u"), saved(llama(tied=True), tmp_path / "t")
    assert ew.parameters(two).settings["status"] == "untied, or tied and stored twice"
    assert ew.parameters(one).settings["status"] == "tied"
    edit_config(one, tie_word_embeddings=False)
    assert ew.parameters(one).settings["status"] == "input only"
    chosen = ew.ModelRef(str(one), treat_as_tied=True)
    assert ew.parameters(chosen).settings["status"] == "treated as tied"


def test_no_weight_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(TensorFile, "read")
    folder = saved(llama(), tmp_path)
    with pytest.raises(AttributeError):
        ew.load(folder)
    assert ew.parameters(folder).saved == 256


def test_a_model_of_gigabytes_is_counted_from_its_header(tmp_path: Path) -> None:
    shapes = {"model.embed_tokens.weight": (10**6, 2048), "lm_head.weight": (10**6, 2048)}
    sparse(tmp_path / "model.safetensors", shapes)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    assert ew.parameters(tmp_path).untied == 4096 * 10**6


def test_a_model_without_values_is_counted() -> None:
    with torch.device("meta"):
        model = llama()
    assert ew.parameters(model).untied == ew.parameters(llama()).untied


def test_a_gguf_file_is_counted(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_tensor("token_embd.weight", np.ones((8, 4), np.float32))
    writer.add_tensor("blk.0.attn_q.weight", np.ones((4, 4), np.float32))
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    found = ew.parameters(tmp_path / "m.gguf")
    assert (found.untied, found.tied, found.share) == (80, 48, 0.8)


@pytest.mark.parametrize("ref", [3, None, ("a.npy", "b.npy")])
def test_what_is_no_whole_model_is_refused(ref: Any) -> None:
    with pytest.raises(ew.EmbtieError, match="cannot be counted"):
        ew.parameters(ref)


def test_a_matrix_file_is_no_whole_model(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", np.ones((3, 2)))
    with pytest.raises(ew.EmbtieError, match="no whole model"):
        ew.parameters(tmp_path / "e.npy")


def test_the_bundled_pair_saves_one_matrix() -> None:
    tied, untied = ew.parameters("nano-tied"), ew.parameters("nano-untied")
    assert tied.saved == untied.saved == ew.load("nano-tied").input.numel()
    assert tied.untied == untied.untied
    assert list(tied.to_frame().columns) == ["untied", "tied", "saved", "embedding", "share"]


@pytest.mark.parametrize("shape", [(0, 8), (8, 0)])
def test_an_empty_matrix_is_refused(tmp_path: Path, shape: tuple[int, int]) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    sparse(tmp_path / "model.safetensors", {"model.embed_tokens.weight": shape})
    with pytest.raises(ew.EmbtieError, match="is empty"):
        ew.parameters(tmp_path)


@pytest.mark.parametrize("name", ["nano-untied", "nano-tied"])
def test_what_was_loaded_is_counted_where_it_came_from(name: str) -> None:
    assert ew.parameters(ew.load(name)) == ew.parameters(name)
    assert ew.parameters(ew.load(ew.ModelRef(name))) == ew.parameters(name)


def test_a_loaded_folder_is_counted_and_one_from_memory_names_what_to_give(tmp_path: Path) -> None:
    model = llama()
    folder = saved(model, tmp_path / "model")
    assert ew.parameters(ew.load(folder)).untied == total(model)
    with pytest.raises(ew.EmbtieError, match="holds matrices alone") as caught:
        ew.parameters(ew.load(model))
    assert "the model in memory itself" in caught.value.hint
