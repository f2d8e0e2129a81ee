"""What is said about the hub is true where it is said, and does not contradict itself."""

from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import errors

import embtie_widgets as ew
from embtie_widgets.sources import hub as hubs
from tests.hub_server import HubServer
from tests.sources.models import llama, saved

REF = "owner/model"


@pytest.fixture
def model(hub: HubServer, tmp_path: Path) -> HubServer:
    """A hub with one small model."""
    hub.add(REF, saved(llama(), tmp_path / "model"))
    return hub


@pytest.mark.parametrize(
    "fault",
    [ConnectionError("no route"), errors.OfflineModeIsEnabled("offline"), TimeoutError()],
    ids=["dead", "offline", "slow"],
)
def test_a_note_on_a_copy_that_was_used_does_not_say_that_there_is_none(
    model: HubServer, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    ew.load(REF)

    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", fail)
    notes = " ".join(ew.load(REF).notes)
    assert "copy in the local cache was used" in notes
    assert "no copy" not in notes
    assert "not in" not in notes


@pytest.mark.parametrize(
    ("status", "words"),
    [(403, "does not let this account"), (404, "error .404"), (418, "error .418")],
)
def test_a_file_that_the_hub_refuses_is_not_called_out_of_reach(
    model: HubServer, status: int, words: str
) -> None:
    model.faults.files = (status, "")
    with pytest.raises(ew.EmbtieError, match=words) as caught:
        ew.load(REF)
    assert "cannot be reached" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.git", "owner/a.git", "owner/a-", "owner/a.", "owner/modèle"])
def test_a_name_that_no_hub_model_can_have_is_not_looked_for_there(name: str) -> None:
    assert not hubs.is_hub_id(name)
    with pytest.raises(ew.EmbtieError, match="no folder or file"):
        ew.load(name)


@pytest.mark.parametrize("name", ["gpt2", "owner/a", "EleutherAI/pythia-70m", "o/" + "x" * 94])
def test_names_of_hub_models_are_known(name: str) -> None:
    assert hubs.is_hub_id(name)


def test_an_empty_repository_is_told_by_the_branch_that_it_lacks(model: HubServer) -> None:
    model.faults.api = (404, "RevisionNotFound")
    with pytest.raises(ew.EmbtieError, match="no revision 'main'"):
        ew.load(REF)
