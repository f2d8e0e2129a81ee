"""The form for recorded files: what it says, what it offers, and what a request gets of it."""

from pathlib import Path
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.fields import Binding
from embtie_widgets.panels.recorded import RecordedForm
from embtie_widgets.requests.gradient import GradientFlowRequest


def form(wanted: str = "gradient", **parts: Any) -> RecordedForm:
    return RecordedForm(wanted, lambda action: action, **parts)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text("step,mine,grad_out\n1,2,3\n2,3,4\n")
    return path


def test_a_file_whose_headers_are_known_needs_no_mapping(shared: Path) -> None:
    made = form()
    made.file.path.value = str(shared / "data" / "olmo1b_gradient_provenance.csv")
    assert "the gradient log that the paper&#x27;s authors released, 10,010 rows" in made.said.value
    assert made.columns.choices["proxy_norm"].value == "embedding_grad_l2_norm"
    assert made.columns.value == ()
    assert not made._table.children[0].value


def test_what_is_set_right_by_hand_becomes_the_mapping_and_back(log: Path) -> None:
    made = form()
    made.file.path.value = str(log)
    assert made.columns.choices["input_norm"].value == ""
    made.columns.choices["input_norm"].value = "mine"
    assert made.columns.value == ("step=step", "input_norm=mine", "output_norm=grad_out")
    made.columns.choices["input_norm"].value = ""
    assert made.columns.value == ()


def test_another_file_starts_without_the_mapping_of_the_first(log: Path) -> None:
    made = form()
    made.file.path.value = str(log)
    made.columns.choices["input_norm"].value = "mine"
    other = log.with_name("b.csv")
    other.write_text("n,mine\n1,2\n")
    made.file.path.value = str(other)
    assert made.columns.value == ()
    assert "Say which of its columns is which" in made.said.value
    assert made._table.children[0].value, "the choice of columns stands open"


def test_a_request_is_shown_with_its_mapping_without_telling_of_a_change(log: Path) -> None:
    made, changes = form(), []
    binding = Binding(made.fields(), changes.append)
    request = GradientFlowRequest(
        source="file", file=str(log), columns=("step=step", "output_norm=mine")
    )
    binding.write(request)
    assert changes == []
    assert made.columns.choices["output_norm"].value == "mine"
    assert made.file.path.value == str(log)
    assert binding.read(request) == request


def test_an_uploaded_file_is_looked_into_under_its_name(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path))
    made = form("drift")
    upload, content = made.file.upload, b"steps,input_vs_init\n0,1\n5,0.5\n"
    begin = {"kind": "begin", "name": "turned.csv", "size": len(content)}
    upload._handle_custom_msg(begin, [])
    upload._handle_custom_msg({"kind": "piece"}, [memoryview(content)])
    assert made.file.value.startswith("uploaded:")
    assert made.file.path.value == ""
    assert "turned.csv" in made.said.value
    assert made.columns.choices["input_to_first"].value == "input_vs_init"


def test_a_damaged_file_is_said_and_offers_nothing(tmp_path: Path) -> None:
    path = tmp_path / "<b>.csv"
    path.write_text("")
    made = form()
    made.file.path.value = str(path)
    assert "&lt;b&gt;.csv is empty" in made.said.value
    assert str(tmp_path) not in made.said.value
    assert made.columns.children == ()


def test_headers_and_cells_are_text_and_never_markup(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("step,<img src=x>\n1,<script>\n")
    made = form()
    made.file.path.value = str(path)
    assert "&lt;img src=x&gt;" in made.rows.value
    assert "<img" not in made.rows.value
    assert "<script" not in made.rows.value


def test_a_file_of_another_view_is_named_as_such(shared: Path) -> None:
    made = form()
    made.file.path.value = str(shared / "data" / "evolution_pythia-1b.json")
    assert "a drift series that the paper&#x27;s authors released" in made.said.value
    assert "the view of drift" in made.said.value


def test_of_a_run_the_folder_is_asked_for_and_how_far_it_is() -> None:
    def follow(named: str) -> str:
        if named != "mine":
            raise EmbtieError(f"'{named}' is no folder of a run.", "Name another.")
        return "The run 'tied': 5 steps, running."

    made = form(follow=follow)
    made.adapt("run")
    assert made.file.path.placeholder == "a folder"
    assert made.file.upload.layout.display == "none"
    made.file.path.value = "mine"
    assert "5 steps, running" in made.said.value
    made.file.path.value = "other"
    assert "no folder of a run. Name another." in made.said.value
    assert made._table.layout.display == "none"
    made.adapt("train")
    assert made.file.path.placeholder == "a folder"
