"""Whole models from names, folders, GGUF files and memory compute what transformers does."""

import json
import threading
from typing import Any

import pytest
import torch
import transformers as hf

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.sources import models
from embtie_widgets.sources.models import let_go, model_hash, needed_bytes, open_model, sizes_of
from tests.sources.models import edit_config, edit_tensors, llama, saved
from tests.sources.tiny import class_name, tiny

IDS = torch.tensor([[1, 5, 9, 3, 30, 7, 11, 2]])
FAMILIES = [
    ("gpt2", True),
    ("gpt_neox", False),
    ("llama", False),
    ("opt", True),
    ("gemma2", True),
    ("cohere", True),
    ("bloom", True),
    ("gptj", False),
    ("granitemoe", True),
    ("mamba", True),
]


@pytest.fixture(autouse=True)
def nothing_kept() -> Any:
    """Each test opens for itself."""
    let_go()
    yield
    let_go()


def logits_of(model: Any, ids: torch.Tensor = IDS) -> torch.Tensor:
    """(B, T, V)."""
    with torch.no_grad():
        return model(input_ids=ids, use_cache=False).logits


@pytest.mark.parametrize(("kind", "tied"), FAMILIES)
def test_the_logits_are_those_of_transformers_own_loading(tmp_path, kind, tied):
    folder = saved(tiny(kind, tied), tmp_path / kind)
    plain = hf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    opened = open_model(folder)
    assert type(opened.model).__name__ == class_name(kind)
    assert torch.equal(logits_of(opened.model), logits_of(plain))
    assert logits_of(plain).std() > 1e-3


@pytest.mark.parametrize(("kind", "tied"), FAMILIES)
def test_its_matrices_are_those_that_load_gives(tmp_path, kind, tied):
    folder = saved(tiny(kind, tied), tmp_path / kind)
    opened, loaded = open_model(folder), ew.load(folder)
    assert torch.equal(opened.model.get_input_embeddings().weight, loaded.input)
    assert torch.equal(opened.model.get_output_embeddings().weight, loaded.output)
    assert opened.tied == loaded.tied == ("tied" if tied else "untied")


@pytest.mark.parametrize("name", ["nano-tied", "nano-untied"])
def test_a_bundled_model_opens_with_its_tokenizer_and_tokens(name):
    opened, loaded = open_model(name), ew.load(name)
    assert (opened.name, opened.tied, opened.precision) == (name, loaded.tied, "float32")
    assert opened.tokens == loaded.tokens
    assert torch.equal(opened.model.get_input_embeddings().weight, loaded.input.float())
    ids = opened.tokenizer.encode(["And the king said"])
    assert b"".join(opened.tokens[row] for row in ids[0]) == b"And the king said"
    assert not opened.model.training
    assert not any(p.requires_grad for p in opened.model.parameters())


def test_a_gguf_file_opens_with_the_numbers_that_load_gives(smollm2):
    opened, loaded = open_model(smollm2), ew.load(smollm2)
    head = opened.model.get_output_embeddings().weight
    assert torch.equal(opened.model.get_input_embeddings().weight, loaded.input)
    assert head is opened.model.get_input_embeddings().weight
    ids = opened.tokenizer.encode(["The capital of France is"])
    likeliest = logits_of(opened.model, torch.tensor(ids))[0, -1].argmax()
    assert opened.tokens[likeliest] == b" Paris"
    assert opened.hashes["model"] == model_hash(smollm2)
    assert sizes_of(smollm2) == {
        "parameters": sum(p.numel() for p in opened.model.parameters()),
        "rows": len(head),
        "width": head.shape[1],
        "layers": opened.model.config.num_hidden_layers,
    }


def test_a_sharded_checkpoint_opens_whole(tmp_path):
    model = llama()
    folder = saved(model, tmp_path / "parts", max_shard_size="3KB")
    assert len(list(folder.glob("*.safetensors"))) > 1
    assert torch.equal(logits_of(open_model(folder).model), logits_of(model))


