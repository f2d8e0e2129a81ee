"""A hub for the tests of sources."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub_server import HubServer, hub_of


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A running hub without models, and empty caches of the hub library and of embtie."""
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    with hub_of(monkeypatch, tmp_path / "home") as running:
        yield running
