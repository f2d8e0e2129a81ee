"""What `RunRecorder` writes of the bottleneck: what is so at rest, and seldom where it costs."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from embtie_widgets.jobs.bottleneck_calls import bottleneck
from embtie_widgets.measures import transmission
from embtie_widgets.measures.transmission import NAMES, each_nth
from embtie_widgets.training.recorder import RunRecorder
from embtie_widgets.training.run_store import RunStore
from tests.training.recorder_models import FAMILIES, ids_of, loss_of, model_of, train


def numbers(row: dict[str, Any]) -> dict[str, float]:
    return {name: row[name] for name in NAMES}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tied", [True, False])
def test_a_row_has_what_a_measurement_at_rest_gives(
    tmp_path: Path, family: str, tied: bool
) -> None:
    model, ids = model_of(family, tied=tied), ids_of(seed=1)
    found = bottleneck(copy.deepcopy(model), ids)
    store, _ = train(model, tmp_path / "run", steps=2)
    wanted = {
        "destroyed": found.destroyed,
        "visible_cosine": found.visible_cosine,
        "kept_energy": found.kept_energy,
        "target_kept": float(found.target_kept.mean()),
        "line": found.line,
    }
    assert numbers(store.rows()[0]) == pytest.approx(wanted, rel=1e-4)
    assert store.rows()[1]["destroyed"] != store.rows()[0]["destroyed"]


def recorded(model: Any, folder: Path, *losses: Any) -> dict[str, Any]:
    """The row of one step of several backward passes."""
    recorder = RunRecorder(folder, every=1).attach(model)
    for loss in losses:
        loss(model).backward()
    recorder.observe()
    recorder.detach()
    return RunStore.open(folder).rows()[0]


def test_batches_of_one_step_are_taken_together(tmp_path: Path) -> None:
    ids = ids_of(rows=4)
    whole = recorded(model_of(), tmp_path / "a", lambda model: loss_of(model, ids))
    parts = recorded(
        model_of(),
        tmp_path / "b",
        *(lambda model, part=part: loss_of(model, part) / 2 for part in ids.chunk(2)),
    )
    assert numbers(parts) == pytest.approx(numbers(whole), rel=1e-5)


def test_what_the_loss_is_times_makes_no_difference(tmp_path: Path) -> None:
    ids = ids_of()
    plain, large = (
        recorded(model_of(), tmp_path / str(f), lambda model, f=f: f * loss_of(model, ids))
        for f in (1.0, 2.0**16)
    )
    assert numbers(large) == pytest.approx(numbers(plain), rel=1e-5)


def test_a_model_in_half_precision_gives_nearly_the_same(tmp_path: Path) -> None:
    fine, coarse = (
        recorded(model_of(dtype=dtype), tmp_path / str(dtype), lambda m: loss_of(m, ids_of()))
        for dtype in (torch.float32, torch.bfloat16)
    )
    assert numbers(coarse) == pytest.approx(numbers(fine), rel=0.02)


class Fused(nn.Module):
    """A loss that never shows its logits."""

    def __init__(self) -> None:
        super().__init__()
        self.model = model_of("llama")
        self.config = self.model.config

    def get_input_embeddings(self) -> Any:
        return self.model.get_input_embeddings()

    def get_output_embeddings(self) -> Any:
        return self.model.get_output_embeddings()

    def forward(self, ids: Tensor) -> Tensor:
        hidden = self.model.model(input_ids=ids).last_hidden_state
        logits = nn.functional.linear(hidden, self.model.lm_head.weight)
        return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def test_where_no_logits_are_seen_nothing_is_written_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    row = recorded(Fused(), tmp_path / "run", lambda model: model(ids_of()))
    assert not set(NAMES) & set(row)
    assert row["mu_output"] > 0


def test_steps_that_it_would_slow_down_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transmission, "_LITTLE", 0.0)
    monkeypatch.setattr(transmission, "_SHARE", 1e-2)
    model, ids = model_of(), ids_of()
    weights = sum(p.numel() for p in model.parameters())
    each = each_nth(model.get_output_embeddings().weight, ids.numel(), 3.0 * ids.numel() * weights)
    assert 1 < each < 20
    store, _ = train(model, tmp_path / "run", steps=2 * each + 1)
    measured = [row["step"] for row in store.rows() if "destroyed" in row]
    assert measured == [1, 1 + each, 1 + 2 * each]
    assert len(store.rows()) == 2 * each + 1


@pytest.mark.parametrize(
    ("rows", "width", "positions", "body", "device", "each"),
    [
        (4_096, 128, 2_048, 400_000, "cpu", 1),
        (50_257, 256, 512, 3_200_000, "cpu", 2),
        (50_257, 768, 512, 14_000_000, "cpu", 3),
        (50_304, 2_048, 16_384, 1_000_000_000, "cuda", 1),
        (128_256, 4_096, 2_048, 7_000_000_000, "cuda", 7),
    ],
)
def test_it_is_measured_as_seldom_as_its_cost_asks_for(
    rows: int, width: int, positions: int, body: int, device: str, each: int
) -> None:
    head = torch.empty(rows, width, device="meta")
    weights = body + 2 * rows * width
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(transmission._FLOAT64, "meta", transmission._FLOAT64[device])
        assert each_nth(head, positions, 3.0 * positions * weights) == each


def test_a_gradient_that_is_not_finite_is_logged_as_not_known(tmp_path: Path) -> None:
    row = recorded(model_of(), tmp_path / "run", lambda m: loss_of(m, ids_of()) * float("inf"))
    assert all(math.isnan(value) for value in numbers(row).values())
