import errno
import json
import math
from pathlib import Path

import numpy as np
import pytest

from embtie_widgets.cli import files
from embtie_widgets.errors import EmbtieError


def test_numbers_that_json_lacks_become_null() -> None:
    value = files.plain({"a": math.nan, "b": (np.float32("inf"), 1), 2: np.arange(2)})
    assert json.dumps(value, allow_nan=False) == '{"a": null, "b": [null, 1], "2": [0, 1]}'


def test_truth_values_stay_truth_values() -> None:
    assert files.plain({"a": True, "b": np.bool_(False)}) == {"a": True, "b": False}


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
        files.replace(target, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["tokens.csv"]
    assert target.read_text() == "old"
