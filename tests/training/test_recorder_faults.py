"""Whatever fails in the recorder, the training goes on and is told of it once."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from embtie_widgets.training import recorder_numbers, recorder_writer
from embtie_widgets.training.recorder import RunRecorder
from embtie_widgets.training.recorder_hooks import StepCapture
from embtie_widgets.training.run_store import RunStore
from tests.training.recorder_models import go_on, hooks_in, ids_of, loss_of, model_of, train

Patch = pytest.MonkeyPatch


def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


def broken(*_: Any, **__: Any) -> None:
    raise RuntimeError("a fault of ours")


FAULTS: dict[str, Callable[[Patch], None]] = {
    "a full disk, for rows": lambda p: p.setattr(RunStore, "append", full_disk),
    "a full disk, for the manifest": lambda p: p.setattr(RunStore, "set_state", full_disk),
    "rows of tokens": lambda p: p.setattr(RunStore, "save_rows", full_disk),
    "arming": lambda p: p.setattr(StepCapture, "_hook_up", broken),
    "in the numbers": lambda p: p.setattr(recorder_numbers, "turn_numbers", broken),
    "in a forward hook": lambda p: p.setattr(
        "embtie_widgets.training.recorder_hooks._lookup_of", broken
    ),
    "in a backward hook": lambda p: p.setattr(
        "embtie_widgets.training.recorder_hooks.scatter_rows", broken
    ),
    "in bands": lambda p: p.setattr(recorder_writer, "row_numbers", broken),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_training_goes_on_and_is_told_once(
    fault: str, tmp_path: Path, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    watched = model_of()
    alone = copy.deepcopy(watched)
    before = hooks_in(watched)
    optimizer = torch.optim.AdamW(watched.parameters(), lr=1e-2)
    recorder = RunRecorder(tmp_path / "run", every=1).attach(watched, optimizer)
    FAULTS[fault](monkeypatch)
    go_on(watched, optimizer, recorder, range(1, 5))
    recorder.detach()
    go_on(alone, torch.optim.AdamW(alone.parameters(), lr=1e-2), None, range(1, 5))
    pairs = zip(watched.parameters(), alone.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert hooks_in(watched) == before
    (record,) = (one for one in caplog.records if one.name == "embtie.recorder")
    assert "the training goes on" in record.getMessage()
    assert str(tmp_path) not in record.getMessage()


@pytest.mark.parametrize("fault", ["arming", "in a forward hook", "in a backward hook"])
def test_what_the_hooks_have_no_part_in_is_still_recorded(
    fault: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    FAULTS[fault](monkeypatch)
    store, _ = train(model_of(), tmp_path / "run")
    assert [row["step"] for row in store.rows()] == [1, 2, 3, 4]
    for row in store.rows():
        assert row["mu_input"] > 0
        assert row["loss"] > 0
        assert "output_share" not in row


def test_after_a_short_fault_the_recording_goes_on(tmp_path: Path, monkeypatch: Patch) -> None:
    model = model_of()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    recorder = RunRecorder(tmp_path / "run", every=1).attach(model, optimizer)
    with monkeypatch.context() as patch:
        patch.setattr(RunStore, "append", full_disk)
        go_on(model, optimizer, recorder, range(1, 3))
    go_on(model, optimizer, recorder, range(3, 5))
    recorder.detach()
    assert [row["step"] for row in RunStore.open(tmp_path / "run").rows()] == [3, 4]


def test_parts_that_do_not_sum_up_are_left_out_and_the_rest_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = model_of()
    recorder = RunRecorder(tmp_path / "run", every=1).attach(model)
    weight = model.get_input_embeddings().weight
    (loss_of(model, ids_of()) + weight.mean(0).square().sum()).backward()
    recorder.observe()
    recorder.detach()
    (row,) = RunStore.open(tmp_path / "run").rows()
    assert row["check"] > 1e-3
    assert "output_share" not in row
    assert row["logit_std"] > 0
    assert "third place" in caplog.text


def test_a_step_without_a_backward_pass_has_no_parts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = RunRecorder(tmp_path / "run", every=1).attach(model_of())
    recorder.observe(1.5)
    recorder.detach()
    (row,) = RunStore.open(tmp_path / "run").rows()
    assert row["loss"] == 1.5
    assert "output_share" not in row
    assert "No gradient of the input matrix was seen" in caplog.text


def test_a_loop_that_never_clears_its_gradients_is_told_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = model_of()
    recorder = RunRecorder(tmp_path / "run", every=1).attach(model)
    for _ in range(2):
        loss_of(model, ids_of()).backward()
        recorder.observe()
    recorder.detach()
    first, second = RunStore.open(tmp_path / "run").rows()
    assert "output_share" in first
    assert "output_share" not in second
    assert "still held that of an earlier step" in caplog.text


def test_an_overflow_is_logged_but_spoils_no_sum(tmp_path: Path) -> None:
    model = model_of()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    recorder = RunRecorder(tmp_path / "run", every=1).attach(model, optimizer)
    (loss_of(model, ids_of()) * torch.inf).backward()
    recorder.observe()
    optimizer.zero_grad()
    go_on(model, optimizer, recorder, range(2, 4))
    recorder.detach()
    store = RunStore.open(tmp_path / "run")
    assert [bool(torch.tensor(r["output_norm"]).isfinite()) for r in store.rows()][1:] == [True] * 2
    values = store.row_values()
    assert bool(torch.tensor(values["output"]).isfinite().all())
    assert values["times"].max() == 2


def test_tokens_that_are_none_cost_only_the_texts(tmp_path: Path) -> None:
    store, _ = train(model_of(), tmp_path / "run", steps=1, tokens=object())
    assert store.tokens() == ()
    assert len(store.rows()) == 1
