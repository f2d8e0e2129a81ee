"""Counting a model of the hub: headers move, weights do not."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import embtie_widgets as ew
from tests.hub_server import HubServer
from tests.sources.models import LLAMA, llama, saved

REF = "owner/model"
SIZES = LLAMA | {"vocab_size": 5000, "hidden_size": 32}
MATRIX = 5000 * 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Untied, in shards: E in the first, U in the last."""
    return saved(llama(**SIZES), tmp_path / "model", max_shard_size="700KB")


def test_a_sharded_model_is_counted_from_its_headers(hub: HubServer, folder: Path) -> None:
    commit = hub.add(REF, folder)
    found = ew.parameters(REF)
    assert len(list(folder.glob("*.safetensors"))) >= 2
    assert (found.untied, found.saved) == (ew.parameters(folder).untied, MATRIX)
    assert hub.sent(".safetensors") < 20_000
    facts = found.settings["model"]
    assert (facts["source"], facts["name"], facts["revision"]) == ("hub", REF, commit)
    assert "not in the headers" in found.notes[0]


def test_a_revision_is_counted_as_it_is_there(hub: HubServer, tmp_path: Path) -> None:
    hub.add(REF, saved(llama(**SIZES), tmp_path / "a"))
    hub.add(REF, saved(llama(tied=True, **SIZES), tmp_path / "b"), "step5")
    first, fifth = (ew.parameters(ew.ModelRef(REF, at)) for at in (None, "step5"))
    assert first.settings["status"] == "untied, or tied and stored twice"
    assert fifth.settings["status"] == "tied"
    assert (first.untied, first.tied) == (fifth.untied, fifth.tied)


def test_a_repository_of_pickles_is_counted_from_its_configuration(
    hub: HubServer, tmp_path: Path
) -> None:
    folder = saved(llama(**SIZES), tmp_path / "model")
    wanted = ew.parameters(folder).untied
    weights = folder / "model.safetensors"
    torch.save(load_file(weights), folder / "pytorch_model.bin")
    weights.unlink()
    hub.add(REF, folder)
    found = ew.parameters(REF)
    assert found.untied == wanted
    assert hub.sent(".bin") == 0
    assert "Its files are pickles" in found.notes[0]
    assert "Counted from the configuration alone" in found.notes[1]


def test_a_report_asks_the_hub_only_where_it_must(hub: HubServer, folder: Path) -> None:
    hub.add("Qwen/Qwen3-8B", folder)
    assert ew.run(ew.ParametersRequest("Qwen/Qwen3-8B")).model.untied == 8_190_735_360
    assert hub.requests == []
    asked = ew.run(ew.ParametersRequest("Qwen/Qwen3-8B", source="headers"))
    assert asked.model.untied == ew.parameters(folder).untied
    assert asked.name == "Qwen3 8B"


def test_a_model_that_is_not_there_is_told(hub: HubServer) -> None:
    with pytest.raises(ew.EmbtieError, match="no public model 'owner/missing'"):
        ew.parameters("owner/missing")
