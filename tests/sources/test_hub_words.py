"""What is said about the hub is true where it is said, and does not contradict itself."""

import json
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import errors

import embtie_widgets as ew
from embtie_widgets.sources import hub as hubs
from tests.hub_server import HubServer
from tests.sources.models import LLAMA, llama, saved

REF = "owner/model"


@pytest.fixture
def model(hub: HubServer, tmp_path: Path) -> HubServer:
    """A hub with one small model."""
    hub.add(REF, saved(llama(), tmp_path / "model"))
    return hub


@pytest.mark.parametrize(
    "fault",
    [ConnectionError("no route"), errors.OfflineModeIsEnabled("offline"), TimeoutError()],
    ids=["dead", "offline", "slow"],
)
def test_a_note_on_a_copy_that_was_used_does_not_say_that_there_is_none(
    model: HubServer, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    ew.load(REF)

    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", fail)
    notes = " ".join(ew.load(REF).notes)
    assert "copy in the local cache was used" in notes
    assert "no copy" not in notes
    assert "not in" not in notes


@pytest.mark.parametrize(
    ("status", "words"),
    [(403, "does not let this account"), (404, "error .404"), (418, "error .418")],
)
def test_a_file_that_the_hub_refuses_is_not_called_out_of_reach(
    model: HubServer, status: int, words: str
) -> None:
    model.faults.files = (status, "")
    with pytest.raises(ew.EmbtieError, match=words) as caught:
        ew.load(REF)
    assert "cannot be reached" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"<!doctype html><html>", "web page"),
        (b"\x10\0\0\0\0\0\0\0{", "cut short"),
    ],
    ids=["empty", "pointer", "page", "cut"],
)
def test_a_hollow_head_on_the_hub_costs_the_head_alone(
    hub: HubServer, tmp_path: Path, content: bytes, words: str
) -> None:
    folder = saved(llama(**(LLAMA | {"hidden_size": 16})), tmp_path / "m", max_shard_size="2KB")
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    (folder / index["weight_map"]["lm_head.weight"]).write_bytes(content)
    hub.add(REF, folder)
    assert any(words in note for note in hubs.cost(REF).notes)
    loaded = ew.load(REF)
    assert loaded.tied == "head unavailable"
    assert any(words in note for note in loaded.notes)


def test_what_an_index_does_not_list_is_counted_beforehand(hub: HubServer, tmp_path: Path) -> None:
    folder = saved(llama(), tmp_path / "model")
    listed = {"model.embed_tokens.weight": "model.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": listed}))
    hub.add(REF, folder)
    assert hubs.cost(REF).total == 2 * 32 * 8 * 4


def test_a_file_that_was_cut_in_the_librarys_cache_is_fetched_again(model: HubServer) -> None:
    before = ew.load(REF).hashes
    [config] = Path(huggingface_hub.constants.HF_HUB_CACHE).rglob("config.json")
    config.resolve().write_text("{")
    assert ew.load(REF).hashes == before


@pytest.mark.parametrize("name", ["a.git", "owner/a.git", "owner/a-", "owner/a.", "owner/modèle"])
def test_a_name_that_no_hub_model_can_have_is_not_looked_for_there(name: str) -> None:
    assert not hubs.is_hub_id(name)
    with pytest.raises(ew.EmbtieError, match="no folder or file"):
        ew.load(name)


@pytest.mark.parametrize("name", ["gpt2", "owner/a", "EleutherAI/pythia-70m", "o/" + "x" * 94])
def test_names_of_hub_models_are_known(name: str) -> None:
    assert hubs.is_hub_id(name)


def test_an_empty_repository_is_told_by_the_branch_that_it_lacks(model: HubServer) -> None:
    model.faults.api = (404, "RevisionNotFound")
    with pytest.raises(ew.EmbtieError, match="no revision 'main'"):
        ew.load(REF)
