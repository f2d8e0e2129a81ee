"""What is kept between jobs, and given back where memory is another's too."""

import numpy as np
import pytest

import embtie_widgets as ew
from embtie_widgets.jobs import lens_store, pairs
from embtie_widgets.sources import kept, models


@pytest.fixture
def full(monkeypatch):
    """A process whose memory is as large as the test says."""
    sizes = {"bytes": 0}
    monkeypatch.setattr(kept, "private_bytes", lambda: sizes["bytes"])
    return sizes


def test_memory_that_is_taken_and_freed_is_seen():
    before = kept.private_bytes()
    taken = np.ones(2**26, "u1")
    assert kept.private_bytes() - before > 2**25
    del taken
    assert kept.private_bytes() - before < 2**25


def test_within_the_bound_all_stays_and_beyond_it_all_goes(full):
    pair = pairs.open_pair(ew.AlignRequest())
    model = models.open_model("nano-tied")
    lens_store._recent["k"] = "translators"
    full["bytes"] = 100
    kept.give_back(100)
    assert pairs.recent_pair(ew.AlignRequest()) is pair
    assert models.open_model("nano-tied") is model
    assert lens_store.recalled("k") == "translators"
    kept.give_back(99)
    assert pairs._recent == {}
    assert models._open == {}
    assert not lens_store._recent


def test_what_is_being_opened_stays(full):
    models.open_model("nano-tied")
    full["bytes"] = 1
    with models._lock:
        kept.give_back(0)
    assert models._open
    kept.give_back(0)
    assert not models._open
