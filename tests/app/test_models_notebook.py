"""The guide to one's own models, run as it stands."""

from pathlib import Path
from typing import Any

import pytest

import embtie_widgets as ew
from tests.app.stories import assert_ran, executed


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return executed("models.ipynb", tmp_path_factory.mktemp("guide"))


def texts(book: Any, name: str) -> str:
    outputs = next(cell for cell in book.cells if cell.id == name).outputs
    return "".join(out.get("text", "") or out.data.get("text/plain", "") for out in outputs)


def test_every_cell_runs(ran: Any) -> None:
    assert_ran(ran)


def test_the_status_stands_beside_the_configurations_word(ran: Any) -> None:
    assert texts(ran, "word").splitlines() == [
        "nano-untied: untied; the configuration says untied",
        "nano-tied: tied; the configuration says tied",
    ]
    assert texts(ran, "choose").startswith("input only, by choice tied")


def test_the_table_of_families_is_the_packages_own(ran: Any) -> None:
    assert texts(ran, "table").startswith(f"{len(ew.supported_families().rows)} families")


def test_an_unknown_layout_is_refused_and_then_registered_as_the_message_says(ran: Any) -> None:
    refused = texts(ran, "odd")
    line = next(c for c in ran.cells if c.id == "registered").source.splitlines()[0]
    assert "core.tokens_table.weight" in refused
    assert line in refused
    assert "untied, 32 x 8" in texts(ran, "registered")


def test_the_guide_needs_no_path_of_this_machine(ran: Any) -> None:
    folder = str(Path(ew.__file__).parents[1])
    printed = "".join(texts(ran, cell.id) for cell in ran.cells if cell.cell_type == "code")
    assert folder not in printed
