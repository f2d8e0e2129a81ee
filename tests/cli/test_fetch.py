"""`embtie fetch` against a hub on this machine that counts what moves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import embtie_widgets as ew
from embtie_widgets.cli import main
from embtie_widgets.jobs import catalogue
from embtie_widgets.jobs.fetch import plan, wanted
from embtie_widgets.requests import ModelRef
from tests.hub_server import HubServer, hub_of
from tests.sources.models import LLAMA, llama, saved

UNTIED, TIED = "lab/untied", "lab/tied"
ROWS, WIDTH = 8000, 64
MATRIX = ROWS * WIDTH * 4
WEIGHTS = ".safetensors"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub with a pair that a user's catalogue names "ours", and empty caches."""
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EMBTIE_CATALOGUE", str(tmp_path / "mine.toml"))
    (tmp_path / "mine.toml").write_text(f'[[pair]]\nname = "ours"\na = "{UNTIED}"\nb = "{TIED}"\n')
    sizes = LLAMA | {"vocab_size": ROWS, "hidden_size": WIDTH, "intermediate_size": 2000}
    with hub_of(monkeypatch, tmp_path / "home") as running:
        for ref, tied in ((UNTIED, False), (TIED, True)):
            running.add(ref, saved(llama(tied=tied, **sizes), tmp_path / ref))
        yield running


def test_a_pair_is_named_by_the_catalogue_and_a_revision_by_an_at() -> None:
    assert wanted(["qwen3"]) == (ModelRef("Qwen/Qwen3-8B"), ModelRef("Qwen/Qwen3-4B"))
    assert wanted(["a/b@step5", "a/b"]) == (ModelRef("a/b", "step5"), ModelRef("a/b"))
    assert wanted(["nano", "nano-tied"]) == (ModelRef("nano-untied"), ModelRef("nano-tied"))


def test_sizes_are_said_before_anything_is_fetched(
    hub: HubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", "ours", "--dry-run"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{UNTIED}: 4 MB of 7 MB, at ")
    assert said[1].startswith(f"{TIED}: 2 MB of 5 MB, at ")
    assert said[2] == "To fetch: 6 MB."
    assert hub.sent(WEIGHTS) < 10_000


def test_a_pair_is_fetched_once_and_is_then_here_without_the_hub(
    hub: HubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", "ours"]) == 0
    said = capsys.readouterr().out
    assert f"{UNTIED} is here: untied, 8,000 x 64, float32." in said
    assert f"{TIED} is here: tied, 8,000 x 64, float32." in said
    assert 3 * MATRIX < hub.sent(WEIGHTS) < 3.02 * MATRIX
    assert [hit.value for hit in catalogue.search_pairs("on this machine")] == ["ours", "nano"]
    hub.forget()
    assert main(["fetch", "ours"]) == 0
    assert "To fetch: 0 MB." in capsys.readouterr().out
    assert hub.sent(WEIGHTS) == 0
    hub.faults.api = hub.faults.files = (503, "")
    assert ew.load(UNTIED).tied == "untied"


def test_what_broke_off_goes_on_from_there(
    hub: HubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", TIED, "--dry-run"]) == 0
    hub.faults.dead_after, hub.faults.breaks_after = 0, [10**6]
    assert main(["fetch", TIED]) == 2
    assert "broke after 1 MB of 2 MB" in capsys.readouterr().err
    hub.faults.dead_after = None
    hub.forget()
    assert plan(ModelRef(TIED)).moved == MATRIX - 10**6
    assert main(["fetch", TIED]) == 0
    assert hub.sent(WEIGHTS) == MATRIX - 10**6


def test_one_that_cannot_be_had_does_not_keep_the_other_away(
    hub: HubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", "lab/missing", TIED]) == 2
    said = capsys.readouterr()
    assert "no public model 'lab/missing'" in said.err
    assert "To fetch, for 1 of the 2 models: 2 MB." in said.out
    assert f"{TIED} is here" in said.out
    assert "Traceback" not in said.err


def test_where_none_can_be_had_there_is_no_word_of_nothing_to_fetch(
    hub: HubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", "lab/missing", "lab/gone"]) == 2
    assert capsys.readouterr().out == ""


def test_an_unknown_name_is_answered_with_the_pairs(
    hub: HubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", "our"]) == 2
    assert "The pairs of the catalogue are ours, nano, olmo-1b" in capsys.readouterr().err


def test_bundled_models_need_no_fetching(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "nano"]) == 0
    assert "nano-tied: on this machine, nothing to fetch" in capsys.readouterr().out


def test_without_a_cache_nothing_is_fetched_in_vain(
    hub: HubServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    assert main(["fetch", "ours"]) == 2
    assert "nothing that is fetched could be kept" in capsys.readouterr().err
    assert hub.sent(WEIGHTS) == 0


def test_the_list_holds_the_users_own_and_tells_its_faults(
    hub: HubServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with (tmp_path / "mine.toml").open("a") as file:
        file.write("[[pair]]\nname = 3\n")
    assert main(["fetch", "--list"]) == 0
    said = capsys.readouterr().out
    assert "mine.toml is read too." in said
    assert "mine.toml, line 5: name is 3" in said
    for name in ("ours", "qwen3", "EleutherAI/pythia-70m"):
        assert f"  {name} " in said


def test_nothing_named_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch"]) == 2
    assert "embtie fetch --list" in capsys.readouterr().err
