import errno
from pathlib import Path

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.exports import replace_file


def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "tokens.csv"
    target.write_text("old")

    def fill(path: Path, *_args: object, **_options: object) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fill)
    with pytest.raises(EmbtieError, match="cannot be written: no space left"):
        replace_file(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["tokens.csv"]
    assert target.read_text() == "old"
