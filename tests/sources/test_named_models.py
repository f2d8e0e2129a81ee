"""Which models a visitor of a public page may open, whatever a request calls them."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import catalogue
from embtie_widgets.jobs import run as doors
from embtie_widgets.requests import CheckpointsRequest, ModelRef, ParametersRequest
from embtie_widgets.requests.fields import short
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.sources import hub, named_models
from embtie_widgets.sources.load import load
from embtie_widgets.sources.models import open_model
from embtie_widgets.sources.named_models import laid_out_models, model_path, passed_over
from embtie_widgets.sources.parameters import parameters
from embtie_widgets.sources.series import is_remote, list_revisions, load_series
from embtie_widgets.sources.tokenizing import tokenizer_of
from tests.sources.models import llama, saved

E = np.arange(12.0, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the owner has laid out, in two folders, and what lies beside it, not laid out."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMBTIE_CATALOGUE", str(tmp_path / "mine.toml"))
    models, more = tmp_path / "models", tmp_path / "more"
    for folder in (models / "twins" / "tied", models / ".hidden", more / "mine", tmp_path / "own"):
        folder.mkdir(parents=True)
        saved(llama(), folder)
    np.save(models / "E.npy", E)
    np.save(models / "U.npy", E + 1)
    (models / "tokens.txt").write_text("a\nb\nc\nd\n")
    np.save(tmp_path / "secret.npy", E)
    (tmp_path / "secret.txt").write_text("a\nb\nc\nd\n")
    (models / "link").symlink_to(tmp_path / "own")
    (models / "circle").symlink_to(models / "circle")
    return tmp_path


@pytest.fixture
def page(ground: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same on a public page."""
    folders = os.pathsep.join([str(ground / "models"), str(ground / "more")])
    for name, value in {"SERVED": "1", "PUBLIC": "1", "MODELS": folders}.items():
        monkeypatch.setenv(f"EMBTIE_{name}", value)
    return ground


LAID_OUT = ["twins/tied", "mine", "E.npy", "nano-tied"]
NOT_OFFERED = [
    "{}/own", "own", "../own", "models/../own", "{}/models/../own", "link", "circle", ".hidden",
    "{}/secret.npy", "../secret.npy", "{}", "..", ".", "~", "~root", "/", "/etc/passwd",
    "/etc/nothing", "/proc/self/environ", "nothing", "x" * 1_000, "someone/else", "gpt2",
    "someone/else@main", "https://huggingface.co/a/b", "models--a--b",
]  # fmt: skip


@pytest.mark.parametrize("name", LAID_OUT)
def test_what_is_laid_out_opens_by_its_name_there(name: str, page: Path) -> None:
    assert load(name).input.shape[1] in (3, 48, 64, 128, 32, 16, 8)
    if (page / name).suffix != ".npy" and "nano" not in name:
        assert len(model_path(name).parts) > len(Path(name).parts)


def _doors(name: str) -> dict[str, Any]:
    """Every way to a model that is named."""
    model = ModelRef(name)
    return {
        "load": lambda: load(model),
        "load a name": lambda: load(name),
        "load a revision": lambda: load(ModelRef(name, "step1")),
        "output file": lambda: load(ModelRef("E.npy", output_file=name)),
        "open": lambda: open_model(model),
        "tokenizer": lambda: tokenizer_of(model),
        "parameters": lambda: parameters(model),
        "series": lambda: load_series(model, ["a", "b"]),
        "revisions": lambda: list_revisions(name),
        **{f"run {kind}": lambda kind=kind: doors.run(_naming(kind, name)) for kind in KINDS},
        **{f"look {kind}": lambda kind=kind: doors.look(_naming(kind, name)) for kind in KINDS},
        **{f"cost {kind}": lambda kind=kind: doors.estimate(_naming(kind, name)) for kind in KINDS},
    }


def _naming(kind: str, name: str) -> Any:
    """A request of that kind which names the model; None for the kind that names none."""
    known = KINDS[kind].request
    field = next(f for f in ("b", "model", "tokenizer", "data") if f in known.__dataclass_fields__)
    return known(**{field: name})


