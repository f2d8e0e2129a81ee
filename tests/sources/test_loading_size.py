"""What reading a pair costs, counted: bytes at the server, memory of a process of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.bench_loading import REF, WARM, files, measured
from tests.hub_server import HubServer

ROWS, WIDTH = 50_304, 512
MATRICES = 2 * ROWS * WIDTH * 4

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are read the Linux way"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """OLMo's vocabulary at half its width, in four shards, and a small model to warm up on."""
    return files(tmp_path_factory.mktemp("made"), ROWS, WIDTH, layers=8)


@pytest.fixture
def running(made: tuple[Path, Path]) -> Iterator[HubServer]:
    with HubServer() as hub:
        hub.add(REF, made[0])
        hub.add(WARM, made[1])
        yield hub


@pytest.mark.parametrize("cache", ["cache", "off"])
def test_from_the_hub_the_matrices_move_and_little_more(
    running: HubServer, tmp_path: Path, cache: str
) -> None:
    environment = running.environment(tmp_path / "home")
    environment["EMBTIE_CACHE"] = "off" if cache == "off" else str(tmp_path / cache)
    found = measured("ours", REF, WARM, environment)
    moved = sum(request.sent for request in running.requests if f"/{REF}/" in request.path)
    assert MATRICES < moved <= 1.02 * MATRICES
    assert 0.9 * MATRICES < found["memory"] <= 1.2 * MATRICES


def test_a_second_kernel_moves_nothing_and_maps(running: HubServer, tmp_path: Path) -> None:
    environment = running.environment(tmp_path / "home")
    environment["EMBTIE_CACHE"] = str(tmp_path / "cache")
    first = measured("ours", REF, WARM, environment)
    running.forget()
    second = measured("ours", REF, WARM, environment)
    assert second["sums"] == first["sums"]
    assert running.asked(".safetensors") == running.asked(".safetensors", "HEAD") == 0
    assert second["memory"] <= 1.2 * MATRICES


def test_from_the_disk_the_matrices_are_mapped_and_little_more(
    made: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, warm = made
    found = measured("ours", str(folder), str(warm), {"HF_HOME": str(tmp_path)})
    assert MATRICES <= found["mapped"] <= 1.02 * MATRICES
    assert found["memory"] <= 1.2 * MATRICES
