"""Estimates: unknown before the models are, then growing with the work."""

import pytest

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import devices, estimate
from embtie_widgets.jobs.estimate import Experience

SMALL, LARGE = ew.ModelRef("small"), ew.ModelRef("large")


def _seen() -> Experience:
    experience = Experience()
    experience.saw(SMALL, (4096, 128))
    experience.saw(LARGE, (50304, 2048))
    return experience


def test_nothing_is_said_of_models_that_were_never_loaded():
    assert Experience().estimate(ew.AlignRequest()) is None


def test_larger_models_and_richer_maps_cost_more():
    experience = _seen()
    small, large = ew.AlignRequest(a=SMALL, b=SMALL), ew.AlignRequest(a=LARGE, b=LARGE)
    assert experience.estimate(large).seconds > 20 * experience.estimate(small).seconds
    assert experience.estimate(large).bytes > experience.estimate(small).bytes
    bare = ew.AlignRequest(a=LARGE, b=LARGE, map="identity")
    assert experience.estimate(bare).seconds < experience.estimate(large).seconds


def test_a_run_teaches_the_speed_of_the_machine():
    experience = _seen()
    request = ew.AlignRequest(a=LARGE, b=LARGE)
    experience.took(request, 1000.0)
    assert 900 < experience.estimate(request).seconds < 1100
    experience.took(ew.AlignRequest(a=SMALL, b=SMALL), 9.0)
    assert 900 < experience.estimate(request).seconds < 1100


def test_a_run_without_products_teaches_nothing():
    experience = _seen()
    request = ew.AlignRequest(a=LARGE, b=LARGE)
    before = experience.estimate(request)
    experience.took(ew.AlignRequest(a=LARGE, b=LARGE, map="identity"), 1000.0)
    assert experience.estimate(request) == before


def test_the_memory_is_at_least_what_was_measured_as_peak():
    """Peaks above the inputs: 487 MB for the linear map of 50,304 x 1,024, 594 MB for the
    orthogonal one of 20,000 x 1,024."""
    experience = _seen()
    for rows, map_, peak in ((50304, "linear", 487e6), (20000, "orthogonal", 594e6)):
        experience.saw(LARGE, (rows, 1024))
        cost = experience.estimate(ew.AlignRequest(a=LARGE, b=LARGE, map=map_))
        assert peak <= cost.bytes <= 3 * peak


def test_what_does_not_fit_is_refused_before_it_is_tried(monkeypatch):
    monkeypatch.setattr(estimate, "experience", _seen())
    request = ew.AlignRequest(a=LARGE, b=LARGE)
    monkeypatch.setattr(devices, "free_bytes", lambda _: {"this machine": 10**8})
    with pytest.raises(EmbtieError, match=r"GB of memory, and 100 MB are free on this machine"):
        estimate.refuse_too_large(request)
    monkeypatch.setattr(devices, "free_bytes", lambda _: {"this machine": 10**12})
    estimate.refuse_too_large(request)
    with pytest.raises(EmbtieError, match="free"):
        estimate.refuse_too_large(request, gathered=10**12)


@pytest.mark.parametrize(
    ("folder", "limit", "used", "word"),
    [
        (".", "memory.max", "memory.current", "inactive_file"),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ],
)
def test_a_container_may_leave_less_than_the_machine_has(
    tmp_path, monkeypatch, folder, limit, used, word
):
    monkeypatch.setattr(devices, "_GROUP", tmp_path)
    whole = devices.free_bytes("cpu")["this machine"]
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / limit).write_text("5000\n")
    (tmp_path / folder / used).write_text("4000\n")
    (tmp_path / folder / "memory.stat").write_text(f"anon 3\n{word} 200\n")
    assert devices.free_bytes("cpu")["this machine"] == 1200
    (tmp_path / folder / limit).write_text("max\n")
    assert devices.free_bytes("cpu")["this machine"] > whole / 2
