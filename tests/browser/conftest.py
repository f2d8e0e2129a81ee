import os
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser

from tests.browser.rehearsal import write_notebook
from tests.browser.servers import jupyterlab, voila
from tests.browser.visit import Visit


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The dashboard, served."""
    with voila(tmp_path_factory.mktemp("elsewhere")) as found:
        yield found


@pytest.fixture
def address_below(tmp_path: Path) -> Iterator[str]:
    """The dashboard as one service among others, under a path of its own."""
    with voila(tmp_path, base="/hub/ann/") as found:
        yield found


@pytest.fixture
def broken_address(tmp_path: Path) -> Iterator[str]:
    """A notebook whose first cell cannot import what it needs."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import embtie_gone")])
    nbformat.write(book, tmp_path / "broken.ipynb")
    with voila(tmp_path, str(tmp_path / "broken.ipynb")) as found:
        yield found


@pytest.fixture(scope="module", params=["voila", "jupyterlab"])
def opened(
    request: pytest.FixtureRequest, chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Visit]:
    """The rehearsal's notebook, opened once in each host; see `one`."""
    folder = tmp_path_factory.mktemp(request.param)
    notebook = write_notebook(folder)
    if request.param == "voila":
        with voila(folder, str(notebook)) as found:
            page = Visit(chromium, found)
            yield page
            page.leave_well()
    else:
        with jupyterlab(folder) as found:
            page = Visit(chromium, f"{found}/workspaces/test/tree/{notebook.name}?reset")
            page.run_notebook()
            yield page
            page.leave_well()


@pytest.fixture
def visit(chromium: Browser, address: str) -> Iterator[Callable[..., Visit]]:
    """Open the dashboard as a visitor with no network beyond this machine."""
    opened: list[Visit] = []

    def open_one(
        scheme: str = "light",
        width: int = 1400,
        scale: float = 1,
        query: str = "",
        at: str = "",
    ) -> Visit:
        opened.append(Visit(chromium, (at or address) + query, scheme, width, scale))
        return opened[-1]

    yield open_one
    for one in opened:
        one.leave_well()


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where screenshots go: EMBTIE_SCREENSHOTS, to look at them, else away with the test."""
    folder = Path(os.environ.get("EMBTIE_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
