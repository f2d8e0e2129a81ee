"""What a visitor of a served page may name, and what only the user of the machine."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import CorpusRef, ModelRef
from embtie_widgets.sources.corpora import Corpus, find_corpus
from embtie_widgets.sources.load import load
from embtie_widgets.sources.permission import (
    DATASETS,
    FOLDER,
    LENSES,
    SERVED,
    is_served,
    lens_path,
)
from embtie_widgets.sources.tokenizing import tokenizer_of


@pytest.fixture
def texts(tmp_path: Path, monkeypatch) -> Path:
    """A folder laid out by the owner, a secret beside it; nothing says yet that it is served."""
    for name in (SERVED, FOLDER, LENSES, DATASETS, "VOILA_BASE_URL", "VOILA_PREHEAT"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "texts"
    (folder / "more").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "more" / "b.txt").write_text("b")
    (folder / "counts.csv").write_text("token,count\na,1\n")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "circle.txt").symlink_to(folder / "circle.txt")
    return folder


@pytest.fixture
def page(texts: Path, monkeypatch) -> Path:
    """The same on a page that `embtie` serves."""
    monkeypatch.setenv(SERVED, "1")
    monkeypatch.setenv(FOLDER, str(texts))
    return texts


def found(ref: object) -> str:
    corpus = find_corpus(CorpusRef(str(ref)))
    return corpus.name


def refused(ref: object) -> EmbtieError:
    with pytest.raises(EmbtieError) as caught:
        find_corpus(CorpusRef(str(ref)))
    return caught.value


@pytest.mark.parametrize("name", ["VOILA_BASE_URL", "VOILA_PREHEAT", SERVED])
def test_a_kernel_of_voila_is_known_by_what_voila_sets(name, texts, monkeypatch):
    assert not is_served()
    monkeypatch.setenv(name, "1")
    assert is_served()


def test_the_user_of_the_machine_may_name_any_text(texts):
    assert found(texts.parent / "secret.txt") == "secret.txt"
    assert found(texts / "more") == "more"


def test_a_name_in_the_owners_folder_means_the_same_with_and_without_a_page(
    texts, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(FOLDER, str(texts))
    assert found("a.txt") == "a.txt"
    monkeypatch.setenv(SERVED, "1")
    assert found("a.txt") == "a.txt"


def test_a_visitor_may_name_what_lies_in_the_folder(page):
    assert found("bundled").startswith("bundled")
    assert found("a.txt") == found(page / "a.txt") == "a.txt"
    assert found("more/b.txt") == found("more/../more/b.txt") == "b.txt"
    assert isinstance(find_corpus(CorpusRef("more")), Corpus)
    assert found("counts.csv") == "counts.csv"


@pytest.mark.parametrize(
    "name",
    [
        "{outside}/secret.txt",
        "../secret.txt",
        "more/../../secret.txt",
        "link.txt",
        "circle.txt",
        "~/secret.txt",
        "gone.txt",
        "/etc/passwd",
        "/proc/self/environ",
        "x" * 300,
    ],
)
def test_a_visitor_may_name_nothing_else_and_learns_nothing_of_it(name, page):
    error = refused(name.format(outside=page.parent))
    last = Path(name).name
    assert error.message == (
        "On a shared page only texts that its owner has laid out can be counted, and there is "
        f"none called '{last}'."
    )
    assert str(page.parent) not in str(error)


def test_without_a_folder_a_visitor_has_the_bundled_text_alone(texts, monkeypatch):
    monkeypatch.chdir(texts)
    monkeypatch.setenv(SERVED, "1")
    assert found("bundled")
    for name in ("a.txt", ".", str(texts / "a.txt")):
        refused(name)


def test_a_visitor_does_not_learn_what_the_home_folder_is_called(page):
    assert "none called '~'." in refused("~").message


def test_what_the_owner_hides_in_the_folder_is_not_laid_out(page):
    (page / ".env").write_text("secret")
    (page / ".git").mkdir()
    (page / ".git" / "config.txt").write_text("secret")
    names = (".env", ".git", ".git/config.txt", "more/../.env", f"{page}/.env")
    for name in names:
        assert "none called" in refused(name).message
    (page / "shown.txt").symlink_to(page / ".git" / "config.txt")  # as a mounted volume has it
    assert found("shown.txt") == "shown.txt"


@pytest.mark.parametrize("opened", ["off", "on"])
def test_a_data_set_tells_a_visitor_of_no_folder_of_the_server(opened, page, monkeypatch):
    monkeypatch.setenv(DATASETS, opened)
    there, gone = (refused(f"datasets:{page}{end}").message for end in ("", "x"))
    assert there.replace(page.name, "") == gone.replace(f"{page.name}x", "")


def test_a_visitor_reads_no_text_as_a_list_of_tokens(page):
    secret = page.parent / "secret.txt"
    for model in ("nano-tied", str(page)):
        for read in (load, tokenizer_of):
            with pytest.raises(EmbtieError) as caught:
                read(ModelRef(model, tokens_file=str(secret)))
            assert str(page.parent) not in str(caught.value)
    with pytest.raises(EmbtieError, match="no list called"):
        load(ModelRef("nano-tied", tokens_file=str(secret)))


def test_a_list_of_tokens_beside_its_model_is_read_on_a_page(page, monkeypatch):
    np.save(page / "in.npy", np.eye(3, dtype=np.float32))
    (page / "tokens.txt").write_text("a\nb\nc\n")
    (page / "more" / "tokens.txt").write_text("d\ne\nf\n")
    beside = ModelRef(str(page / "in.npy"), tokens_file=str(page / "tokens.txt"))
    assert load(beside).tokens == [b"a", b"b", b"c"]
    elsewhere = replace(beside, tokens_file=str(page / "more" / "tokens.txt"))
    with pytest.raises(EmbtieError, match="no list called"):
        load(elsewhere)
    monkeypatch.delenv(SERVED)
    assert load(elsewhere).tokens == [b"d", b"e", b"f"]


def test_data_sets_are_opened_where_the_owner_says_so(page, monkeypatch):
    monkeypatch.setattr("embtie_widgets.sources.data_sets.commit_of", lambda _name: "")
    assert "not opened" in str(refused("datasets:owner/name"))
    monkeypatch.setenv(DATASETS, "on")
    assert found("datasets:owner/name") == "owner/name (train)"
    assert "names no data set" in str(refused(f"datasets:{page}"))
    monkeypatch.chdir(page)
    (page / "owner" / "name").mkdir(parents=True)
    assert "not opened" in str(refused("datasets:owner/name"))


def test_a_visitor_loads_lenses_from_their_own_folder_alone(page, monkeypatch):
    folder = page.parent / "lenses"
    folder.mkdir()
    for lens in (folder / "mine.safetensors", folder / ".hidden", page / "other.safetensors"):
        lens.write_bytes(b"x")
    with pytest.raises(EmbtieError, match="none called"):
        lens_path("mine.safetensors")
    monkeypatch.setenv(LENSES, str(folder))
    assert lens_path("mine.safetensors").read_bytes() == b"x"
    assert lens_path(str(folder / "mine.safetensors")).read_bytes() == b"x"
    for name in (
        "other.safetensors",
        str(page / "other.safetensors"),
        ".hidden",
        "gone",
        "../texts",
    ):
        with pytest.raises(EmbtieError) as caught:
            lens_path(name)
        assert f"none called '{Path(name).name}'" in caught.value.message
        assert str(page.parent) not in str(caught.value)


def test_the_user_of_the_machine_may_name_any_lens(texts, monkeypatch):
    secret = texts.parent / "secret.txt"
    assert lens_path(str(secret)) == secret
    monkeypatch.setenv(LENSES, str(texts))
    assert lens_path("a.txt") == texts / "a.txt"
