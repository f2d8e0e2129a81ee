"""Uploaded files: where they are kept, how they are named, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.uploads import LENS, TABLE, UPLOADED, keep_upload, uploaded_path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path))
    return tmp_path


def test_an_upload_is_found_again_under_its_own_name() -> None:
    named = keep_upload(TABLE, b"step\n1\n", "my log.csv")
    path = uploaded_path(TABLE, named)
    assert (path.name, path.read_bytes()) == ("my log.csv", b"step\n1\n")


def test_the_same_bytes_under_another_name_are_one_file() -> None:
    first, second = (keep_upload(TABLE, b"1", name) for name in ("a.csv", "b.tsv"))
    assert first == second
    assert uploaded_path(TABLE, first).name == "b.tsv"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd.csv", "passwd.csv"),
        ("..\\..\\x.csv", "_.._x.csv"),
        (".hidden.csv", "hidden.csv"),
        ("a\nb\0<b>.CSV", "a_b__b_.csv"),
        ("ä" * 300 + ".csv", "ä" * 40 + ".csv"),
    ],
)
def test_a_hostile_name_leads_nowhere(name: str, kept: str, cache: Path) -> None:
    path = uploaded_path(TABLE, keep_upload(TABLE, b"1", name))
    assert path.name == kept
    assert path.resolve().parent.parent == (cache / "uploads" / "recorded").resolve()


@pytest.mark.parametrize("name", ["a.exe", "a", "csv", "a.safetensors"])
def test_other_kinds_of_file_are_refused(name: str) -> None:
    with pytest.raises(EmbtieError, match=r"expected a recorded run as \.csv"):
        keep_upload(TABLE, b"1", name)


def test_empty_and_too_large_files_are_refused() -> None:
    small = replace(TABLE, most=3)
    for content in (b"", b"1234"):
        with pytest.raises(EmbtieError, match="at most"):
            keep_upload(small, content, "a.csv")


def test_old_uploads_make_room_for_new_ones() -> None:
    small = replace(TABLE, most_in_all=5)
    first = keep_upload(small, b"123", "a.csv")
    second = keep_upload(small, b"456", "a.csv")
    assert uploaded_path(small, second).read_bytes() == b"456"
    with pytest.raises(EmbtieError, match="not here any more"):
        uploaded_path(small, first)


def test_an_upload_of_one_kind_is_none_of_another() -> None:
    named = keep_upload(TABLE, b"1", "a.csv")
    for kind, wrong in ((LENS, named), (TABLE, UPLOADED + "../../x"), (TABLE, UPLOADED)):
        with pytest.raises(EmbtieError, match="not here any more"):
            uploaded_path(kind, wrong)
