"""On a public page a picker offers what may be opened."""

import os
from pathlib import Path

import ipywidgets as w
import numpy as np
import pytest

from embtie_widgets.jobs.offered import ITEMS, MODEL, RECORDED, SAVED_LENS, TEXT, names_of
from embtie_widgets.panels.corpus import CorpusPicker
from embtie_widgets.panels.pair import ModelPicker
from embtie_widgets.panels.papers import PaperTablesPanel
from embtie_widgets.panels.recorded import RUN, FilePicker
from embtie_widgets.panels.training_controls import TokenizerPicker
from embtie_widgets.requests import CorpusRef, ModelRef
from tests.panels.fake_jobs import FakeRunner

VARIABLES = {TEXT: "CORPORA", SAVED_LENS: "LENSES", RECORDED: "RUNS", ITEMS: "TASKS"}


@pytest.fixture
def public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A public page whose owner has laid out a little of everything."""
    monkeypatch.setenv("EMBTIE_PUBLIC", "1")
    monkeypatch.setenv("EMBTIE_CATALOGUE", str(tmp_path / "mine.toml"))
    monkeypatch.delenv("EMBTIE_DATASETS", raising=False)
    for variable in (*VARIABLES.values(), "MODELS"):
        folder = tmp_path / variable
        (folder / "inside").mkdir(parents=True)
        (folder / ".hidden").touch()
        (folder / "out").symlink_to(tmp_path)
        np.save(folder / "one.npy", np.ones((4, 3)))
        monkeypatch.setenv(f"EMBTIE_{variable}", str(folder))
    return tmp_path


@pytest.mark.parametrize("what", VARIABLES)
def test_what_is_laid_out_is_offered(
    what: str, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert names_of(what) == ("inside", "one.npy")
    for nothing in ("", str(public / "none"), os.devnull):
        monkeypatch.setenv(f"EMBTIE_{VARIABLES[what]}", nothing)
        assert names_of(what) == ()
    monkeypatch.delenv("EMBTIE_PUBLIC")
    assert names_of(what) is None


def test_models_are_those_of_the_catalogue_and_of_the_owner(public: Path) -> None:
    known = names_of(MODEL) or ()
    assert {"one.npy", "nano-tied", "EleutherAI/pythia-70m"} <= set(known)
    picker = ModelPicker("A", ModelRef("nano-tied"))
    picker.ref.value = "another"  # what is typed is asked for, and refused in words, not dropped
    assert picker.value == ModelRef("another")
    picker.ref.query = "one"
    assert [hit["value"] for hit in picker.ref.hits] == ["one.npy"]
    assert names_of(MODEL) == tuple(TokenizerPicker().ref.options)


def test_names_are_offered_and_another_that_is_typed_is_heard_of(
    public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = CorpusPicker(CorpusRef("one.npy")).name
    assert isinstance(name, w.Combobox)
    assert (name.options, name.value) == (("inside", "one.npy"), "one.npy")
    # A browser would keep any other name to itself, and nobody would be told that it is refused.
    assert not name.ensure_option
    file = FilePicker(lambda *_: "", lambda made: made)
    file.ask(RUN)
    assert isinstance(file.path, w.Combobox)
    assert file.path.placeholder == "one of those that are offered here"
    monkeypatch.setenv("EMBTIE_DATASETS", "on")
    assert not isinstance(CorpusPicker(CorpusRef()).name, w.Combobox)


def test_where_nothing_is_laid_out_the_field_says_so(
    public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EMBTIE_CORPORA")
    name = CorpusPicker(CorpusRef()).name
    assert (name.disabled, name.placeholder) == (True, "none is offered on this page")


def test_what_a_link_names_is_shown_even_where_it_is_not_offered(public: Path) -> None:
    assert CorpusPicker(CorpusRef("elsewhere.txt")).name.value == "elsewhere.txt"
    assert ModelPicker("A", ModelRef("no/such")).ref.value == "no/such"


@pytest.mark.parametrize("is_public", [True, False])
def test_papers_models_are_fetched_by_their_owner_alone(
    is_public: bool, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_public:
        monkeypatch.delenv("EMBTIE_PUBLIC")
    assert PaperTablesPanel(runner=FakeRunner()).fetch.disabled == is_public


def test_the_user_of_the_machine_types_what_he_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMBTIE_PUBLIC", raising=False)
    assert ModelPicker("A", ModelRef("nano-tied")).ref.free_text
    assert type(CorpusPicker(CorpusRef()).name) is w.Text
