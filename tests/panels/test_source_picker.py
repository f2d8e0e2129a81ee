"""The picker of a source: nothing recorded is asked for before it is named."""

from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.fields import Binding
from embtie_widgets.panels.recorded import RecordedForm
from embtie_widgets.panels.source import SourcePicker
from embtie_widgets.requests.gradient import GradientFlowRequest
from embtie_widgets.sources.recorded import Peek

OPTIONS = [("trained", "train"), ("a text", "text"), ("a file", "file"), ("a run", "run")]


def look(_named: str, _wanted: str) -> Peek:
    guess = {"step": "step"}
    return Peek("a.csv", "table", "a table", ("step", "a"), 3, guess, {}, (), (), ())


def made() -> tuple[SourcePicker, Binding, list[str], list[Any]]:
    shown: list[str] = []
    heard: list[Any] = []
    form = RecordedForm("gradient", lambda f: f, look=look, follow=lambda _: "A run.")
    picker = SourcePicker(OPTIONS, ("what", "What is shown"), form, shown.append)
    binding = Binding(picker.fields(), lambda _: heard.append(read(binding)))
    return picker, binding, shown, heard


def read(binding: Binding) -> Any:
    return binding.read(GradientFlowRequest())


def test_a_file_is_asked_for_only_once_it_is_named() -> None:
    picker, binding, shown, heard = made()
    picker.source.value = "text"
    picker.source.value = "file"
    assert shown[-1] == "file"
    assert picker.form.layout.display == ""
    assert read(binding).source == "text"
    picker.form.file.path.value = "log.csv"
    assert (read(binding).source, read(binding).file) == ("file", "log.csv")
    assert heard[-1] == GradientFlowRequest(source="file", file="log.csv")


def test_what_is_to_be_named_is_missed_until_it_is() -> None:
    picker, *_ = made()
    picker.check()
    for source, missed in (("file", "No recorded file"), ("run", "No run")):
        picker.source.value = source
        with pytest.raises(EmbtieError, match=missed):
            picker.check()
        picker.form.file.path.value = "log"
        picker.check()


def test_other_sources_name_no_file_and_come_back_to_it() -> None:
    picker, binding, _, _ = made()
    picker.source.value = "file"
    picker.form.file.path.value = "log.csv"
    picker.source.value = "train"
    assert picker.form.layout.display == "none"
    assert read(binding) == GradientFlowRequest()
    picker.source.value = "file"
    assert read(binding).file == "log.csv"


def test_a_file_is_not_taken_for_a_run() -> None:
    picker, binding, _, _ = made()
    picker.source.value = "file"
    picker.form.file.path.value = "log.csv"
    picker.source.value = "run"
    assert (read(binding).source, picker.form.file.value) == ("train", "")
    picker.form.file.path.value = "runs/mine"
    assert read(binding) == GradientFlowRequest(source="run", file="runs/mine")
    picker.source.value = "file"
    assert read(binding) == GradientFlowRequest(source="file", file="log.csv")


def test_a_request_sets_source_and_file() -> None:
    _, binding, shown, heard = made()
    asked = GradientFlowRequest(source="run", file="runs/mine")
    binding.write(asked)
    assert read(binding) == asked
    assert (shown[-1], heard) == ("run", [])
