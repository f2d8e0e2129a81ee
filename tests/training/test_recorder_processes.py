"""Two processes train together: what they record is what one would have on the whole batch."""

import socket
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed, multiprocessing

from embtie_widgets.jobs.bottleneck_calls import bottleneck
from embtie_widgets.measures.gradient_split import gradient_split
from embtie_widgets.measures.logits import logit_numbers
from embtie_widgets.training.run_store import RunStore, is_run
from tests.training import recorder_worker
from tests.training.recorder_models import expected, ids_of, loss_of, model_of

pytestmark = pytest.mark.skipif(
    not (distributed.is_available() and distributed.is_gloo_available()),
    reason="this torch has no gloo",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("processes")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.spawn(recorder_worker.run, (str(folder), port), nprocs=2)
    return folder


def alone(tied: bool = True) -> tuple[Any, list[tuple[Any, Any, float]]]:
    """The model after the same steps on whole batches, and each step's parts and loss."""
    model, found = model_of("llama", tied=tied), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, recorder_worker.STEPS + 1):
        ids = ids_of(rows=recorder_worker.ROWS, seed=step)
        loss = loss_of(model, ids)
        found.append((*expected(model, ids), loss.item()))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, found


def assert_row(row: dict[str, Any], own: Any, other: Any, loss: float) -> None:
    assert row["input_norm"] == pytest.approx(float(own.norm()), rel=1e-4)
    assert row["output_norm"] == pytest.approx(float(other.norm()), rel=1e-4)
    assert row["total_norm"] == pytest.approx(float((own + other).norm()), rel=1e-4)
    assert row["loss"] == pytest.approx(loss, rel=1e-5)
    assert row["check"] < 1e-5


@pytest.mark.parametrize("name", ["tied", "untied"])
def test_parts_and_loss_are_averaged_as_gradients_are(name: str, place: Path) -> None:
    store = RunStore.open(place / name)
    _, wanted = alone(name == "tied")
    for row, right in zip(store.rows(), wanted, strict=True):
        assert_row(row, *right)
    assert store.manifest["settings"]["recorded_by"] == "together"
    assert store.manifest["settings"]["processes"] == 2


def test_the_proxy_is_that_of_the_whole_batch(place: Path) -> None:
    ids = ids_of(rows=recorder_worker.ROWS, seed=1)
    proxy = gradient_split(model_of("llama"), ids).proxy_norm
    assert RunStore.open(place / "tied").rows()[0]["proxy_norm"] == pytest.approx(proxy, rel=1e-4)


def test_logits_are_counted_over_both(place: Path) -> None:
    row = RunStore.open(place / "tied").rows()[0]
    with torch.no_grad():
        logits = model_of("llama")(input_ids=ids_of(rows=recorder_worker.ROWS)).logits
    assert row | logit_numbers(logits) == pytest.approx(row, rel=1e-4)


def test_what_the_head_transmits_is_of_both(place: Path) -> None:
    found = bottleneck(model_of("llama"), ids_of(rows=recorder_worker.ROWS, seed=1))
    row = RunStore.open(place / "tied").rows()[0]
    assert row["destroyed"] == pytest.approx(found.destroyed, rel=1e-5)
    assert row["target_kept"] == pytest.approx(float(found.target_kept.mean()), rel=1e-4)


def test_tokens_of_both_are_seen(place: Path) -> None:
    times = RunStore.open(place / "tied").row_values()["times"]
    ids = [ids_of(rows=recorder_worker.ROWS, seed=step) for step in (1, 2)]
    assert times.tolist() == [sum(bool((i == row).any()) for i in ids) for row in range(len(times))]


def test_only_the_first_process_writes(place: Path) -> None:
    assert not (place / "tied-2").exists()
    assert RunStore.open(place / "tied").manifest["state"] == "done"


def test_a_step_that_one_process_failed_to_catch_has_no_parts(place: Path) -> None:
    first, second = RunStore.open(place / "failing").rows()
    assert "output_share" not in first
    assert first["mu_input"] > 0
    assert_row(second, *alone()[1][1])


@pytest.mark.parametrize("name", ["tied", "failing", "first only", "second only"])
def test_the_training_is_not_disturbed(name: str, place: Path) -> None:
    model, _ = alone()
    for rank in range(2):
        left = torch.load(place / f"{name}-{rank}.pt", weights_only=False)
        for a, b in zip(left, model.parameters(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_a_recorder_in_the_first_process_alone_records_its_share(place: Path) -> None:
    store = RunStore.open(place / "first only")
    model = model_of("llama")
    own, other = expected(model, ids_of(rows=recorder_worker.ROWS, seed=1).chunk(2)[0])
    row = store.rows()[0]
    assert row["input_norm"] == pytest.approx(float(own.norm()), rel=1e-4)
    assert row["output_norm"] == pytest.approx(float(other.norm()), rel=1e-4)
    assert store.manifest["settings"]["recorded_by"] == "alone"


def test_a_recorder_in_the_second_process_alone_records_nothing(place: Path) -> None:
    assert not is_run(place / "second only")


def test_a_trainer_of_two_processes_has_the_parts_of_the_whole_batch(place: Path) -> None:
    (row,) = RunStore.open(place / "trainer").rows()
    model, ids = model_of("llama"), ids_of(rows=recorder_worker.ROWS)
    assert_row(row, *expected(model, ids), loss_of(model, ids).item())