@pytest.mark.parametrize("name", NOT_OFFERED)
def test_nothing_else_opens_by_any_door_and_all_are_told_the_same(
    name: str, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub.huggingface_hub, "HfApi", None)  # nothing is asked of the hub
    name = name.format(page)
    for door, go in _doors(name).items():
        if "staircase" in door or "paper-tables" in door:  # one names no model, one a run
            continue
        try:
            go()
        except EmbtieError as told:
            message = told.message.replace(repr(name), "")
        else:
            pytest.fail(f"{door} opens it")
        assert "On this public page" in message or "no plain text" in message, door
        assert str(page) not in message, door


def test_what_is_there_and_what_is_not_are_told_alike(page: Path) -> None:
    def told(name: str) -> str:
        with pytest.raises(EmbtieError) as caught:
            model_path(name)
        return str(caught.value).replace(short(name), "")

    assert told(str(page / "own")) == told(str(page / "none")) == told("/etc/passwd")


def test_estimates_do_not_say_what_is_there(page: Path) -> None:
    for request in (
        CheckpointsRequest(ModelRef(str(page / "own")), depth="names"),
        ParametersRequest(ModelRef(str(page / "own"))),
    ):
        with pytest.raises(EmbtieError, match="public page"):
            doors.estimate(request)


def test_companions_of_a_matrix_lie_in_the_owners_folders(page: Path) -> None:
    whole = ModelRef("E.npy", output_file="U.npy", tokens_file="tokens.txt")
    loaded = load(whole)
    assert loaded.tokens == [b"a", b"b", b"c", b"d"]
    assert loaded.output is not None
    for wrong in (
        ModelRef("E.npy", tokens_file=str(page / "secret.txt")),
        ModelRef("E.npy", tokens_file="../secret.txt"),
        ModelRef("E.npy", output_file="../secret.npy"),
        ModelRef("nano-tied", tokens_file="secret.txt"),
    ):
        with pytest.raises(EmbtieError, match=r"page") as told:
            load(wrong)
        assert str(page) not in str(told.value)


def test_the_owners_own_catalogue_counts(page: Path) -> None:
    (page / "mine.toml").write_text(f'[[model]]\nref = "{page / "own"}"\n')
    assert load(str(page / "own")).input.ndim == 2
    (page / "mine.toml").write_text(f'[[pair]]\nname = "p"\na = "someone/else"\nb = "{page}/own"\n')
    assert is_remote("someone/else")
    with pytest.raises(EmbtieError, match="public page"):
        is_remote("someone/other")


def test_every_model_of_the_catalogue_may_be_named_and_no_folder_stands_for_one(
    page: Path,
) -> None:
    for entry in catalogue.entries():
        model_path(entry.ref)
    assert is_remote("EleutherAI/pythia-70m")


def test_a_run_of_the_owner_is_a_model_too(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_RUNS", str(page / "own" / ".."))
    assert load("own").input.ndim == 2


def test_the_owner_names_the_same_models_the_same_way(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EMBTIE_PUBLIC")
    for name in (*LAID_OUT, str(page / "own"), str(page / "secret.npy")):
        assert load(name).input.ndim == 2


def test_what_is_laid_out_is_offered_by_the_names_that_open_it(page: Path) -> None:
    assert laid_out_models() == ("E.npy", "U.npy", "mine", "twins/tied")
    for name in laid_out_models():
        assert load(name).input.ndim == 2
    offered = {hit.value for hit in catalogue.search("", limit=500)}
    assert offered >= set(laid_out_models())


def test_a_folder_of_thousands_of_models_is_not_gone_through_without_end(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(600):
        (page / "more" / f"{number}.npy").touch()
    monkeypatch.setattr(named_models, "_MOST", 100)
    assert len(laid_out_models()) == 4 + 99  # "mine" comes after all numbers


def test_what_is_offered_to_nobody_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = tmp_path / "shelf"
    for folder in ("good/deeper", "empty", ".hidden"):
        (shelf / folder).mkdir(parents=True)
    (shelf / "good/deeper/a.npy").touch()
    (shelf / "tokens.txt").touch()
    (shelf / "out").symlink_to(tmp_path)
    monkeypatch.setenv("EMBTIE_MODELS", str(shelf))
    assert list(passed_over()) == [
        "empty, a folder with no model that can be read",
        "out, a link that leads out of its folder",
    ]
