"""The hub, played by a stub: only the files that are needed, and a word for every refusal."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import errors

import embtie_widgets as ew
from tests.sources.models import LLAMA, llama, saved


def http(kind: Any, status: int) -> Any:
    response = SimpleNamespace(status_code=status, headers={}, request=None)
    return kind("told: hf_secret", response=response)


class Sibling:
    def __init__(self, name: str) -> None:
        self.rfilename = name


class Hub:
    """One repository behind the hub library's own functions."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.fault: Exception | None = None
        self.cached: Path | None = None
        self.fetched: list[str] = []
        self.sha = "c0ffee"

    def model_info(self, ref: str, revision: str | None = None) -> Any:
        if self.fault is not None:
            raise self.fault
        assert self.folder is not None
        self.siblings = [Sibling(p.name) for p in self.folder.iterdir()]
        return self

    def list_repo_refs(self, ref: str) -> Any:
        raise self.fault or OSError

    def download(self, ref: str, name: str, revision: str | None = None) -> str:
        assert revision == self.sha
        assert self.folder is not None
        self.fetched.append(name)
        return str(self.folder / name)

    def snapshot(
        self, ref: str, revision: str | None = None, local_files_only: bool = False
    ) -> str:
        assert local_files_only
        if self.cached is None:
            raise errors.LocalEntryNotFoundError("nothing cached")
        return str(self.cached)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    big = llama(**(LLAMA | {"vocab_size": 64, "hidden_size": 16}))
    stub = Hub(saved(big, tmp_path / "repository", max_shard_size="5KB"))
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: stub)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", stub.download)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", stub.snapshot)
    return stub


def test_only_the_needed_files_are_fetched(hub: Hub) -> None:
    loaded = ew.load("owner/model", revision="step1000")
    assert (loaded.name, loaded.revision, loaded.tied) == ("owner/model", "c0ffee", "untied")
    assert hub.folder is not None
    shards = {name for name in hub.fetched if name.endswith(".safetensors")}
    assert 1 <= len(shards) <= 2 < len(list(hub.folder.glob("*.safetensors")))
    assert {"config.json", "model.safetensors.index.json"} <= set(hub.fetched)


FAULTS = {
    "gated": lambda: http(errors.GatedRepoError, 403),
    "no public model": lambda: http(errors.RepositoryNotFoundError, 404),
    "no revision": lambda: http(errors.RevisionNotFoundError, 404),
    "has no file": lambda: http(errors.RemoteEntryNotFoundError, 404),
    "does not let this account": lambda: http(errors.HfHubHTTPError, 401),
    "answered with an error .503": lambda: http(errors.HfHubHTTPError, 503),
    "set to offline": lambda: errors.OfflineModeIsEnabled("offline"),
    "cannot be reached": lambda: ConnectionError("no route to secret"),
    "disk is full": lambda: OSError(28, "No space left on device", "/cache/x"),
}


@pytest.mark.parametrize("words", FAULTS)
def test_each_refusal_has_its_own_words_and_next_step(hub: Hub, words: str) -> None:
    hub.fault = FAULTS[words]()
    with pytest.raises(ew.EmbtieError, match=words) as caught:
        ew.load("owner/model", revision="step7")
    assert caught.value.hint
    assert "secret" not in str(caught.value)
    assert "/cache" not in str(caught.value)


def test_a_misspelt_bundled_name_is_told_the_bundled_ones(hub: Hub) -> None:
    hub.fault = FAULTS["no public model"]()
    with pytest.raises(ew.EmbtieError, match="nano-tide") as caught:
        ew.load("nano-tide")
    assert "nano-tied and nano-untied" in caught.value.hint
    with pytest.raises(ew.EmbtieError) as caught:
        ew.load("owner/model")
    assert "nano" not in caught.value.hint


def test_the_refusals_are_all_different(hub: Hub) -> None:
    told = set()
    for fault in FAULTS.values():
        hub.fault = fault()
        with pytest.raises(ew.EmbtieError) as caught:
            ew.load("owner/model", revision="step7")
        told.add(caught.value.message)
    assert len(told) == len(FAULTS)


def test_a_gated_model_in_the_cache_is_used_and_said_so(hub: Hub) -> None:
    hub.cached, hub.fault = hub.folder, FAULTS["gated"]()
    loaded = ew.load("owner/model")
    assert loaded.tied == "untied"
    assert any("local cache" in note and "gated" in note for note in loaded.notes)


def test_a_revision_that_is_not_there_never_falls_back(hub: Hub) -> None:
    hub.cached, hub.fault = hub.folder, FAULTS["no revision"]()
    with pytest.raises(ew.EmbtieError, match="no revision 'step7'"):
        ew.load("owner/model", revision="step7")


def test_a_download_that_fails_half_way_is_explained(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    with pytest.raises(ew.EmbtieError, match="disk is full"):
        ew.load("owner/model")
