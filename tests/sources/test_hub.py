"""Models from a hub: only what is needed moves, once, and each refusal has its own words."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
import torch
from huggingface_hub import errors
from safetensors.torch import load_file

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled
from embtie_widgets.sources import hub as hubs
from embtie_widgets.sources.checkpoint import Checkpoint
from tests.hub_server import TOKEN, HubServer, use
from tests.sources.models import LLAMA, edit_config, llama, saved

REF = "owner/model"
WEIGHTS = ".safetensors"
MATRIX = 640 * 16 * 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """640 x 16, untied, in three shards: E in the first, U in the last."""
    model = llama(**(LLAMA | {"vocab_size": 640, "hidden_size": 16}))
    return saved(model, tmp_path / "model", max_shard_size="45KB")


@pytest.fixture
def single(tmp_path: Path) -> Path:
    model = llama(**(LLAMA | {"vocab_size": 640, "hidden_size": 16}))
    return saved(model, tmp_path / "single")


def test_a_hub_model_is_what_its_files_hold(hub: HubServer, folder: Path) -> None:
    commit = hub.add(REF, folder, "main", "step1000")
    loaded = ew.load(REF, revision="step1000")
    assert (loaded.name, loaded.revision, loaded.tied) == (REF, commit, "untied")
    assert loaded.hashes == ew.load(folder).hashes
    assert loaded.notes == []


def test_no_more_than_the_two_matrices_and_their_headers_moves(
    hub: HubServer, folder: Path
) -> None:
    hub.add(REF, folder)
    ew.load(REF)
    headers = [path.stat().st_size for path in folder.glob("*.safetensors")]
    assert len(headers) == 3
    assert 2 * MATRIX < hub.sent(WEIGHTS) < 2 * MATRIX + 1000
    assert hub.sent("model-00002-of-00003.safetensors") == 0


def test_the_hub_is_asked_once_for_the_place_of_a_file(hub: HubServer, single: Path) -> None:
    hub.add(REF, single)
    ew.load(REF)
    assert hub.asked("model.safetensors", "HEAD") == 1
    assert hub.asked("model.safetensors") == 4  # two for the header, two matrices


def test_the_second_time_no_byte_of_a_weights_file_moves(hub: HubServer, folder: Path) -> None:
    hub.add(REF, folder)
    first = ew.load(REF)
    hub.forget()
    second = ew.load(REF)
    assert hub.asked(WEIGHTS) == hub.asked(WEIGHTS, "HEAD") == 0
    assert second.hashes == first.hashes


def test_a_file_that_two_revisions_share_moves_once(hub: HubServer, folder: Path) -> None:
    hub.add(REF, folder, "step1")
    ew.load(REF, "step1")
    edit_config(folder, added=True)
    hub.add(REF, folder, "step2")
    hub.forget()
    ew.load(REF, "step2")
    assert hub.sent(WEIGHTS) == 0
    assert hubs.file_hashes(REF, "step1") == hubs.file_hashes(REF, "step2")


def test_the_token_goes_to_the_hub_and_to_no_other_server(hub: HubServer, folder: Path) -> None:
    hub.add(REF, folder)
    ew.load(REF)
    assert hub.authorised("hub")
    assert hub.authorised("store") == []
    assert any(request.server == "store" for request in hub.requests)


def test_a_whole_copy_in_the_hub_librarys_cache_is_mapped(hub: HubServer, folder: Path) -> None:
    hub.add(REF, folder)
    huggingface_hub.snapshot_download(REF)
    hub.forget()
    assert ew.load(REF).hashes == ew.load(folder).hashes
    assert hub.asked(WEIGHTS) == hub.asked(WEIGHTS, "HEAD") == 0


def test_an_unfinished_download_of_the_hub_library_is_not_read(
    hub: HubServer, single: Path, tmp_path: Path
) -> None:
    hub.add(REF, single)
    huggingface_hub.snapshot_download(REF)
    [blob] = (p for p in tmp_path.glob("home/hub/*/blobs/*") if p.stat().st_size > MATRIX)
    blob.write_bytes(blob.read_bytes()[: MATRIX // 2])
    blob.with_name(f"{blob.name}.incomplete").write_bytes(b"\0" * 2 * MATRIX)
    assert ew.load(REF).hashes == ew.load(single).hashes


def test_shapes_of_all_tensors_come_from_headers_alone(hub: HubServer, folder: Path) -> None:
    hub.add(REF, folder)
    files, _, _ = hubs.open_hub(REF, None)
    shapes = dict(Checkpoint(files))
    expected = {
        name: tuple(tensor.shape)
        for path in folder.glob("*.safetensors")
        for name, tensor in load_file(path).items()
    }
    assert shapes == expected
    assert hub.sent(WEIGHTS) < 5000


def test_small_tensors_come_by_their_bytes_too(hub: HubServer, folder: Path) -> None:
    hub.add(REF, folder)
    files, _, _ = hubs.open_hub(REF, None)
    found = Checkpoint(files).read("model.norm.weight")
    shard = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    assert torch.equal(found, load_file(folder / shard["model.norm.weight"])["model.norm.weight"])


def test_progress_tells_bytes(hub: HubServer, folder: Path) -> None:
    hub.add(REF, folder)
    told: list[tuple[str, int, int]] = []
    ew.load(REF, progress=lambda *step: told.append(step))
    last = {stage: (done, total) for stage, done, total in told}
    assert last[f"lm_head.weight of {REF}"] == (MATRIX, MATRIX)
    assert all(done <= total for _, done, total in told)


def test_a_cancelled_load_stops_and_the_next_goes_on(hub: HubServer, tmp_path: Path) -> None:
    big = llama(**(LLAMA | {"vocab_size": 70_000, "hidden_size": 16}))
    hub.add(REF, saved(big, tmp_path / "big"))

    def stop(stage: str, done: int, total: int) -> None:
        if "embed" in stage and done >= 2**21:
            raise Cancelled

    with pytest.raises(Cancelled):
        ew.load(REF, progress=stop)
    hub.forget()
    loaded = ew.load(REF)
    assert loaded.hashes == ew.load(tmp_path / "big").hashes
    size = 70_000 * 16 * 4
    assert hub.sent(WEIGHTS) <= 2 * size - 2**21


def test_revisions_are_branches_and_tags(hub: HubServer, folder: Path) -> None:
    hub.add(REF, folder, "main", "step1000")
    assert hubs.list_revisions(REF) == ["main", "step1000"]


def test_what_will_move_is_told_before_and_is_what_moves(hub: HubServer, folder: Path) -> None:
    commit = hub.add(REF, folder)
    cost = hubs.cost(REF)
    assert (cost.commit, cost.total, cost.notes) == (commit, 2 * MATRIX, ())
    assert set(cost.files) == {path.name for path in folder.glob("*.safetensors")}
    before = hub.sent(WEIGHTS)
    ew.load(REF)
    assert hub.sent(WEIGHTS) - before == cost.total
    assert hubs.cost(REF).total == 0


def pickled(folder: Path) -> Path:
    [path] = folder.glob("*.safetensors")
    torch.save(load_file(path), folder / "pytorch_model.bin")
    path.unlink()
    return folder / "pytorch_model.bin"


def test_a_pickle_comes_whole_and_that_is_said_before(hub: HubServer, single: Path) -> None:
    before = ew.load(single).hashes
    path = pickled(single)
    hub.add(REF, single)
    cost = hubs.cost(REF)
    assert cost.moved == {path.name: path.stat().st_size}
    assert "whole" in cost.notes[0]
    assert hub.sent(".bin") == 0
    told: list[str] = []
    loaded = ew.load(REF, progress=lambda stage, *_: told.append(stage))
    assert loaded.hashes == before
    assert any(path.name in note and "whole" in note for note in loaded.notes)
    assert any("a pickle has no parts" in stage for stage in told)
    hub.forget()
    assert (ew.load(REF).hashes, hub.sent(".bin"), hubs.cost(REF).total) == (before, 0, 0)


def test_a_script_without_progress_is_told_of_a_pickle_before_it_comes(
    hub: HubServer, single: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pickled(single)
    hub.add(REF, single)
    hub.faults.dead_after = 0
    with pytest.raises(ew.EmbtieError):
        ew.load(REF)
    assert "cannot be read in parts" in caplog.text
    caplog.clear()
    with pytest.raises(ew.EmbtieError):
        ew.load(REF, progress=lambda *_: None)
    assert "in parts" not in caplog.text


def test_of_pickles_in_parts_only_those_of_the_matrices_come(hub: HubServer, single: Path) -> None:
    before = ew.load(single).hashes
    [path] = single.glob("*.safetensors")
    tensors, where = load_file(path), {}
    path.unlink()
    for number, name in enumerate(sorted(tensors)):
        where[name] = f"pytorch_model-{number % 3}.bin"
    for file in set(where.values()):
        kept = {name: tensors[name] for name in tensors if where[name] == file}
        torch.save(kept, single / file)
    (single / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": where}))
    hub.add(REF, single)
    needed = {where["model.embed_tokens.weight"], where["lm_head.weight"]}
    assert len(needed) == 2
    assert hubs.cost(REF).moved == {file: (single / file).stat().st_size for file in needed}
    assert hub.sent(".bin") == 0
    assert ew.load(REF).hashes == before
    assert hub.sent(".bin") == sum((single / file).stat().st_size for file in needed)


def test_a_pickle_with_other_bytes_than_listed_is_refused_and_removed(
    hub: HubServer, single: Path
) -> None:
    before = ew.load(single).hashes
    pickled(single)
    hub.add(REF, single)
    hub.faults.garbled = True
    with pytest.raises(ew.EmbtieError, match="other bytes than the hub lists"):
        ew.load(REF)
    hub.faults.garbled = False
    assert ew.load(REF).hashes == before


def test_a_pickle_on_the_hub_that_would_run_something_is_refused(
    hub: HubServer, single: Path, tmp_path: Path
) -> None:
    path, mark = pickled(single), tmp_path / "was-run"
    path.write_bytes(pickle.dumps({"x": Command(mark)}, protocol=2))
    hub.add(REF, single)
    with pytest.raises(ew.EmbtieError, match="nothing in it was run"):
        ew.load(REF)
    assert not mark.exists()


class Command:
    """What a hostile pickle would do."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.target,)


