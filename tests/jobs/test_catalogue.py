"""The catalogue: presets, the user's own file, and what lies on this machine."""

from pathlib import Path

import pytest
from huggingface_hub import constants

from embtie_widgets.jobs import catalogue, fitting
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources.catalogue_file import PRESETS, read


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's file that is not there yet, and an empty cache."""
    monkeypatch.setenv("EMBTIE_CATALOGUE", str(tmp_path / "mine.toml"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "mine.toml"


def cache(folder: Path, ref: str, *files: str) -> None:
    snapshot = folder / "hub" / f"models--{ref.replace('/', '--')}" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    for name in files:
        (snapshot / name).touch()


def test_the_presets_have_no_fault_and_every_pair_knows_its_models() -> None:
    presets = read(PRESETS)
    assert not presets.faults
    roles = {entry.ref: entry.role for entry in presets.models}
    assert len(roles) == len(presets.models)
    assert len({pair.name for pair in presets.pairs}) == len(presets.pairs)
    for pair in presets.pairs:
        assert (roles[pair.a.ref], roles[pair.b.ref]) == ("untied", "tied")


def test_the_pairs_of_the_paper_name_its_tables() -> None:
    papers = {pair.name: pair.paper for pair in catalogue.pairs()}
    assert {"olmo-1b", "pythia-neo", "qwen3"} <= {name for name, paper in papers.items() if paper}
    found = catalogue.find_pair("qwen3")
    assert found is not None
    assert (found.a.ref, found.b.ref) == ("Qwen/Qwen3-8B", "Qwen/Qwen3-4B")
    assert catalogue.find_pair("none") is None
    assert catalogue.pair_of(found.a, found.b, "auto") == found
    assert catalogue.pair_of(found.b, found.a, "auto") is None


def test_what_is_on_this_machine_is_marked_and_listed_first(tmp_path: Path) -> None:
    cache(tmp_path, "google/gemma-7b", "config.json", "model.safetensors")
    cache(tmp_path, "google/gemma-2b", "config.json")
    first = catalogue.search("")[:3]
    assert {hit.value for hit in first} == {"nano-untied", "nano-tied", "google/gemma-7b"}
    assert [hit.value for hit in catalogue.search("on this machine")] == ["google/gemma-7b"]
    assert catalogue.search("gemma")[0].value == "google/gemma-7b"


def test_matrices_that_embtie_has_fetched_are_marked_once_they_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path))
    folder = tmp_path / "tensors" / "models--google--gemma-2b"
    folder.mkdir(parents=True)
    (folder / "fact.json").touch()
    assert not catalogue.search("gemma-2b on this machine")
    (folder / "matrix.safetensors").touch()
    assert catalogue.search("gemma-2b on this machine")
    (folder / "other.part").touch()
    assert not catalogue.search("gemma-2b on this machine")


def test_a_pair_is_here_only_when_both_its_models_are(tmp_path: Path) -> None:
    cache(tmp_path, "Qwen/Qwen3-8B", "model-00001-of-00005.safetensors")
    assert [hit.value for hit in catalogue.search_pairs("on this machine")] == ["nano"]
    cache(tmp_path, "Qwen/Qwen3-4B", "model-00001-of-00003.safetensors")
    assert [hit.value for hit in catalogue.search_pairs("")][:2] == ["nano", "qwen3"]


def test_every_word_must_be_found_whatever_its_case() -> None:
    assert [hit.value for hit in catalogue.search("QWEN3 8b")] == ["Qwen/Qwen3-8B"]
    assert [hit.value for hit in catalogue.search("qwen3 tied 1.7")] == ["Qwen/Qwen3-1.7B"]
    assert catalogue.search("no such model") == []
    assert len(catalogue.search("", limit=5)) == 5


def test_a_users_file_adds_models_and_pairs(own: Path) -> None:
    own.write_text(
        '[[model]]\nref = "me/run-7"\nlabel = "Run 7"\nrole = "tied"\nnote = "ours"\n'
        '[[model]]\nref = "nano-tied"\nlabel = "The small one"\n'
        '[[pair]]\nname = "mine"\na = "nano-untied"\n'
        'b = {ref = "me/run-7", revision = "step5"}\nrole_b = "input"\n'
    )
    assert catalogue.search("run 7")[0].label == "Run 7"
    assert catalogue.label_of("nano-tied") == "The small one"
    assert len({entry.ref for entry in catalogue.entries()}) == len(catalogue.entries())
    pair = catalogue.find_pair("mine")
    assert pair is not None
    assert (pair.label, pair.b, pair.role_b) == ("mine", ModelRef("me/run-7", "step5"), "input")
    assert catalogue.faults() == ()


def test_the_mark_that_some_editors_put_first_is_no_fault(own: Path) -> None:
    own.write_text('\ufeff[[model]]\nref = "me/a"\n', encoding="utf-8")
    assert catalogue.faults() == ()
    assert catalogue.search("me/a")