def test_plain_pickles_open_through_the_safe_reader(tmp_path):
    model = llama()
    folder = saved(model, tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    assert torch.equal(logits_of(open_model(folder).model), logits_of(model))


def test_what_is_stored_decides_over_a_wrong_tie_flag(tmp_path):
    model = llama(tied=False)
    folder = saved(model, tmp_path / "flagged")
    edit_config(folder, tie_word_embeddings=True)
    opened = open_model(folder)
    assert opened.tied == "untied"
    assert torch.equal(logits_of(opened.model), logits_of(model))


def test_treating_as_tied_opens_a_model_without_head(tmp_path):
    model = llama(tied=True)
    folder = saved(model, tmp_path / "headless")
    edit_config(folder, tie_word_embeddings=False)
    with pytest.raises(EmbtieError, match="no output matrix"):
        open_model(folder)
    opened = open_model(ew.ModelRef(str(folder), treat_as_tied=True))
    assert torch.equal(logits_of(opened.model), logits_of(model))


def test_a_model_in_memory_is_handed_on_as_it_is():
    model = llama().train()
    opened = open_model(model)
    assert opened.model is model
    assert model.training
    assert all(p.requires_grad for p in model.parameters())
    assert (opened.tied, opened.precision, opened.origin) == ("untied", "float32", None)


def test_what_load_gave_is_opened_where_it_came_from(tmp_path):
    model = llama()
    loaded = ew.load(saved(model, tmp_path / "known"))
    assert torch.equal(logits_of(open_model(loaded).model), logits_of(model))
    with pytest.raises(EmbtieError, match="memory"):
        open_model(ew.load(model))


def test_the_second_request_is_answered_with_the_same_model(tmp_path):
    folder = saved(llama(), tmp_path / "one")
    first = open_model(folder)
    assert open_model(folder) is first
    assert open_model(folder, precision="bfloat16") is not first


def test_changed_files_are_read_again(tmp_path):
    folder = saved(llama(), tmp_path / "one")
    first, before = open_model(folder), model_hash(folder)
    edit_tensors(folder, **{"model.norm.weight": torch.full((8,), 3.0)})
    second = open_model(folder)
    assert second is not first
    assert (second.model.model.norm.weight == 3).all()
    assert not (first.model.model.norm.weight == 3).any()
    assert len({model_hash(folder), before, first.hashes["model"]}) == 3
    assert second.hashes["model"] == model_hash(folder)


def test_an_open_model_outlives_its_files(tmp_path):
    model = llama().bfloat16()
    model.model.norm.float()
    folder = saved(model, tmp_path / "one")
    opened = open_model(folder)
    before = logits_of(opened.model)
    path = folder / "model.safetensors"
    path.write_bytes(bytes(path.stat().st_size))
    assert opened.precision == "float32"
    assert torch.equal(logits_of(opened.model), before)


def test_two_models_are_kept_and_the_third_drives_out_the_oldest(tmp_path):
    folders = [saved(llama(), tmp_path / str(i)) for i in range(3)]
    first, second = open_model(folders[0]), open_model(folders[1])
    open_model(folders[0])
    open_model(folders[2])
    assert open_model(folders[0]) is first
    assert open_model(folders[1]) is not second


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_the_precision_asked_for_is_the_models(tmp_path, precision):
    model = llama()
    opened = open_model(saved(model, tmp_path / "one"), precision=precision)
    kinds = {str(p.dtype) for p in opened.model.parameters()}
    assert kinds == {f"torch.{precision}"}
    assert opened.precision == precision
    assert torch.allclose(logits_of(opened.model).float(), logits_of(model), rtol=0.3, atol=0.5)


def test_an_unknown_precision_is_refused_with_those_that_are_known():
    with pytest.raises(EmbtieError, match=r"'half'.*bfloat16"):
        open_model("nano-tied", precision="half")


def test_the_size_is_told_by_headers_alone(tmp_path, monkeypatch):
    folder = saved(llama(), tmp_path / "one")
    numbers = sum(p.numel() for p in llama().parameters())
    monkeypatch.setattr(models.whole.weights, "read_all", None)
    assert needed_bytes(folder) == 4 * numbers
    assert needed_bytes(folder, "bfloat16") == 2 * numbers
    assert needed_bytes(llama()) == 4 * numbers
    rows, width = llama().get_input_embeddings().weight.shape
    layers = llama().config.num_hidden_layers
    sizes = {"parameters": numbers, "rows": rows, "width": width, "layers": layers}
    assert sizes_of(folder) == sizes


def test_the_hash_of_the_files_does_not_hang_on_where_they_lie(tmp_path):
    one, two = saved(llama(), tmp_path / "one"), saved(llama(), tmp_path / "two")
    assert open_model(one).hashes == open_model(two).hashes == {"model": model_hash(one)}
    edit_config(two, rms_norm_eps=0.5)
    assert model_hash(two) != model_hash(one)


def test_the_hash_of_files_is_read_once(tmp_path, monkeypatch):
    folder = saved(llama(), tmp_path / "one")
    first = model_hash(folder)
    monkeypatch.setattr(models.whole.weights, "_chunks", None)
    assert model_hash(folder) == first


def test_the_hash_of_a_model_in_memory_follows_its_weights(monkeypatch):
    model = llama()
    first = open_model(model).hashes["model"]
    assert open_model(llama()).hashes["model"] == first
    with monkeypatch.context() as patch:
        patch.setattr("embtie_widgets.sources.model_hash.tensor_hash", None)
        assert open_model(model).hashes["model"] == first
    with torch.no_grad():
        model.model.norm.weight[0] += 1
    assert open_model(model).hashes["model"] != first


def test_progress_is_told_and_may_stop_it(tmp_path):
    folder, told = saved(llama(), tmp_path / "one"), []

    def stop(stage: str, done: int, total: int) -> None:
        told.append((stage, done, total))
        if len(told) > 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        open_model(folder, progress=stop)
    assert all(done <= total for _, done, total in told)
    assert open_model(folder).name == "one"


def test_nothing_is_drawn_logged_or_left_running(tmp_path, capfd, caplog):
    folder = saved(llama(), tmp_path / "one")
    edit_tensors(folder, spare=torch.ones(3))
    before = set(threading.enumerate())
    capfd.readouterr()
    opened = open_model(folder)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    for thread in set(threading.enumerate()) - before:
        thread.join(10)  # those that read tensors side by side end by themselves, a moment later
    assert set(threading.enumerate()) <= before
    assert any("spare" in note for note in opened.notes)


def test_the_habit_of_the_model_adds_its_sign_to_texts(tmp_path):
    folder = saved(llama(), tmp_path / "one")
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "model": {"type": "WordLevel", "vocab": {"a": 0, "<s>": 1, "b": 2}, "unk_token": "a"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    made = open_model(folder).tokenizer
    assert made.encode(["b a", "b"]) == [[2, 0], [2]]
    assert made.encode(["b a", "b"], special=True) == [[1, 2, 0], [1, 2]]
    assert made.encode(["b"] * 3, special=False) == [[2]] * 3


def test_without_tokenizer_it_opens_all_the_same(tmp_path):
    opened = open_model(saved(llama(), tmp_path / "one"))
    assert opened.tokenizer is None
    assert opened.tokens is None
    assert any("cannot be cut" in note for note in opened.notes)
