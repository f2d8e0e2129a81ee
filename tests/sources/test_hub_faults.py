"""A hub and a disk at their worst: broken off, slow, lying, full; never a half matrix."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled
from embtie_widgets.sources import hub as hubs
from embtie_widgets.sources import remote, tensor_cache, tensor_entry
from tests.hub_server import TOKEN, HubServer
from tests.sources.models import LLAMA, llama, saved

REF = "owner/model"
ROWS = 70_000
MATRIX = ROWS * 16 * 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two matrices of 4.5 MB, in one file."""
    model = llama(**(LLAMA | {"vocab_size": ROWS, "hidden_size": 16}))
    return saved(model, tmp_path_factory.mktemp("model"))


@pytest.fixture
def server(hub: HubServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    """The hub with that model; nobody waits between two tries."""
    monkeypatch.setattr(remote, "_PAUSE", 0.0)
    hub.add(REF, folder)
    return hub


@pytest.fixture(scope="module")
def hashes(folder: Path) -> dict[str, str]:
    return ew.load(folder).hashes


def entries(tmp_path: Path, kind: str = "safetensors") -> list[Path]:
    return sorted((tmp_path / "cache").rglob(f"*.{kind}"))


def moved(server: HubServer) -> int:
    return server.sent("model.safetensors")


def test_a_break_is_mended_where_it_came(server: HubServer, hashes: dict[str, str]) -> None:
    server.faults.breaks_after = [8, 2000, 10**6, 10**6]
    assert ew.load(REF).hashes == hashes
    assert moved(server) < 2.02 * MATRIX


def test_a_store_that_goes_away_is_told_and_the_next_try_goes_on(
    server: HubServer, hashes: dict[str, str], tmp_path: Path
) -> None:
    hubs.cost(REF)  # the header is here already
    server.faults.dead_after = 0
    server.faults.breaks_after = [10**6]
    with pytest.raises(ew.EmbtieError, match=r"broke after 1 MB of 4 MB") as caught:
        ew.load(REF)
    assert "goes on where it stopped" in caught.value.hint
    assert entries(tmp_path) == []
    assert len(entries(tmp_path, "part")) == 1
    server.faults.dead_after = None
    server.forget()
    assert hubs.cost(REF).total == 2 * MATRIX - 10**6
    assert ew.load(REF).hashes == hashes
    assert moved(server) == 2 * MATRIX - 10**6


def test_a_killed_kernel_loses_only_what_was_not_yet_on_the_disk(
    server: HubServer, hashes: dict[str, str], tmp_path: Path
) -> None:
    code = f"""
import os
import embtie_widgets as ew
from embtie_widgets.sources import tensor_entry

def die(stage, done, total):
    if "embed" in stage and done > 3 * 2**20:
        os._exit(9)

tensor_entry.SETTLE = 2**21
ew.load("{REF}", progress=die)
"""
    environment = {**os.environ, **server.environment(tmp_path / "home")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.returncode == 9
    server.forget()
    assert ew.load(REF).hashes == hashes
    assert 2 * MATRIX - 3 * 2**20 < moved(server) <= 2 * MATRIX - 2**21


def test_a_part_with_less_than_it_counts_is_not_gone_on_with(
    server: HubServer, hashes: dict[str, str], tmp_path: Path
) -> None:
    hubs.cost(REF)
    server.faults.breaks_after = [10**6]
    server.faults.dead_after = 0
    with pytest.raises(ew.EmbtieError, match="broke"):
        ew.load(REF)
    [part] = entries(tmp_path, "part")
    part.write_bytes(part.read_bytes()[:5000])
    server.faults.dead_after = None
    assert ew.load(REF).hashes == hashes


def test_a_matrix_is_never_used_from_a_part(server: HubServer, tmp_path: Path) -> None:
    hubs.cost(REF)
    server.faults.breaks_after = [MATRIX, MATRIX - 1]
    server.faults.dead_after = 0
    with pytest.raises(ew.EmbtieError, match="broke"):
        ew.load(REF)
    assert len(entries(tmp_path)) == 1


def test_a_mirror_that_redirects_nowhere_is_read_and_knows_the_user(
    server: HubServer, hashes: dict[str, str]
) -> None:
    server.faults.redirects = False
    assert ew.load(REF).hashes == hashes
    assert {request.server for request in server.requests} == {"hub"}
    asked = [r for r in server.requests if "model.safetensors" in r.path]
    assert asked == [request for request in server.authorised("hub") if request in asked]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 403])
def test_a_passing_fault_of_the_store_is_asked_again(
    server: HubServer, hashes: dict[str, str], status: int
) -> None:
    server.faults.store_status = [status]
    assert ew.load(REF).hashes == hashes


