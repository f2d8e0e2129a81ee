"""The hashes of an alignment: those of `load`, read when asked for, and never of something else."""

import pickle

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets import hashing
from embtie_widgets.hashing import tensor_hash


@pytest.fixture
def pair():
    return torch.randn(2, 90, 5, generator=torch.Generator().manual_seed(1))


def test_they_are_the_hashes_of_load():
    tied, untied = ew.load("nano-tied"), ew.load("nano-untied")
    found = ew.align(untied.output, tied.input, "identity")
    assert found.hashes == {"x": untied.hashes["output"], "y": tied.hashes["input"]}


def test_nothing_is_hashed_before_it_is_asked_for(pair, monkeypatch):
    x, y = pair[0].clone(), pair[1].clone()
    monkeypatch.setattr(hashing, "tensor_hash", lambda _: pytest.fail("hashed"))
    found = ew.align(x, y)
    repr(found)
    monkeypatch.undo()
    assert found.hashes["x"] == tensor_hash(x)


def test_a_matrix_that_was_changed_or_is_gone_has_none(pair):
    x, y = pair[0].clone(), pair[1].clone().numpy()
    found = ew.align(x, y)
    x[7, 2] += 0.25
    assert found.hashes == {"y": tensor_hash(torch.from_numpy(y))}
    gone = ew.align(pair[0].clone(), y)
    assert list(gone.hashes) == ["y"]
    assert ew.align(pair[0].tolist(), y).hashes.keys() == {"y"}


def test_rows_that_are_not_finite_do_not_hinder(pair):
    x = pair[0].clone()
    x[3] = np.nan
    assert ew.align(x, pair[1].clone().requires_grad_()).hashes["x"] == tensor_hash(x)


def test_a_copy_carries_them_as_plain_values(pair):
    x, y = pair[0].clone(), pair[1].clone()
    again = pickle.loads(pickle.dumps(ew.align(x, y)))
    assert again.hashes == {"x": tensor_hash(x), "y": tensor_hash(y)}
