"""What every test has: the shared inputs, and no fault that goes unseen."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of larger inputs that are not part of the repository."""
    folder = Path(os.environ.get("EMBTIE_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the shared inputs are not here; EMBTIE_SHARED may name their folder")
    return folder


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.faults: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if record.levelno >= logging.ERROR or record.exc_info or "Exception in callback" in message:
            self.faults.append(message)


@pytest.fixture(autouse=True)
def logged_faults() -> Iterator[list[str]]:
    """Errors that were logged instead of raised; a test fails if it leaves any in the list.

    embtie logs what it shows in the page; ipywidgets logs, and drops, what a callback raises.  A
    test that provokes one asks for this fixture, asserts on the list and clears it.
    """
    collector = _Collector()
    loggers = [logging.getLogger(name) for name in ("embtie", "traitlets")]
    for logger in loggers:
        logger.addHandler(collector)
    yield collector.faults
    for logger in loggers:
        logger.removeHandler(collector)
    assert not collector.faults, "logged while the test ran"