def test_fetching_a_pickle_can_be_cancelled(hub: HubServer, single: Path) -> None:
    pickled(single)
    hub.add(REF, single)

    def stop(stage: str, done: int, total: int) -> None:
        if ".bin" in stage and done:
            raise Cancelled

    with pytest.raises(Cancelled):
        ew.load(REF, progress=stop)


def test_safetensors_go_before_pickles(hub: HubServer, folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"not read")
    hub.add(REF, folder)
    assert ew.load(REF).tied == "untied"
    assert hub.sent(".bin") == 0


def test_without_network_what_was_fetched_is_used_and_said_so(
    hub: HubServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(REF, folder)
    first = ew.load(REF)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    again = ew.load(REF)
    assert (again.hashes, again.revision) == (first.hashes, first.revision)
    assert any("local cache" in note and "offline" in note for note in again.notes)
    with pytest.raises(ew.EmbtieError, match="offline"):
        ew.load("owner/other")


def test_without_network_a_copy_of_the_hub_library_alone_is_enough(
    hub: HubServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = hub.add(REF, folder)
    huggingface_hub.snapshot_download(REF)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    loaded = ew.load(REF)
    assert (loaded.hashes, loaded.revision) == (ew.load(folder).hashes, commit)
    assert any("local cache" in note for note in loaded.notes)


def test_without_network_and_without_the_matrices_the_reason_is_told(
    hub: HubServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(REF, folder)
    hubs.cost(REF)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ew.EmbtieError, match="set to offline"):
        ew.load(REF)


@pytest.mark.parametrize("where", ["api", "files"])
def test_a_gated_model_in_the_cache_is_used_and_said_so(
    hub: HubServer, folder: Path, where: str
) -> None:
    hub.add(REF, folder)
    huggingface_hub.snapshot_download(REF)
    edit_config(folder, added=True)
    hub.add(REF, folder)  # the branch moves on, and then the door closes
    setattr(hub.faults, where, (403, "GatedRepo"))
    loaded = ew.load(REF)
    assert loaded.tied == "untied"
    assert any("local cache" in note and "gated" in note for note in loaded.notes)


@pytest.mark.parametrize("where", ["api", "files"])
def test_a_gated_model_without_copy_is_refused_without_the_token(
    hub: HubServer, folder: Path, where: str
) -> None:
    hub.add(REF, folder)
    setattr(hub.faults, where, (403, "GatedRepo"))
    with pytest.raises(ew.EmbtieError, match="gated") as caught:
        ew.load(REF)
    assert TOKEN not in str(caught.value)
    assert "access" in caught.value.hint


def test_a_revision_that_is_not_there_never_falls_back(hub: HubServer, folder: Path) -> None:
    hub.add(REF, folder)
    ew.load(REF)
    with pytest.raises(ew.EmbtieError, match="no revision 'step7'") as caught:
        ew.load(REF, revision="step7")
    assert "main" in caught.value.hint


def test_a_shard_that_the_repository_lacks_makes_the_head_unavailable(
    hub: HubServer, folder: Path
) -> None:
    (folder / "model-00003-of-00003.safetensors").unlink()
    hub.add(REF, folder)
    loaded = ew.load(REF)
    assert (loaded.tied, loaded.output) == ("head unavailable", None)
    assert any("model-00003-of-00003" in note for note in loaded.notes)


def load_elsewhere(environment: dict[str, str]) -> dict[str, str]:
    """The hashes as another process finds them."""
    code = f"import embtie_widgets as ew, json; print(json.dumps(ew.load('{REF}').hashes))"
    kept = {key: value for key, value in os.environ.items() if key != "EMBTIE_CACHE"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_the_variables_of_the_hub_library_count(
    hub: HubServer, folder: Path, tmp_path: Path
) -> None:
    hub.add(REF, folder)
    environment = hub.environment(tmp_path / "elsewhere")
    first = load_elsewhere(environment)
    hub.forget()
    offline = load_elsewhere(environment | {"HF_HUB_OFFLINE": "1"})
    assert first == offline == ew.load(folder).hashes
    kept = (tmp_path / "elsewhere" / "assets" / "embtie" / "tensors").rglob("*.safetensors")
    assert len(list(kept)) == 2


def test_a_proxy_is_used_and_the_store_behind_it_sees_no_token(
    hub: HubServer, folder: Path, tmp_path: Path
) -> None:
    hub.add(REF, folder)
    behind = {"HF_ENDPOINT": "http://hub.invalid", "HTTP_PROXY": hub.url, "NO_PROXY": "localhost"}
    found = load_elsewhere(hub.environment(tmp_path / "elsewhere") | behind)
    assert found == ew.load(folder).hashes
    assert any(request.path.startswith("http://hub.invalid") for request in hub.requests)
    assert hub.authorised("store") == []


def http(kind: Any, status: int) -> Any:
    response = SimpleNamespace(status_code=status, headers={}, request=None)
    return kind("told: hf_secret", response=response)


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
    "may not be written": lambda: PermissionError(13, "Permission denied", "/cache/x"),
}


@pytest.fixture
def fault(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let whatever asks the hub about a model fail so."""

    def set_to(error: Exception) -> None:
        def fail(*_: Any, **__: Any) -> Any:
            raise error

        monkeypatch.setattr(huggingface_hub.HfApi, "model_info", fail)

    return set_to


@pytest.mark.parametrize("words", FAULTS)
def test_each_refusal_has_its_own_words_and_next_step(fault: Any, words: str) -> None:
    fault(FAULTS[words]())
    with pytest.raises(ew.EmbtieError, match=words) as caught:
        ew.load(REF, revision="step7")
    assert caught.value.hint
    assert "secret" not in str(caught.value)
    assert "/cache" not in str(caught.value)


def test_the_refusals_are_all_different(fault: Any) -> None:
    told = set()
    for make in FAULTS.values():
        fault(make())
        with pytest.raises(ew.EmbtieError) as caught:
            ew.load(REF, revision="step7")
        told.add(caught.value.message)
    assert len(told) == len(FAULTS)


def test_a_misspelt_bundled_name_is_told_the_bundled_ones(hub: HubServer) -> None:
    with pytest.raises(ew.EmbtieError, match="nano-tide") as caught:
        ew.load("nano-tide")
    assert "nano-tied and nano-untied" in caught.value.hint
    with pytest.raises(ew.EmbtieError) as caught:
        ew.load(REF)
    assert "nano" not in caught.value.hint


def test_a_hub_that_is_not_there_is_told_from_a_model_that_is_not(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with HubServer() as gone:
        pass
    use(monkeypatch, gone, tmp_path / "other")
    with pytest.raises(ew.EmbtieError, match="cannot be reached"):
        ew.load(REF)


def test_a_small_file_that_cannot_be_kept_is_explained(
    hub: HubServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> str:
        raise OSError(28, "No space left on device")

    hub.add(REF, folder)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    with pytest.raises(ew.EmbtieError, match="disk is full"):
        ew.load(REF)
