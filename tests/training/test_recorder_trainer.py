"""`RunRecorder` in a real Trainer, and in a loop of accelerate."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from transformers import Trainer, TrainerCallback, TrainingArguments

import embtie_widgets as ew
from embtie_widgets.training.run_store import RunStore
from tests.training.recorder_models import expected, hooks_in, ids_of, loss_of, model_of


def samples(rows: int) -> list[dict[str, Any]]:
    return [{"input_ids": row, "labels": row} for row in ids_of(rows=rows).tolist()]


def trainer_of(model: Any, folder: Path, *, callbacks: Any = (), **options: Any) -> Trainer:
    rows = options.pop("rows", 8)
    usual = {
        "max_steps": 4,
        "per_device_train_batch_size": 2,
        "learning_rate": 1e-2,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
    }
    arguments = TrainingArguments(str(folder / "out"), **(usual | options))
    data = samples(rows)
    return Trainer(
        model, arguments, train_dataset=data, eval_dataset=data[:3], callbacks=list(callbacks)
    )


def assert_parts(row: dict[str, Any], model: Any, ids: Any) -> None:
    own, other = expected(model, ids)
    assert row["input_norm"] == pytest.approx(float(own.norm()), rel=1e-4)
    assert row["output_norm"] == pytest.approx(float(other.norm()), rel=1e-4)
    assert row["total_norm"] == pytest.approx(float((own + other).norm()), rel=1e-4)
    assert row["check"] < 1e-5


@pytest.mark.parametrize("own_loss", [False, True])
def test_accumulated_and_clipped_steps_have_the_parts_of_one_large_batch(
    own_loss: bool, tmp_path: Path
) -> None:
    model = model_of("llama")
    start = copy.deepcopy(model)
    recorder = ew.RunRecorder(tmp_path / "run", every=1)
    trainer = trainer_of(
        model, tmp_path, callbacks=[recorder], max_steps=1,
        gradient_accumulation_steps=4, max_grad_norm=1e-3,
    )  # fmt: skip
    if own_loss:  # then Trainer divides by the number of micro-batches, and not the model
        trainer.model_accepts_loss_kwargs = False
    trainer.train()
    (row,) = RunStore.open(tmp_path / "run").rows()
    assert_parts(row, start, ids_of(rows=8))
    assert row["loss"] == pytest.approx(loss_of(start, ids_of(rows=8)).item(), rel=1e-5)


def test_rows_follow_the_log_and_evaluation_counts_nothing(tmp_path: Path) -> None:
    model = model_of("llama")
    recorder = ew.RunRecorder(tmp_path / "run", every=1)
    trainer = trainer_of(
        model, tmp_path, callbacks=[recorder], eval_strategy="steps", eval_steps=1,
        eval_on_start=True, gradient_accumulation_steps=2,
    )  # fmt: skip
    trainer.train()
    store = RunStore.open(tmp_path / "run")
    logged = [row for row in trainer.state.log_history if "loss" in row]
    assert [row["step"] for row in store.rows()] == [1, 2, 3, 4]
    for row, log in zip(store.rows(), logged, strict=True):
        assert row["loss"] == pytest.approx(log["loss"], rel=1e-4)
        assert row["lr"] == pytest.approx(log["learning_rate"])
        assert row["check"] < 1e-5
    assert store.manifest["state"] == "done"
    assert store.manifest["of"] == 4
    assert store.manifest["settings"]["batch"] == 4
    assert hooks_in(model) == 0


def test_the_trainer_trains_the_same_to_the_last_bit(tmp_path: Path) -> None:
    ends = []
    for callbacks in ([], [ew.RunRecorder(tmp_path / "run", every=2)]):
        model = model_of("gpt2")
        trainer_of(model, tmp_path, callbacks=callbacks, max_steps=5).train()
        ends.append(list(model.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(*ends, strict=True))
    assert [row["step"] for row in RunStore.open(tmp_path / "run").rows()] == [1, 2, 4, 5]


def test_a_resumed_trainer_goes_on_with_its_run(tmp_path: Path) -> None:
    class Stop(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            control.should_training_stop = state.global_step == 5

    whole = trainer_of(
        model_of(), tmp_path, callbacks=[ew.RunRecorder(tmp_path / "whole", every=1)], max_steps=8
    )
    whole.train()
    saving = {"max_steps": 8, "save_strategy": "steps", "save_steps": 3}
    for resume, others in ((None, [Stop()]), (True, [])):
        recorder = ew.RunRecorder(tmp_path / "run", every=1)
        trainer = trainer_of(model_of(), tmp_path, callbacks=[recorder, *others], **saving)
        trainer.train(resume_from_checkpoint=resume)
    rows, wanted = (RunStore.open(tmp_path / name).rows() for name in ("run", "whole"))
    assert [row["step"] for row in rows] == list(range(1, 9))
    for row, right in zip(rows, wanted, strict=True):
        for name in ("loss", "output_share", "input_to_first"):
            assert row[name] == pytest.approx(right[name], rel=1e-6)


def test_gradient_checkpointing_and_bfloat16_go_with_it(tmp_path: Path) -> None:
    model = model_of("llama")
    start = copy.deepcopy(model)
    recorder = ew.RunRecorder(tmp_path / "run", every=1)
    trainer = trainer_of(
        model, tmp_path, callbacks=[recorder], max_steps=1, bf16=True,
        gradient_checkpointing=True, per_device_train_batch_size=8,
    )  # fmt: skip
    trainer.train()
    (row,) = RunStore.open(tmp_path / "run").rows()
    own, other = expected(start, ids_of(rows=8))
    assert row["input_norm"] == pytest.approx(float(own.norm()), rel=0.05)
    assert row["output_norm"] == pytest.approx(float(other.norm()), rel=0.05)
    assert row["check"] < 0.05
    assert RunStore.open(tmp_path / "run").manifest["settings"]["precision"] == "bfloat16"


def test_noise_and_smoothed_labels_do_not_disturb(tmp_path: Path) -> None:
    recorder = ew.RunRecorder(tmp_path / "run", every=1)
    trainer = trainer_of(
        model_of("llama"), tmp_path, callbacks=[recorder], max_steps=2,
        neftune_noise_alpha=5.0, label_smoothing_factor=0.1,
    )  # fmt: skip
    trainer.train()
    for row in RunStore.open(tmp_path / "run").rows():
        assert row["check"] < 1e-5
        assert row["output_share"] == row["output_share"]


def test_a_trainer_whose_model_cannot_be_recorded_trains_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = model_of("llama")
    model.get_input_embeddings().scale_grad_by_freq = True
    before = copy.deepcopy(model)
    recorder = ew.RunRecorder(tmp_path / "run")
    trainer_of(model, tmp_path, callbacks=[recorder], max_steps=1).train()
    assert "This training is not recorded" in caplog.text
    pairs = zip(model.parameters(), before.parameters(), strict=True)
    assert not all(torch.equal(a, b) for a, b in pairs)


def test_the_loop_of_accelerate_is_recorded_at_its_updates(tmp_path: Path) -> None:
    model = model_of("llama")
    start = copy.deepcopy(model)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer = accelerator.prepare(model, optimizer)
    recorder = ew.RunRecorder(tmp_path / "run", every=1).attach(model, optimizer)
    for ids in ids_of(rows=8).split(2):
        with accelerator.accumulate(model):
            accelerator.backward(loss_of(model, ids))
            if accelerator.sync_gradients:
                recorder.observe()
                accelerator.clip_grad_norm_(model.parameters(), 1e-3)
            optimizer.step()
            optimizer.zero_grad()
    recorder.detach()
    rows = RunStore.open(tmp_path / "run").rows()
    assert [row["step"] for row in rows] == [1, 2]
    assert_parts(rows[0], start, ids_of(rows=8)[:4])
    assert rows[0]["lr"] == 1e-3
