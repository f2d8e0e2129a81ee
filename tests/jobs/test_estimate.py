"""Estimates: unknown before the models are, then growing with the work."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets import machine
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import align_cost, devices, estimate
from embtie_widgets.jobs.align_cost import estimate_align, work_of
from embtie_widgets.jobs.estimate import Experience, Work, refuse_too_large, timed
from embtie_widgets.sources import placing
from tests.fresh import run_fresh

SMALL, LARGE = ew.ModelRef("small"), ew.ModelRef("large")
BIG = Work("other", "cpu", 1e12, 1000)


@pytest.fixture
def experience(monkeypatch: pytest.MonkeyPatch) -> Experience:
    """A kernel that has seen a small and a large model and run nothing."""
    known = Experience()
    known.saw(SMALL, (4096, 128))
    known.saw(LARGE, (50304, 2048))
    for module in (estimate, align_cost):
        monkeypatch.setattr(module, "experience", known)
    return known


def asked(model: ew.ModelRef, **changed: Any) -> ew.AlignRequest:
    return ew.AlignRequest(a=model, b=model, **changed)


def test_nothing_is_said_of_models_that_were_never_loaded(experience):
    assert estimate_align(ew.AlignRequest(a="never", b=SMALL)) is None


def test_larger_models_and_richer_maps_cost_more(experience):
    small, large = estimate_align(asked(SMALL)), estimate_align(asked(LARGE))
    assert large.seconds > 20 * small.seconds
    assert large.bytes > small.bytes
    assert estimate_align(asked(LARGE, map="identity")).seconds < large.seconds


def test_a_run_teaches_the_speed_of_the_machine(experience):
    experience.took(work_of(asked(LARGE)), 1000.0)
    assert 900 < estimate_align(asked(LARGE)).seconds < 1100
    experience.took(work_of(asked(SMALL)), 9.0)
    assert 900 < estimate_align(asked(LARGE)).seconds < 1100


def test_a_run_without_products_teaches_nothing(experience):
    before = estimate_align(asked(LARGE))
    experience.took(work_of(asked(LARGE, map="identity")), 1000.0)
    assert estimate_align(asked(LARGE)) == before


def test_speed_is_learnt_by_kind_and_device_and_lent_to_kinds_that_have_not_run(experience):
    align = work_of(asked(LARGE, device="cpu"))
    experience.took(align, 1000.0)
    lent = experience.estimate(BIG).seconds
    assert lent == pytest.approx(BIG.seconds + BIG.operations * 1000 / align.operations, rel=0.01)
    experience.took(BIG, 50.0)
    assert experience.estimate(BIG).seconds == pytest.approx(50.0)
    assert experience.estimate(align).seconds == pytest.approx(1000.0)
    elsewhere = work_of(asked(LARGE, device="cuda"))
    assert experience.estimate(elsewhere) == Experience().estimate(elsewhere)


def test_the_memory_is_at_least_what_was_measured_as_peak(experience):
    """Peaks above the inputs: 487 MB for the linear map of 50,304 x 1,024, 594 MB for the
    orthogonal one of 20,000 x 1,024."""
    for rows, map_, peak in ((50304, "linear", 487e6), (20000, "orthogonal", 594e6)):
        experience.saw(LARGE, (rows, 1024))
        assert peak <= estimate_align(asked(LARGE, map=map_)).bytes <= 3 * peak


def test_what_does_not_fit_is_refused_before_it_is_tried(experience, monkeypatch):
    free, made = {"this machine": 10**8}, []
    monkeypatch.setattr(devices, "free_bytes", lambda _: free)
    with pytest.raises(EmbtieError, match=r"GB of memory, and 100 MB are free on this machine"):
        timed(work_of(asked(LARGE)), lambda: made.append(1))
    free["this machine"] = 10**12
    with pytest.raises(EmbtieError, match="free") as told:
        timed(work_of(asked(LARGE)), lambda: made.append(1), gathered=10**12, hint="Go.")
    assert (told.value.hint, made) == ("Go.", [])
    timed(work_of(asked(LARGE)), lambda: made.append(1))
    assert made == [1]
    with pytest.raises(EmbtieError, match="free"):
        refuse_too_large("cpu", 10**13)


def test_what_was_timed_is_learnt_from(experience, monkeypatch):
    clock = iter([100.0, 140.0, 200.0, 200.5])
    monkeypatch.setattr(estimate.time, "monotonic", lambda: next(clock))
    assert timed(BIG, lambda: "made") == "made"
    assert experience.estimate(BIG).seconds == pytest.approx(40.0)
    assert timed(BIG, lambda: "found", tells=lambda: False) == "found"
    assert experience.estimate(BIG).seconds == pytest.approx(40.0)


def test_an_estimate_needs_no_torch():
    code = (
        "import embtie_widgets as ew; from embtie_widgets.jobs.run import estimate, first;"
        "assert estimate(ew.AlignRequest()) is None; assert first(ew.AlignRequest());"
        "assert estimate(ew.AlignRequest()).seconds < 1"
    )
    run_fresh(code, "torch")


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
    monkeypatch.setattr(machine, "_GROUP", tmp_path)
    whole = devices.free_bytes("cpu")["this machine"]
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / limit).write_text("5000\n")
    (tmp_path / folder / used).write_text("4000\n")
    (tmp_path / folder / "memory.stat").write_text(f"anon 3\n{word} 200\n")
    assert devices.free_bytes("cpu")["this machine"] == 1200
    (tmp_path / folder / limit).write_text("max\n")
    assert devices.free_bytes("cpu")["this machine"] > whole / 2


def test_a_kernel_of_a_served_page_has_a_share_of_the_memory(monkeypatch):
    monkeypatch.delenv(machine.VISITOR_MEMORY, raising=False)
    assert machine.PAGE not in devices.free_bytes("cpu")
    monkeypatch.setenv(machine.VISITOR_MEMORY, "100000000")
    most = devices.free_bytes("cpu")[machine.PAGE]
    held = np.ones(2**23)  # 64 MiB
    assert devices.free_bytes("cpu")[machine.PAGE] <= most - held.nbytes // 2
    monkeypatch.setenv(machine.VISITOR_MEMORY, "1")
    assert devices.free_bytes("cpu")[machine.PAGE] == 0
    with pytest.raises(EmbtieError, match=r"1\.0 GB of memory, and 0 MB are free on this page"):
        refuse_too_large("cpu", 10**9)
    monkeypatch.setenv(machine.VISITOR_MEMORY, "plenty")
    assert machine.PAGE not in devices.free_bytes("cpu")


def test_a_model_is_placed_within_the_share_of_its_page(monkeypatch):
    monkeypatch.setattr(placing, "free_bytes", lambda _: {machine.HERE: 10**9, machine.PAGE: 1_000})
    size = SimpleNamespace(dtype="float32", bytes_in=lambda _: 10**6)
    with pytest.raises(EmbtieError, match="can be used"):
        placing.place(size, "m", "cpu", "float32", can_wait=False)


def test_a_kernel_has_a_share_of_the_graphics_card(monkeypatch):
    taken = []
    monkeypatch.setattr(machine, "available_devices", lambda: ["cuda", "cpu"])
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (700 * 2**20, 1_000 * 2**20))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 50 * 2**20)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", taken.append)
    machine._keep_to_share.cache_clear()
    machine.pick_device()
    assert taken == []
    monkeypatch.setenv(machine.VISITOR_CARD, "250")
    assert [machine.pick_device().type, machine.pick_device("cuda").type] == ["cuda", "cuda"]
    assert taken == [0.25]
    assert devices.free_bytes("cuda")[machine.CARD] == 200 * 2**20
    machine._keep_to_share.cache_clear()
