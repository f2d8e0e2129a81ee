"""Whole models from a hub: only needed files move, once, and nothing of a model that is refused."""

from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources import hub_files, placing
from embtie_widgets.sources.models import (
    bytes_to_fetch,
    let_go,
    model_hash,
    needed_bytes,
    open_model,
)
from tests.hub_server import HubServer
from tests.sources.models import LLAMA, edit_config, llama, saved
from tests.sources.tiny import tiny

REF, WEIGHTS = "owner/model", ".safetensors"
IDS = torch.tensor([[1, 5, 9, 3]])
MODEL: dict[str, Any] = LLAMA | {"vocab_size": 640, "hidden_size": 16}
Disk = namedtuple("Disk", "total used free")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """In three shards."""
    return saved(llama(**MODEL), tmp_path / "model", max_shard_size="45KB")


@pytest.fixture(autouse=True)
def nothing_kept() -> Any:
    let_go()
    yield
    let_go()


def logits_of(model: Any) -> torch.Tensor:
    """(B, T, V)."""
    with torch.no_grad():
        return model(input_ids=IDS, use_cache=False).logits


def test_a_hub_model_computes_what_its_folder_does(hub: HubServer, folder: Path) -> None:
    commit = hub.add(REF, folder, "main", "step1")
    opened = open_model(REF)
    assert (opened.name, opened.revision) == (REF, commit)
    assert torch.equal(logits_of(opened.model), logits_of(llama(**MODEL)))
    assert opened.hashes == {"model": model_hash(folder)}


def test_no_file_moves_that_is_not_needed(hub: HubServer, folder: Path) -> None:
    (folder / "README.md").write_text("words")
    (folder / "modeling_own.py").write_text("raise SystemExit")
    (folder / "chat_template.jinja").write_text("{{ x }}")
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    edit_config(folder, auto_map={"AutoModelForCausalLM": "modeling_own.Own"})
    hub.add(REF, folder)
    open_model(REF)
    spare = (".md", ".py", ".jinja", ".bin", "generation_config.json")
    assert [hub.asked(ending) for ending in spare] == [0] * 5
    assert hub.sent(WEIGHTS) > sum(path.stat().st_size for path in folder.glob("*.safetensors"))


def test_the_second_time_no_weights_move(hub: HubServer, folder: Path) -> None:
    hub.add(REF, folder)
    open_model(REF)
    hub.forget()
    let_go()
    open_model(REF)
    assert hub.asked(WEIGHTS) == 0


def test_a_revision_is_the_models_own(hub: HubServer, folder: Path, tmp_path: Path) -> None:
    hub.add(REF, folder)
    other = llama(**(MODEL | {"num_hidden_layers": 1}))
    commit = hub.add(REF, saved(other, tmp_path / "other"), "step1")
    opened = open_model(ModelRef(REF, revision="step1"))
    assert opened.revision == commit
    assert torch.equal(logits_of(opened.model), logits_of(other))


def test_without_the_hub_what_was_fetched_is_opened(hub: HubServer, folder: Path) -> None:
    hub.add(REF, folder)
    first = open_model(REF)
    let_go()
    hub.faults.api = (503, "Down")
    second = open_model(REF)
    assert any("local cache" in note for note in second.notes)
    assert torch.equal(logits_of(first.model), logits_of(second.model))


def test_the_size_and_the_hash_are_told_without_fetching_weights(
    hub: HubServer, folder: Path
) -> None:
    hub.add(REF, folder)
    assert needed_bytes(REF) == sum(p.nbytes for p in llama(**MODEL).parameters())
    assert model_hash(REF) == model_hash(folder)
    sizes = [path.stat().st_size for path in folder.glob("*.safetensors")]
    assert bytes_to_fetch(REF) == sum(sizes)
    assert hub.sent(WEIGHTS) < 20_000
    open_model(REF)
    assert bytes_to_fetch(REF) == 0


def test_what_is_refused_moves_no_weights(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    hub.add("owner/t5", saved(tiny("t5", True), tmp_path / "t5"))
    with pytest.raises(EmbtieError, match="encoder-decoder"):
        open_model("owner/t5")
    hub.add(REF, folder)
    monkeypatch.setattr(placing, "free_bytes", lambda _: {"this machine": 1000})
    monkeypatch.setattr(placing.shutil, "disk_usage", lambda _: Disk(0, 0, 1000))
    with pytest.raises(EmbtieError, match="needs"):
        open_model(REF)
    assert hub.sent(WEIGHTS) < 20_000


def test_a_full_disk_is_seen_before_the_weights_come(
    hub: HubServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(REF, folder)
    monkeypatch.setattr(hub_files.shutil, "disk_usage", lambda _: Disk(0, 0, 1000))
    with pytest.raises(EmbtieError, match="free"):
        open_model(REF)
    assert hub.sent(WEIGHTS) < 20_000


def test_pickles_come_from_the_hub_through_the_safe_reader(
    hub: HubServer, folder: Path, tmp_path: Path
) -> None:
    pickled = tmp_path / "pickled"
    pickled.mkdir()
    (pickled / "config.json").write_text((folder / "config.json").read_text())
    torch.save(llama(**MODEL).state_dict(), pickled / "pytorch_model.bin")
    hub.add(REF, pickled)
    assert torch.equal(logits_of(open_model(REF).model), logits_of(llama(**MODEL)))
