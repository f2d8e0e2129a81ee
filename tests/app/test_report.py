"""Reports without a browser: from requests, links, files, panels and the dashboard."""

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import papermill
import pytest

import embtie_widgets as ew
from embtie_widgets.app.dashboard import Dashboard
from embtie_widgets.app.serve import notebook
from embtie_widgets.cli import main
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.first import first_result
from embtie_widgets.jobs.report import Saved, read_report, report_zip
from embtie_widgets.requests import AlignRequest, LensRequest
from embtie_widgets.requests.link import encode
from embtie_widgets.requests.reading import to_json

REQUEST = ew.ParametersRequest()


def test_a_report_of_a_request_holds_its_result(tmp_path: Path) -> None:
    place = ew.report(REQUEST, tmp_path / "r.zip")
    (one,) = read_report(place.read_bytes()).panels
    assert (one.request, one.answered) == (REQUEST, REQUEST)
    assert one.result == ew.run(REQUEST)
    page = ew.report(REQUEST, str(tmp_path / "r.html")).read_text(encoding="utf-8")
    assert "Token matrices are 66.7 %" in page


def test_a_given_result_is_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ew.run(REQUEST)
    monkeypatch.setattr("embtie_widgets.jobs.run.run", lambda *_: pytest.fail("it was run"))
    place = ew.report(REQUEST, tmp_path / "r.html", result=result)
    assert "Token matrices are 66.7 %" in place.read_text(encoding="utf-8")


def test_a_link_brings_its_view(tmp_path: Path) -> None:
    query = encode(REQUEST, (), {"scale": "number"})
    ew.report(query, tmp_path / "r.zip")
    (one,) = read_report((tmp_path / "r.zip").read_bytes()).panels
    assert one.view == {"scale": "number"}


def test_the_command_writes_the_same_and_makes_it_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "request.json").write_text(to_json(REQUEST))
    first, again, page = (str(tmp_path / name) for name in ("a.zip", "b.zip", "c.html"))
    assert main(["run", str(tmp_path / "request.json"), "--report", first]) == 0
    assert main(["run", first, "--report", again, "--out", str(tmp_path / "files")]) == 0
    assert main(["run", "embtie=1&kind=parameters", "--report", page]) == 0
    ours, theirs = (read_report(Path(one).read_bytes()).panels for one in (first, again))
    assert ours == theirs
    assert (tmp_path / "files" / "table.csv").is_file()
    assert "Written: " in capsys.readouterr().out
    without_time = re.sub(r"on \d{4}-[^<]* UTC", "", Path(page).read_text(encoding="utf-8"))
    ew.report(REQUEST, page)
    assert without_time == re.sub(r"on \d{4}-[^<]* UTC", "", Path(page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["r.pdf", "r", "nowhere/r.html"])
def test_a_place_that_cannot_be_is_told_before_any_work(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embtie_widgets.jobs.run.run", lambda *_: pytest.fail("it was run"))
    with pytest.raises(EmbtieError, match=r"no '|no folder"):
        ew.report(REQUEST, tmp_path / name)
    (tmp_path / "request.json").write_text(to_json(REQUEST))
    assert main(["run", str(tmp_path / "request.json"), "--report", str(tmp_path / name)]) == 2


def test_the_dashboard_saves_what_is_open_and_opens_it_again(tmp_path: Path) -> None:
    one = Dashboard()
    one.tabs.value = "Parameters"
    one.tabs.value = "Checkpoints"
    ew.report(one, tmp_path / "r.zip")
    other = Dashboard()
    other.open_report(read_report((tmp_path / "r.zip").read_bytes()))
    assert other.tabs.value == "Checkpoints"
    assert list(other.panels) == ["Alignment", "Checkpoints"]  # the rest when it is looked at
    assert "Opened from a report" in other.panel.outdated.value
    ew.report(other, tmp_path / "again.zip")
    kinds = [
        [one.request.kind for one in read_report((tmp_path / name).read_bytes()).panels]
        for name in ("r.zip", "again.zip")
    ]
    assert kinds == [["align", "parameters", "checkpoints"]] * 2


def test_of_two_reports_in_a_row_the_second_is_shown_and_the_rest_stays() -> None:
    def archive(seed: int, *kinds: str) -> bytes:
        asked = {"align": AlignRequest(seed=seed), "lens": LensRequest(seed=seed)}
        saved = [Saved(asked[k], asked[k], None, first_result(type(asked[k])())) for k in kinds]
        return report_zip(saved, kinds[0], lambda _: "", "2026-11-30T12:00:00+00:00")

    app = Dashboard()
    for data in (archive(1, "align", "lens"), archive(2, "align"), b"PK nothing"):
        app.report.upload._take(data, "r.zip")
    assert app.panel.request.seed == 2
    assert "no whole zip" in app.report.notice.words
    app.tabs.value = "Lens"  # of the first report, since no other has spoken of it
    assert app.panel.request.seed == 1
    assert "Opened from a report" in app.panel.outdated.value


def test_a_file_that_is_no_report_is_told_in_the_head() -> None:
    app = Dashboard()
    app.report.upload._take(b"PK nothing", "x.zip")
    assert "no whole zip" in app.report.notice.words
    before = app.panel.result
    app.report.upload._take(b"{}", "x.json")
    assert "no report" in app.report.notice.words
    assert app.panel.result is before


def test_a_button_of_the_head_gives_a_file() -> None:
    app = Dashboard()
    sent: list[Any] = []
    button = app.report.buttons["Report ZIP"]
    assert button.title.startswith("Every tab that was opened")
    assert app.panel.exports.files["Report ZIP"].title.startswith("This panel")
    button.send = lambda content, buffers=None: sent.append((content, buffers))  # type: ignore[method-assign]
    button._receive(button, {"kind": "ask"}, [])
    content, buffers = sent[0]
    assert content["filename"] == "embtie-report.zip"
    with zipfile.ZipFile(io.BytesIO(buffers[0])) as zipped:
        assert "report.html" in zipped.namelist()


@pytest.mark.parametrize("tool", ["nbclient", "papermill"])
def test_the_notebook_makes_the_report_of_its_parameters(tool: str, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(to_json(ew.CheckpointsRequest()))
    given = {"request": str(tmp_path / "request.json"), "output": str(tmp_path / "r.html")}
    source = notebook("report.ipynb")
    if tool == "papermill":
        papermill.execute_notebook(
            str(source), str(tmp_path / "done.ipynb"), parameters=given, progress_bar=False
        )
    else:
        book = nbformat.read(source, as_version=4)
        cell = next(c for c in book.cells if "parameters" in c.metadata.get("tags", ()))
        cell.source = "\n".join(f"{name} = {value!r}" for name, value in given.items())
        nbclient.NotebookClient(book, resources={"metadata": {"path": tmp_path}}).execute()
    assert "5 of 5 checkpoints" in (tmp_path / "r.html").read_text(encoding="utf-8")
