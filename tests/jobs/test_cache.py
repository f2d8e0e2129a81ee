"""The cache: same request and matrices, same result; damage and full disks harm nobody."""

import errno
import os

import pytest

import embtie_widgets as ew
from embtie_widgets.jobs import cache
from tests.sample_results import pair_result

HASHES = {"In": "a" * 64, "Tied": "b" * 64}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_kept_result_is_recalled():
    key = cache.entry_key(ew.AlignRequest(), HASHES)
    assert cache.recall(key) is None
    cache.keep(key, pair_result())
    assert cache.recall(key).summary() == pair_result().summary()


def test_another_request_matrix_or_measure_is_another_entry(monkeypatch):
    keys = {
        cache.entry_key(ew.AlignRequest(), HASHES),
        cache.entry_key(ew.AlignRequest(seed=1), HASHES),
        cache.entry_key(ew.AlignRequest(), HASHES | {"In": "c" * 64}),
    }
    monkeypatch.setattr(cache, "MEASURES", cache.MEASURES + 1)
    assert len(keys | {cache.entry_key(ew.AlignRequest(), HASHES)}) == 4


def test_a_damaged_entry_is_removed(folder):
    cache.keep("k", pair_result())
    path = folder / "k.npz"
    path.write_bytes(path.read_bytes()[:1000])
    assert cache.recall("k") is None
    assert not path.exists()


def test_a_full_disk_leaves_no_half_entry(folder, monkeypatch):
    def full(descriptor, *args, **kwargs):
        os.close(descriptor)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache.os, "fdopen", full)
    cache.keep("k", pair_result())
    assert list(folder.iterdir()) == []


def test_a_place_that_cannot_be_written_is_no_fault(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "file"))
    cache.keep("k", pair_result())
    assert cache.recall("k") is None


def test_off_is_off(tmp_path, monkeypatch):
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    cache.keep("k", pair_result())
    assert cache.recall("k") is None
    assert list(tmp_path.iterdir()) == []


def test_the_longest_unused_entries_go_first(folder, monkeypatch):
    for number, name in enumerate("abc"):
        cache.keep(name, pair_result())
        os.utime(folder / f"{name}.npz", (number, number))
    size = (folder / "a.npz").stat().st_size
    monkeypatch.setattr(cache, "SIZE_LIMIT", int(2.5 * size))
    cache.recall("a")
    cache.keep("d", pair_result())
    assert sorted(path.stem for path in folder.iterdir()) == ["a", "d"]
