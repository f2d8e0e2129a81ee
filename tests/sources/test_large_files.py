"""Files larger than what this machine can map at once."""

import json
import struct
from pathlib import Path

import pytest
import torch

from embtie_widgets.sources.load import load

_ROWS, _WIDTH, _REST = 64, 16, 2**42


@pytest.fixture
def giant(tmp_path: Path) -> Path:
    """A file of 4 TiB that is a hole but for one matrix of ones."""
    size = _ROWS * _WIDTH * 4
    head = {
        "body": {"dtype": "U8", "shape": [_REST], "data_offsets": [0, _REST]},
        "model.embed_tokens.weight": {
            "dtype": "F32",
            "shape": [_ROWS, _WIDTH],
            "data_offsets": [_REST, _REST + size],
        },
    }
    text, path = json.dumps(head).encode(), tmp_path / "model.safetensors"
    try:
        with path.open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.truncate(8 + len(text) + _REST)
            file.seek(0, 2)
            file.write(struct.pack("<f", 1.0) * (_ROWS * _WIDTH))
    except OSError:
        pytest.skip("this disk holds no files with holes of such a size")
    return path


def test_only_the_matrix_is_mapped_not_the_file_that_holds_it(giant: Path) -> None:
    loaded = load(giant)
    assert torch.equal(loaded.input, torch.ones(_ROWS, _WIDTH))


def test_a_matrix_at_an_odd_place_is_read_as_stored(tmp_path: Path) -> None:
    values = torch.randn(8, 4)
    data = b"\0" + values.numpy().tobytes()
    head = {
        "flag": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "input": {"dtype": "F32", "shape": [8, 4], "data_offsets": [1, len(data)]},
    }
    text, path = json.dumps(head).encode(), tmp_path / "odd.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    assert torch.equal(load(path).input, values)
