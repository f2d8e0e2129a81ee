"""Interrupted downloads, stray files and other people's pickles: a sentence each, no guess."""

import json
import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import embtie_widgets as ew
from embtie_widgets.sources import files
from tests.sources.models import LLAMA, edit_config, llama, saved

EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"
INDEX = "model.safetensors.index.json"


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    model = llama(**(LLAMA | {"vocab_size": 64, "hidden_size": 16}))
    return saved(model, tmp_path / "model", max_shard_size="5KB")


def shard_of(folder: Path, name: str) -> Path:
    return folder / json.loads((folder / INDEX).read_text())["weight_map"][name]


def message(folder: Any) -> str:
    with pytest.raises(ew.EmbtieError) as caught:
        ew.load(folder)
    assert caught.value.hint
    assert str(Path(str(folder)).parent) not in str(caught.value)
    return str(caught.value)


def test_a_sharded_checkpoint_is_read_whole(sharded: Path) -> None:
    loaded = ew.load(sharded)
    assert loaded.tied == "untied"
    assert torch.equal(loaded.input, load_file(shard_of(sharded, EMBED))[EMBED])
    assert loaded.output is not None
    assert torch.equal(loaded.output, load_file(shard_of(sharded, HEAD))[HEAD])


def test_only_the_shards_of_the_two_matrices_are_opened(
    sharded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    class Spy(files.TensorFile):
        def __init__(self, path: Path) -> None:
            opened.append(path.name)
            super().__init__(path)

    monkeypatch.setattr(files, "TensorFile", Spy)
    ew.load(sharded)
    wanted = {shard_of(sharded, EMBED).name, shard_of(sharded, HEAD).name}
    assert len(list(sharded.glob("*.safetensors"))) > len(wanted)
    assert sorted(opened) == sorted(wanted)


@pytest.mark.parametrize("flag", [True, False])
def test_without_the_heads_shard_the_input_is_usable_and_not_called_tied(
    sharded: Path, flag: bool
) -> None:
    edit_config(sharded, tie_word_embeddings=flag)
    missing = shard_of(sharded, HEAD)
    missing.unlink()
    loaded = ew.load(sharded)
    assert (loaded.tied, loaded.output) == ("head unavailable", None)
    assert any(missing.name in note and "Download" in note for note in loaded.notes)
    assert tuple(loaded.input.shape) == (64, 16)


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs.github.com/spec/v1\n"])
def test_a_hollow_head_shard_makes_the_head_unavailable(sharded: Path, content: bytes) -> None:
    shard_of(sharded, HEAD).write_bytes(content)
    assert ew.load(sharded).tied == "head unavailable"


def test_without_the_inputs_shard_the_missing_file_is_named(sharded: Path) -> None:
    missing = shard_of(sharded, EMBED)
    missing.unlink()
    assert missing.name in message(sharded)


@pytest.mark.parametrize("flag", [True, False])
def test_a_head_that_is_stored_counts_though_the_index_does_not_list_it(
    tmp_path: Path, flag: bool
) -> None:
    folder = saved(llama(), tmp_path / "model")
    edit_config(folder, tie_word_embeddings=flag)
    (folder / INDEX).write_text(json.dumps({"weight_map": {EMBED: "model.safetensors"}}))
    loaded = ew.load(folder)
    assert loaded.tied == "untied"
    assert loaded.output is not None
    assert torch.equal(loaded.output, load_file(folder / "model.safetensors")[HEAD])
    assert any(HEAD in note and "does not list" in note for note in loaded.notes)


@pytest.mark.parametrize("revision", [3, b"main", ["step1"]])
def test_a_revision_that_is_no_text_is_refused(revision: Any) -> None:
    with pytest.raises(ew.EmbtieError, match="revision is a name"):
        ew.load("nano-tied", revision)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("model.q8.gguf", "holds GGUF files: model.q8.gguf"),
        ("tf_model.h5", "not read: tf_model.h5"),
        ("consolidated.00.pth", "not read: consolidated.00.pth"),
        ("notes.md", "holds no weights files"),
    ],
)
def test_a_folder_without_readable_weights_says_what_is_there(
    tmp_path: Path, file: str, words: str
) -> None:
    (tmp_path / file).write_bytes(b"x")
    assert words in message(tmp_path)


