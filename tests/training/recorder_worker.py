"""What each of two processes does while the tests of several processes run."""

import os
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from transformers import Trainer, TrainingArguments

from embtie_widgets.training import recorder_shares
from embtie_widgets.training.recorder import RunRecorder
from embtie_widgets.training.recorder_hooks import StepCapture
from tests.training.recorder_models import ids_of, loss_of, model_of

STEPS, ROWS = 2, 8


def run(rank: int, folder: str, port: int) -> None:
    """All scenes one after the other: starting a process costs more than they do."""
    os.environ |= {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "ACCELERATE_USE_CPU": "true",
    }  # fmt: skip
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", timeout=timedelta(seconds=60))
    place = Path(folder)
    loop(rank, place / "tied")
    loop(rank, place / "untied", tied=False)
    failing(rank, place / "failing")
    recorder_shares._PATIENCE = timedelta(seconds=1)
    loop(rank, place / "first only", recorded=rank == 0)
    loop(rank, place / "second only", recorded=rank == 1)
    recorder_shares._PATIENCE = timedelta(seconds=30)
    trainer(place)
    distributed.destroy_process_group()


def loop(rank: int, folder: Path, *, tied: bool = True, recorded: bool = True) -> None:
    """Data-parallel, two micro-batches a step; what is left of the model goes to a file."""
    model = model_of("llama", tied=tied)
    wrapped = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recorder = RunRecorder(folder, every=1).attach(wrapped, optimizer) if recorded else None
    for step in range(1, STEPS + 1):
        first, second = ids_of(rows=ROWS, seed=step).chunk(2)[rank].chunk(2)
        with wrapped.no_sync():
            (loss_of(wrapped, first) / 2).backward()
        (loss_of(wrapped, second) / 2).backward()
        if recorder is not None:
            recorder.observe()
        optimizer.step()
        optimizer.zero_grad()
    if recorder is not None:
        recorder.detach()
    torch.save(list(model.parameters()), folder.with_name(f"{folder.name}-{rank}.pt"))


def failing(rank: int, folder: Path) -> None:
    """The hooks of the second process fail in the first step: both leave that step out."""
    hook, seen = StepCapture._added, []

    def broken(self: StepCapture, role: str, parameter: torch.Tensor) -> None:
        seen.append(role)
        if rank == 1 and len(seen) <= 2:
            self.error = RuntimeError("a fault of ours")
        hook(self, role, parameter)

    StepCapture._added = broken
    try:
        loop(rank, folder)
    finally:
        StepCapture._added = hook


def trainer(place: Path) -> None:
    """A Trainer of two processes and two micro-batches."""
    data = [{"input_ids": row, "labels": row} for row in ids_of(rows=ROWS).tolist()]
    arguments = TrainingArguments(
        str(place / "out"), max_steps=1, per_device_train_batch_size=2,
        gradient_accumulation_steps=2, save_strategy="no", report_to=[], disable_tqdm=True,
        use_cpu=True, ddp_backend="gloo", max_grad_norm=1e-3,
    )  # fmt: skip
    recorder = RunRecorder(place / "trainer", every=1)
    Trainer(model_of("llama"), arguments, train_dataset=data, callbacks=[recorder]).train()