def test_an_address_that_ran_out_is_asked_for_anew_once(server: HubServer) -> None:
    server.faults.store_status = [403] * 9
    with pytest.raises(ew.EmbtieError, match="does not let this account") as caught:
        ew.load(REF)
    assert server.asked("model.safetensors", "HEAD") == 2
    assert TOKEN not in str(caught.value)
    assert TOKEN[::-1] not in str(caught.value)


def test_a_server_without_ranges_is_read_past_and_said_so(
    server: HubServer, hashes: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    server.faults.ranges = False
    told: list[tuple[str, int]] = []
    loaded = ew.load(REF, progress=lambda stage, done, _: told.append((stage, done)))
    assert loaded.hashes == hashes
    assert any("gives out no parts" in note for note in loaded.notes)
    first = next(stage for stage, _ in told if "embed_tokens" in stage)
    assert "pass by" in first  # it is said before the first byte of the matrix
    assert sum(path.stat().st_size for path in entries(tmp_path)) < 2.01 * MATRIX


def test_what_a_server_without_ranges_will_move_is_told(server: HubServer, folder: Path) -> None:
    server.faults.ranges = False
    whole = (folder / "model.safetensors").stat().st_size
    assert hubs.cost(REF).total > 2 * MATRIX * 0.99
    assert hubs.cost(REF).total <= whole


def test_reading_past_can_be_cancelled(server: HubServer) -> None:
    server.faults.ranges = False
    hubs.cost(REF)

    def stop(stage: str, done: int, total: int) -> None:
        raise Cancelled

    server.faults.pause = 0.01
    server.forget()
    with pytest.raises(Cancelled):
        ew.load(REF, progress=stop)


def test_an_answer_without_length_is_counted_by_its_bytes(
    server: HubServer, hashes: dict[str, str]
) -> None:
    server.faults.length = False
    server.faults.breaks_after = [8, 2000, 10**6]
    assert ew.load(REF).hashes == hashes


def test_a_file_that_changes_while_it_is_read_is_refused(server: HubServer, tmp_path: Path) -> None:
    server.faults.changing = True
    with pytest.raises(ew.EmbtieError, match="changed while it was read"):
        ew.load(REF)
    assert entries(tmp_path) == []


def test_a_file_that_the_hub_lists_otherwise_is_refused(
    server: HubServer,
) -> None:
    listed, _, _ = hubs.open_hub(REF, None)
    for files in server.commits.values():
        stored = files["model.safetensors"]
        files["model.safetensors"] = type(stored)(stored.path, stored.size, "f" * 64, True)
    with pytest.raises(ew.EmbtieError, match="is not the file that the hub lists"):
        listed.tensors("model.safetensors")


def test_other_bytes_than_stored_are_never_a_matrix(server: HubServer) -> None:
    server.faults.garbled = True
    with pytest.raises(ew.EmbtieError, match="damaged"):
        ew.load(REF)


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "foreign", "longer"])
def test_a_damaged_entry_is_fetched_again(
    server: HubServer, hashes: dict[str, str], tmp_path: Path, harm: str
) -> None:
    ew.load(REF)
    for path in entries(tmp_path):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        harms = {
            "cut": bytes(data[:-7]),
            "flipped": bytes(data),
            "empty": b"",
            "foreign": b"\x02\0\0\0\0\0\0\0{}",
            "longer": path.read_bytes() + b"more",
        }
        path.write_bytes(harms[harm])
        os.utime(path, (1, 1))
    server.forget()
    assert ew.load(REF).hashes == hashes
    assert moved(server) == 2 * MATRIX


def test_an_entry_that_was_copied_elsewhere_is_checked_and_kept(
    server: HubServer, hashes: dict[str, str], tmp_path: Path
) -> None:
    ew.load(REF)
    for path in entries(tmp_path):
        os.utime(path, (1, 1))
    server.forget()
    assert ew.load(REF).hashes == hashes
    assert moved(server) == 0
    assert all(path.stat().st_mtime > 1 for path in entries(tmp_path))


def test_a_matrix_from_the_cache_is_mapped_not_copied(server: HubServer, tmp_path: Path) -> None:
    ew.load(REF)
    loaded = ew.load(REF)
    names = {path.name for path in entries(tmp_path)}
    with open("/proc/self/maps") as maps:
        mapped = {line.rsplit("/", 1)[-1].strip() for line in maps}
    assert names <= mapped
    assert loaded.output is not None