def test_a_stray_single_file_is_left_alone(sharded: Path) -> None:
    before = ew.load(sharded)
    save_file({EMBED: torch.ones(64, 16)}, sharded / "model.safetensors")
    after = ew.load(sharded)
    assert after.hashes == before.hashes
    assert any("model.safetensors is not listed" in note for note in after.notes)


@pytest.mark.parametrize("name", [EMBED, HEAD])
def test_a_tensor_that_its_shard_lacks_is_named(sharded: Path, name: str) -> None:
    shard = shard_of(sharded, name)
    tensors = load_file(shard)
    tensors["other.weight"] = tensors.pop(name)
    save_file(tensors, shard)
    if name == EMBED:
        assert EMBED in message(sharded)
    else:
        loaded = ew.load(sharded)
        assert loaded.tied == "head unavailable"
        assert any(HEAD in note for note in loaded.notes)


@pytest.mark.parametrize("target", ["../secret.safetensors", "/etc/passwd", "..", "", 5])
def test_an_index_cannot_lead_out_of_its_folder(sharded: Path, target: Any) -> None:
    (sharded / INDEX).write_text(json.dumps({"weight_map": {EMBED: target}}))
    assert "folder" in message(sharded)


def test_parts_without_index_are_refused(sharded: Path) -> None:
    (sharded / INDEX).unlink()
    assert "no index" in message(sharded)


CUT = b"\x40\x00\x00\x00\x00\x00\x00\x00{"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "Git LFS pointer"),
        (b"abc", "cut short"),
        (CUT, "cut short"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"this is no weights file at all", "damaged"),
    ],
)
def test_each_broken_file_gets_a_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    folder = saved(llama(), tmp_path / "m")
    (folder / "model.safetensors").write_bytes(content)
    told = message(folder)
    assert words in told
    assert "model.safetensors" in told


def test_a_file_cut_in_half_is_cut_short(tmp_path: Path) -> None:
    path = saved(llama(), tmp_path / "m") / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "cut short" in message(path.parent)


def test_a_file_with_bytes_too_many_is_not_called_short(tmp_path: Path) -> None:
    path = saved(llama(), tmp_path / "m") / "model.safetensors"
    path.write_bytes(path.read_bytes() + b"more")
    assert "longer than its header says" in message(path.parent)


