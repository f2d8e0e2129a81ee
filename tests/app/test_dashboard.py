import re
from pathlib import Path

import ipywidgets as w
import nbclient
import nbformat
import pytest

from embtie_widgets.app.dashboard import TABS, Dashboard, Tab
from embtie_widgets.app.serve import notebook
from embtie_widgets.panels.frame import Panel
from embtie_widgets.requests import AlignRequest
from tests.panels.fake_jobs import FakeRunner, parts


def toy(name: str, made: list[str]) -> Tab:
    def make() -> Panel:
        made.append(name)
        return Panel(AlignRequest(), **parts(FakeRunner()))

    return Tab(name, make, AlignRequest.kind)


def test_a_panel_is_made_when_its_tab_is_first_opened() -> None:
    made: list[str] = []
    app = Dashboard((toy("one", made), toy("two", made)))
    assert made == ["one"]
    app.tabs.value = "two"
    app.tabs.value = "one"
    assert made == ["one", "two"]
    assert app.panel is app.panels["one"]


def test_one_panel_alone_has_no_tab_bar() -> None:
    one, two = Dashboard((toy("one", []),)), Dashboard((toy("one", []), toy("two", [])))
    assert one.tabs not in one.children
    assert two.tabs in two.children


def test_a_public_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> bool:
        title = Dashboard((toy("one", []),)).children[0].children[0]
        return "This page is public" in title.value

    assert not said()
    monkeypatch.setenv("EMBTIE_PUBLIC", "1")
    assert said()


def test_the_dashboard_has_a_tab_for_each_panel_that_works() -> None:
    assert [tab.name for tab in TABS] == [
        "Alignment",
        "Neighbours and spectra",
        "Norm-frequency",
        "Lens",
        "Gradient flow",
        "Input scaling",
        "Drift",
        "Output centering",
        "Gradient bottleneck",
        "Bottleneck trials",
        "Context staircase",
        "Signatures in text",
        "Paper tables",
        "Evaluate",
        "Parameters",
        "Checkpoints",
    ]
    assert isinstance(Dashboard().panel, w.VBox)


def test_a_link_of_another_panel_turns_to_it() -> None:
    app = Dashboard()
    arrive(app.panel, "embtie=1&kind=parameters&model=Qwen/Qwen3-4B&view.scale=number")
    assert app.tabs.value == "Parameters"
    assert app.panel.request.model.ref == "Qwen/Qwen3-4B"
    assert app.panels["Alignment"].request == AlignRequest()
    arrive(app.panel, "embtie=1&kind=parameters&model=Qwen/Qwen3-8B")
    assert app.panel.request.model.ref == "Qwen/Qwen3-4B"


def test_a_tab_that_is_opened_by_hand_does_not_take_the_address_for_a_link() -> None:
    app = Dashboard()
    app.tabs.value = "Parameters"
    arrive(app.panel, "embtie=1&kind=align&map=identity")
    assert app.tabs.value == "Parameters"
    assert app.panel.notice.words == ""
    assert app.panel.link.page.query == "embtie=1&kind=parameters"
    assert app.panels["Alignment"].link.page.query == ""


def test_a_link_of_a_panel_that_is_not_there_is_told() -> None:
    app = Dashboard(TABS[:1])
    arrive(app.panel, "embtie=1&kind=parameters&model=nano-tied")
    assert "a panel that is not on this page" in app.panel.notice.words


def arrive(panel: Panel, query: str) -> None:
    """The page says where it is."""
    panel.link.page.page = {"query": query, "origin": "", "path": "/", "host": "voila"}


@pytest.fixture(scope="module")
def path() -> Path:
    return notebook()


def test_the_notebook_is_short_and_stores_nothing(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert sum(len(cell.source.splitlines()) for cell in code) <= 6
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert "widgets" not in book.metadata
    assert book.metadata.voila.template == "embtie"
    assert any("Run to start the app" in cell.source for cell in book.cells)


def test_the_notebook_runs_and_its_names_hold_results(path: Path, tmp_path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    check = (
        "import sys\n"
        "assert 'torch' not in sys.modules\n"
        "panel = app.panel\n"
        "panel.map.value = 'orthogonal'\n"
        "result = panel.run()\n"
        "print(result.settings['map'], panel.state.stale, panel.notice.words)\n"
    )
    book.cells.append(nbformat.v4.new_code_cell(check))
    client = nbclient.NotebookClient(
        book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    outputs = [out for cell in book.cells for out in cell.get("outputs", [])]
    assert not any(out.output_type == "error" for out in outputs)
    printed = "".join(out.text for out in outputs if out.get("name") == "stdout")
    assert printed.split() == ["orthogonal", "False"]


def test_the_alignment_story_runs_and_says_what_it_claims(tmp_path: Path) -> None:
    book = nbformat.read(notebook("alignment.ipynb"), as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert "widgets" not in book.metadata
    client = nbclient.NotebookClient(
        book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    outputs = [out for cell in code for out in cell.outputs]
    assert not any(out.output_type == "error" for out in outputs)
    printed = "".join(out.text for out in outputs if out.get("name") == "stdout")
    noise, out_side, in_side = (
        [float(number) for number in re.findall(r"-?\d\.\d\d", line)]
        for line in printed.splitlines()
    )
    assert abs(noise[0] - noise[1]) <= 0.01
    assert abs(noise[2]) <= 0.02
    assert out_side[2] > in_side[2] > out_side[1]