def test_without_a_cache_the_matrices_are_read_into_memory(
    server: HubServer, hashes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    loaded = ew.load(REF)
    assert (loaded.hashes, loaded.notes, entries(tmp_path)) == (hashes, [], [])


def test_a_cache_that_cannot_be_written_is_done_without(
    server: HubServer, hashes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "file"))
    loaded = ew.load(REF)
    assert loaded.hashes == hashes
    assert any("cannot be written" in note for note in loaded.notes)


def test_a_whole_cache_that_may_only_be_read_works(
    server: HubServer, hashes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ew.load(REF)
    server.forget()

    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(errno.EACCES, "read only")

    # As root no mode keeps one from writing.
    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(Path, "touch", refuse)
    monkeypatch.setattr(tensor_cache.tempfile, "NamedTemporaryFile", refuse)
    loaded = ew.load(REF)
    assert (loaded.hashes, loaded.notes, moved(server)) == (hashes, [], 0)


def test_a_disk_that_is_too_small_is_told_before_a_byte_moves(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = type("Usage", (), {"free": 10**6})()
    hubs.cost(REF)
    server.forget()
    monkeypatch.setattr(tensor_cache.shutil, "disk_usage", lambda _: small)
    with pytest.raises(ew.EmbtieError, match=r"needs 4 MB.* has 1 MB free") as caught:
        ew.load(REF)
    assert "EMBTIE_CACHE" in caught.value.hint
    assert moved(server) == 0


def test_a_disk_that_fills_up_is_told_and_the_next_try_starts_clean(
    server: HubServer, hashes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = tensor_entry.Part.write

    def full(self: Any, chunk: bytes) -> None:
        if self.done >= 2**20:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, chunk)

    monkeypatch.setattr(tensor_entry.Part, "write", full)
    with pytest.raises(ew.EmbtieError, match="disk is full"):
        ew.load(REF)
    assert entries(tmp_path, "part") == entries(tmp_path) == []
    monkeypatch.setattr(tensor_entry.Part, "write", write)
    assert ew.load(REF).hashes == hashes


def test_the_longest_unused_matrices_make_room_for_new_ones(
    server: HubServer, hashes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = ew.load(REF)
    first, second = entries(tmp_path)
    for path, used in ((first, 1), (second, 2)):
        os.utime(path, (used, path.stat().st_mtime))
    small = type("Usage", (), {"free": 3 * MATRIX})()
    monkeypatch.setattr(tensor_cache.shutil, "disk_usage", lambda _: small)
    tensor_cache._make_room(first.parents[1], second)
    assert entries(tmp_path) == [first, second]
    small.free = MATRIX // 2
    tensor_cache._make_room(first.parents[1], second)
    assert entries(tmp_path) == [second]
    assert loaded.hashes == hashes  # what is mapped stays
    small.free = 10**9
    assert ew.load(REF).hashes == hashes


def test_a_matrix_too_large_for_the_memory_is_refused_before(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    little = type("Memory", (), {"available": 10**6})()
    monkeypatch.setattr(tensor_cache.psutil, "virtual_memory", lambda: little)
    with pytest.raises(ew.EmbtieError, match="1 MB of memory are free"):
        ew.load(REF)


def test_two_kernels_at_once_fetch_a_matrix_once(
    server: HubServer, hashes: dict[str, str], tmp_path: Path
) -> None:
    server.faults.pause = 0.02
    code = f"import embtie_widgets as ew; print(ew.load('{REF}').hashes)"
    environment = {**os.environ, **server.environment(tmp_path / "home")}
    other = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
    )
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(ew.load(REF))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told, _ = other.communicate(timeout=120)
    assert told.strip() == str(hashes)
    assert [one.hashes for one in found] == [hashes] * 2
    assert moved(server) < 2.02 * MATRIX


def test_waiting_for_another_kernel_is_told_and_can_be_cancelled(
    server: HubServer, tmp_path: Path
) -> None:
    server.faults.pause = 0.2
    begun = threading.Event()

    def tell(stage: str, done: int, total: int) -> None:
        if "embed" in stage and done:
            begun.set()

    first = threading.Thread(target=lambda: ew.load(REF, progress=tell))
    first.start()
    begun.wait(30)

    def stop(stage: str, done: int, total: int) -> None:
        if "another kernel" in stage:
            raise Cancelled

    with pytest.raises(Cancelled):
        ew.load(REF, progress=stop)
    server.faults.pause = 0.0
    first.join()


def test_a_bfloat16_matrix_in_memory_is_what_the_file_holds(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    local = saved(llama().to(torch.bfloat16), tmp_path / "half")
    hub.add(REF, local)
    loaded = ew.load(REF)
    assert loaded.input.dtype == torch.bfloat16
    assert loaded.hashes == ew.load(local).hashes