def test_the_file_is_read_again_once_it_has_changed(own: Path) -> None:
    own.write_text('[[model]]\nref = "me/a"\n')
    assert catalogue.search("me/a")
    own.write_text('[[model]]\nref = "me/other"\n')
    assert not catalogue.search("me/a")
    assert catalogue.search("me/other")


@pytest.mark.parametrize(
    ("bad", "line", "told"),
    [
        ('[[model]]\nlabel = "no reference"\n', 4, "ref is None"),
        ('[[model]]\nref = "x/y"\nrole = "both"\n', 4, "role is 'both'"),
        ('[[model]]\nref = "x/y"\ncolour = "red"\n', 4, "unknown field 'colour'"),
        ('[[model]]\nref = "x/y"\nlabel = no quotes\n', 6, "no valid TOML"),
        ('[[modell]]\nref = "x/y"\n', 4, "[[modell]] is no kind of entry"),
        ('[[pair]]\nname = "UP"\na = "x"\nb = "y"\n', 4, "name is 'UP'"),
        ('[[pair]]\nname = "p"\na = "x"\n', 4, "model is None"),
        ('[[pair]]\nname = "p"\na = 3\nb = "y"\n', 4, "model is 3"),
    ],
)
def test_a_fault_is_told_by_its_line_and_costs_no_other(
    own: Path, bad: str, line: int, told: str
) -> None:
    good = '[[model]]\nref = "me/first"\n\n', '\n[[model]]\nref = "me/last"\n'
    own.write_text(good[0] + bad + good[1])
    assert len(catalogue.faults()) == 1
    fault = catalogue.faults()[0]
    assert fault.startswith(f"mine.toml, line {line}: ")
    assert told in fault
    assert [hit.value for hit in catalogue.search("me/")] == ["me/first", "me/last"]
    assert catalogue.find_pair("nano") is not None


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"#" * (2**20 + 1)])
def test_a_file_that_is_no_text_or_too_large_is_told(own: Path, content: bytes) -> None:
    own.write_bytes(content)
    assert "cannot be read as a text" in catalogue.faults()[0]
    assert catalogue.search("nano")


def test_lines_before_the_first_entry_are_told(own: Path) -> None:
    own.write_text('# a remark is fine\nref = "x"\n[[model]]\nref = "me/a"\n')
    assert "line 1: only [[model]] and [[pair]]" in catalogue.faults()[0]
    assert catalogue.search("me/a")


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_PUBLIC", "1")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def off(whole: bool) -> dict[str, str]:
    return {hit.value: hit.off for hit in catalogue.search("", whole=whole) if hit.off}


@pytest.mark.usefixtures("public")
def test_what_is_too_large_for_a_visitor_is_said_with_size_and_limit(tmp_path: Path) -> None:
    said = "too large for this page: 5.6 GB or more to download, at most 4.0 GB"
    assert off(whole=True)["EleutherAI/pythia-2.8b"] == said
    assert "openai-community/gpt2-xl" not in off(whole=True)
    assert off(whole=False) == {}  # the two matrices alone are within the bounds
    hits = [hit.off != "" for hit in catalogue.search("", whole=True)]
    assert hits == sorted(hits)  # what can be chosen stands first
    cache(tmp_path, "EleutherAI/pythia-2.8b", "model.safetensors")
    assert "EleutherAI/pythia-2.8b" not in off(whole=True)  # nothing of it is downloaded


@pytest.mark.usefixtures("public")
def test_a_pair_is_held_against_the_bound_together() -> None:
    pairs = {hit.value: hit.off for hit in catalogue.search_pairs("", whole=True)}
    assert "OLMo-1B" not in " ".join(off(whole=True))
    assert pairs["olmo-1b"].startswith("too large for this page: 4.9 GB")
    assert pairs["nano"] == ""


@pytest.mark.usefixtures("public")
def test_the_bound_is_the_one_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "FETCHED_BYTES", 10**12)
    monkeypatch.setattr(fitting, "MATRIX_NUMBERS", 2**29)
    large = off(whole=True)
    assert large["google/gemma-2-9b"].startswith("too large for this page: a matrix of 917,504,000")
    assert "EleutherAI/pythia-12b" not in large


@pytest.mark.usefixtures("public")
def test_a_model_whose_size_is_not_known_is_offered(own: Path) -> None:
    own.write_text('[[model]]\nref = "me/a"\n')
    assert [hit.off for hit in catalogue.search("me/a", whole=True)] == [""]


@pytest.mark.usefixtures("public")
def test_where_nothing_is_downloaded_only_what_is_here_can_be_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache(tmp_path, "google/gemma-7b", "model.safetensors")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    free = {hit.value for hit in catalogue.search("") if not hit.off}
    assert free == {"nano-untied", "nano-tied", "google/gemma-7b"}
    assert off(whole=False)["openai-community/gpt2"].startswith("not on this machine")


def test_nothing_is_too_large_where_there_are_no_bounds() -> None:
    assert off(whole=True) == {}