def test_a_folder_without_weights_says_what_it_expected(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    assert "no weights" in message(tmp_path / "m")


def test_an_adapter_is_not_taken_for_a_model(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    save_file({"x": torch.ones(2, 2)}, tmp_path / "m" / "adapter_model.safetensors")
    assert "adapter" in message(tmp_path / "m")


@pytest.mark.parametrize("legacy", [False, True])
def test_a_pickle_of_plain_tensors_is_read(tmp_path: Path, legacy: bool) -> None:
    folder = saved(llama(), tmp_path)
    before = ew.load(folder)
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    torch.save(tensors, path, _use_new_zipfile_serialization=not legacy)
    after = ew.load(folder)
    assert (after.tied, after.hashes) == ("untied", before.hashes)


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_the_protocol_of_a_pickle_brings_no_warning_of_the_library(
    protocol: int, tmp_path: Path
) -> None:
    folder = saved(llama(), tmp_path / "m")
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin", pickle_protocol=protocol)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if protocol < 4:
            assert ew.load(folder).tied == "untied"
        else:
            assert "reader does not know" in message(folder)


class Command:
    """What a hostile pickle would do."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.target,)


@pytest.mark.parametrize("legacy", [None, True, False])
def test_a_pickle_with_a_command_is_refused_and_nothing_runs(
    tmp_path: Path, legacy: bool | None
) -> None:
    folder, mark = saved(llama(), tmp_path / "m"), tmp_path / "was-run"
    (folder / "model.safetensors").unlink()
    path, content = folder / "pytorch_model.bin", {EMBED: Command(mark)}
    if legacy is None:
        path.write_bytes(pickle.dumps(content, protocol=2))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=not legacy)
    assert "nothing in it was run" in message(folder)
    assert not mark.exists()


def test_a_cut_pickle_is_cut_short(tmp_path: Path) -> None:
    folder = saved(llama(), tmp_path / "m")
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    torch.save({EMBED: torch.ones(32, 8)}, path)
    path.write_bytes(path.read_bytes()[:400])
    assert "cut short" in message(folder)


@pytest.mark.parametrize("broken", ["{", "[" * 100_000, "\x00"])
def test_a_broken_configuration_is_named(tmp_path: Path, broken: str) -> None:
    folder = saved(llama(), tmp_path / "m")
    (folder / "config.json").write_text(broken)
    assert "config.json is no valid JSON" in message(folder)


@pytest.mark.parametrize(
    ("content", "words"),
    [("[1]", "not readable as"), ('"llama"', "not readable as"), ("{}", "empty"), (None, "no ")],
)
def test_a_configuration_without_fields_is_told_from_a_missing_one(
    tmp_path: Path, content: str | None, words: str
) -> None:
    path = saved(llama(), tmp_path / "m") / "config.json"
    path.unlink() if content is None else path.write_text(content)
    notes = [note for note in ew.load(path.parent).notes if "config.json" in note]
    assert len(notes) == 1
    assert words in notes[0]


def test_a_configuration_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = saved(llama(), tmp_path / "m") / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    loaded = ew.load(path.parent)
    assert loaded.tied == "untied"
    assert not any("config.json" in note for note in loaded.notes)


def test_a_broken_tokenizer_costs_the_texts_only(tmp_path: Path) -> None:
    folder = saved(llama(), tmp_path)
    (folder / "tokenizer.json").write_text('{"model": {"vocab": 3}}')
    loaded = ew.load(folder)
    assert (loaded.tied, loaded.tokens) == ("untied", None)
    assert any("Tokens are not shown" in note for note in loaded.notes)


@pytest.mark.parametrize(
    "ref",
    [
        "",
        " ",
        "/dev/zero",
        "\0",
        "a" * 5000,
        "no/such/folder/here",
        "~nobody/x",
        "a..b",
        7,
        None,
        (),
        [],
    ],
)
def test_what_names_no_model_is_refused_with_the_kinds_that_exist(ref: Any) -> None:
    with pytest.raises(ew.EmbtieError) as caught:
        ew.load(ref)
    assert "nano-tied" in caught.value.hint
    assert len(str(caught.value)) < 600


def test_paths_of_other_systems_are_not_shown() -> None:
    with pytest.raises(ew.EmbtieError, match=r"folder or file 'x' \(the last part of"):
        ew.load("C:\\secret\\x")


def test_a_pipe_does_not_make_the_loader_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    with pytest.raises(ew.EmbtieError, match="device or pipe"):
        ew.load(tmp_path / "pipe.npy")


def test_tensors_that_were_saved_with_gradients_come_without(tmp_path: Path) -> None:
    folder = saved(llama(), tmp_path)
    (folder / "model.safetensors").unlink()
    torch.save({EMBED: torch.ones(32, 8, requires_grad=True)}, folder / "pytorch_model.bin")
    assert not ew.load(folder).input.requires_grad


def test_junk_in_a_tokenizer_is_passed_over(tmp_path: Path) -> None:
    folder = saved(llama(), tmp_path)
    junk = {"pre_tokenizer": {"type": "Sequence", "pretokenizers": 3}, "decoder": 7}
    model = {"type": "BPE", "vocab": {"a": 1}, "continuing_subword_prefix": 3}
    content = {"model": model, "added_tokens": {"x": 1}, "normalizer": [], **junk}
    (folder / "tokenizer.json").write_text(json.dumps(content))
    tokens = ew.load(folder).tokens
    assert tokens is not None
    assert tokens[:3] == [None, b"a", None]


@pytest.mark.parametrize("ref", ["missing.npy", "deep/missing.safetensors", "x/missing.gguf"])
def test_a_missing_file_is_named_without_its_folder(ref: str) -> None:
    with pytest.raises(ew.EmbtieError, match="no file missing") as caught:
        ew.load(ref)
    assert "deep" not in str(caught.value)


def test_a_model_without_checkpoints_has_no_revisions(tmp_path: Path) -> None:
    folder = saved(llama(), tmp_path)
    with pytest.raises(ew.EmbtieError, match="has no checkpoints, but 'step1000' was asked for"):
        ew.load(folder, revision="step1000")
    with pytest.raises(ew.EmbtieError, match="A file has no revisions"):
        ew.load(folder / "model.safetensors", revision="step1000")
