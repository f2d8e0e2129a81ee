import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embtie_widgets.jobs import pairs
from embtie_widgets.requests import AlignRequest


@pytest.fixture
def request_of_files(tmp_path: Path) -> AlignRequest:
    for name in ("in", "out", "tied"):
        np.save(tmp_path / f"{name}.npy", np.random.default_rng(len(name)).normal(size=(40, 8)))
    a = {"ref": str(tmp_path / "in.npy"), "output_file": str(tmp_path / "out.npy")}
    return AlignRequest(a=a, b=str(tmp_path / "tied.npy"), role_b="input")


def test_another_map_opens_no_file_again(request_of_files: AlignRequest) -> None:
    first = pairs.open_pair(request_of_files)
    assert pairs.open_pair(replace(request_of_files, map="orthogonal")) is first
    assert pairs.open_pair(replace(request_of_files, role_b="auto")) is not first


def test_a_file_that_has_changed_is_read_and_hashed_again(
    request_of_files: AlignRequest, tmp_path: Path
) -> None:
    before = pairs.open_pair(request_of_files).fingerprint
    np.save(tmp_path / "out.npy", np.zeros((40, 8)) + np.arange(8))
    os.utime(tmp_path / "out.npy", ns=(1, 1))
    after = pairs.open_pair(request_of_files).fingerprint
    assert after["Out"] != before["Out"]
    assert after["In"] == before["In"]


def test_a_model_that_is_not_here_is_asked_for_each_time() -> None:
    assert pairs._stamp(AlignRequest(a="some/model")) is None
    assert pairs._stamp(AlignRequest()) == ()
