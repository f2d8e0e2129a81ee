"""The loops that the handbook shows are run as they stand there."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from transformers import Trainer, TrainingArguments

import embtie_widgets as ew
from embtie_widgets.training.run_store import RunStore
from tests.training.recorder_models import ids_of, model_of

PAGE = Path(ew.__file__).parent / "guide" / "handbook" / "recording.md"


def blocks() -> dict[str, str]:
    """The code on the page, by the folder that it names."""
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    named = {block: re.search(r'"(runs/\w+)"', block) for block in found}
    return {name[1]: block for block, name in named.items() if name}


@pytest.mark.parametrize("folder", ["runs/trainer", "runs/loop", "runs/accelerate"])
def test_the_handbook_records_a_run(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = model_of("llama")
    rows = ids_of(rows=48).split(4)
    here: dict[str, Any] = {
        "ew": ew,
        "torch": torch,
        "Trainer": Trainer,
        "model": model,
        "optimizer": torch.optim.AdamW(model.parameters(), lr=1e-3),
        "batches": [{"input_ids": ids, "labels": ids} for ids in rows],
        "dataset": [{"input_ids": ids, "labels": ids} for ids in ids_of(rows=8).tolist()],
        "arguments": TrainingArguments(
            "out", max_steps=12, save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True
        ),
    }
    here["accelerator"] = Accelerator(cpu=True)  # the arguments reset what it shares with them
    exec(blocks()[folder], here)
    store = RunStore.open(folder)
    steps = [1, 10, 12] if folder == "runs/trainer" else [1, 10]
    assert [row["step"] for row in store.rows()] == steps
    assert all(row["check"] < 1e-5 for row in store.rows())
    assert store.manifest["state"] == "done"
    assert store.steps() == [0, 10, 12]
