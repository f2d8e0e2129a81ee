"""The cache: same request and matrices, same result; damage and full disks harm nobody."""

import errno
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

import embtie_widgets as ew
from embtie_widgets.jobs import cache
from tests.sample_results import pair_result


def _keep_and_recall(folder, _number):
    """How many of thirty recalls gave the whole result."""
    os.environ["EMBTIE_CACHE"] = folder
    whole = 0
    for _ in range(30):
        cache.keep("k", pair_result())
        found = cache.recall("k")
        whole += found is not None and found.summary() == pair_result().summary()
    return whole


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
    assert cache.recall(key).settings["cached"]


def test_what_answered_a_request_last_is_found_without_the_matrices(monkeypatch):
    request = ew.AlignRequest()
    assert cache.latest(request) is None
    cache.kept_or_made(request, HASHES, pair_result)
    cache.kept_or_made(request, HASHES | {"In": "c" * 64}, lambda: pair_result(shift=0.1))
    assert cache.latest(request).summary() == pair_result(shift=0.1).summary()
    cache.kept_or_made(request, HASHES, None)
    assert cache.latest(request).summary() == pair_result().summary()
    assert cache.latest(ew.AlignRequest(seed=1)) is None
    monkeypatch.setattr(cache, "MEASURES", cache.MEASURES + 1)
    assert cache.latest(request) is None


@pytest.mark.parametrize("named", ["", "../../etc/passwd", "\x00", "é", "a" * 10_000])
def test_a_damaged_word_on_what_came_last_leads_nowhere(folder, named):
    cache.kept_or_made(ew.AlignRequest(), HASHES, pair_result)
    (word,) = folder.glob("*.latest")
    word.write_text(named, encoding="utf-8")
    assert cache.latest(ew.AlignRequest()) is None


def test_a_folder_that_is_only_to_be_read_still_gives_what_is_in_it(folder, monkeypatch):
    cache.kept_or_made(ew.AlignRequest(), HASHES, pair_result)

    def refused(*_arguments, **_named):
        raise PermissionError(errno.EACCES, "Permission denied")

    for module, name in ((cache.os, "utime"), (cache.tempfile, "mkstemp")):
        monkeypatch.setattr(module, name, refused)
    assert cache.kept_or_made(ew.AlignRequest(), HASHES, None).settings["cached"]
    made = cache.kept_or_made(ew.AlignRequest(seed=1), HASHES, pair_result)
    assert made.summary() == pair_result().summary()


def test_many_may_write_and_read_one_entry_at_once(folder):
    """As two servers on one folder do; nobody ever sees half an entry."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context) as pool:
        found = list(pool.map(_keep_and_recall, [str(folder)] * 2, range(2)))
    assert found == [30, 30]
    assert [path.name for path in folder.iterdir()] == ["k.npz"]


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
