"""Checkpoints of one training: bundled, in a folder, and those that are not what they say."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources.load import load
from embtie_widgets.sources.series import list_revisions, load_series
from tests.sources.models import llama, randomised, saved


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A folder as a trainer leaves it: the model, and checkpoints in folders by step."""
    for step in (1000, 20, 3):
        saved(randomised(llama(), seed=step), tmp_path / f"checkpoint-{step}")
    (tmp_path / "checkpoint-7").mkdir()
    return saved(llama(), tmp_path)


def test_the_bundled_models_can_be_had_at_their_steps() -> None:
    steps = [revision.step for revision in list_revisions("nano-untied")]
    assert steps == [0, 50, 150, 350, 700]
    start, later = load("nano-untied", "step0"), load("nano-untied", "step-000700")
    assert (start.tied, load("nano-tied", "step0").tied) == ("untied", "tied")
    assert start.tokens == load("nano-untied").tokens
    assert start.revision == "step-000000"
    assert start.hashes["input"] != later.hashes["input"]


def test_checkpoint_folders_are_listed_by_step_and_loaded_bit_for_bit(trained: Path) -> None:
    assert [revision.step for revision in list_revisions(str(trained))] == [3, 20, 1000]
    series = load_series(str(trained))
    for revision, loaded in series:
        model = randomised(llama(), seed=revision.step or 0)
        assert torch.equal(loaded.input, model.get_input_embeddings().weight)
        assert torch.equal(loaded.output, model.get_output_embeddings().weight)
    frame = series.to_frame()
    assert frame["steps since the one before"].tolist()[1:] == [17, 980]
    assert series.notes == []


def test_a_series_holds_equal_token_lists_once_and_takes_a_reference() -> None:
    series = load_series(ModelRef("nano-untied"), ["step0", "step700"])
    first, last = series.loaded
    assert first.tokens is last.tokens
    assert first.hashes["input"] != last.hashes["input"]
    assert last.hashes["input"] == load("nano-untied", "step700").hashes["input"]


def test_equal_matrices_of_different_steps_are_told(trained: Path) -> None:
    saved(randomised(llama(), seed=20), trained / "checkpoint-500")
    series = load_series(str(trained))
    assert {(r.role, r.names) for r in series.repeats} == {
        ("input", ("checkpoint-20", "checkpoint-500")),
        ("output", ("checkpoint-20", "checkpoint-500")),
    }
    assert "byte for byte, at checkpoint-20, checkpoint-500" in series.notes[0]


def test_a_tied_matrix_that_repeats_is_told_once(trained: Path) -> None:
    for step in (1, 2):
        saved(randomised(llama(tied=True), seed=1), trained / f"checkpoint-{step}")
    assert [repeat.role for repeat in load_series(str(trained)).repeats] == ["input"]


def test_a_checkpoint_without_weights_is_skipped_with_its_reason(trained: Path) -> None:
    (trained / "checkpoint-20" / "model.safetensors").write_bytes(b"")
    series = load_series(str(trained), ["checkpoint-3", "checkpoint-20", "checkpoint-999"])
    assert [revision.name for revision in series.revisions] == ["checkpoint-3"]
    assert [name for name, _ in series.skipped] == ["checkpoint-20", "checkpoint-999"]
    assert "model.safetensors is empty" in series.notes[0]


def test_nothing_to_read_and_nothing_readable_are_told(trained: Path, tmp_path: Path) -> None:
    alone = saved(llama(), tmp_path / "alone")
    with pytest.raises(EmbtieError, match="no checkpoints to load"):
        load_series(str(alone))
    with pytest.raises(EmbtieError, match="None of the 1 checkpoints"):
        load_series(str(trained), ["checkpoint-999"])
    with pytest.raises(EmbtieError, match=r"no checkpoint 'step4'.*checkpoint-3, checkpoint-20"):
        load(str(trained), "step4")
    with pytest.raises(EmbtieError, match="has no checkpoints, but 'main'"):
        load(str(alone), "main")


def test_a_file_that_is_no_checkpoint_of_the_model_is_told(tmp_path: Path) -> None:
    folder = saved(llama(), tmp_path / "run")
    (folder / "checkpoints").mkdir()
    save_file({"other": torch.zeros(2, 2)}, folder / "checkpoints" / "step-000005.safetensors")
    with pytest.raises(EmbtieError, match="no matrix 'input'"):
        load(str(folder), "step5")


def test_loading_a_series_tells_its_progress_and_can_be_stopped(trained: Path) -> None:
    told: list[tuple[str, int, int]] = []

    def stop_at_the_second(stage: str, done: int, total: int) -> None:
        if stage == "checkpoints":
            told.append((stage, done, total))
        if told[-1][1]:
            raise Cancelled

    with pytest.raises(Cancelled):
        load_series(str(trained), progress=stop_at_the_second)
    assert told == [("checkpoints", 0, 3), ("checkpoints", 1, 3)]


@pytest.mark.parametrize("revisions", ["step0", [3], [None]])
def test_revisions_that_are_no_names_are_refused(revisions: list[str]) -> None:
    with pytest.raises(EmbtieError, match="no list of names"):
        load_series("nano-tied", revisions)


def test_a_folder_is_named_by_its_last_part_alone(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"x")
    for ref in (folder, str(folder)):
        with pytest.raises(EmbtieError, match="'run' has no checkpoints") as caught:
            load_series(ref)
        assert str(tmp_path) not in str(caught.value)


def test_the_bundled_model_without_revision_says_where_in_its_training_it_stands() -> None:
    end = load("nano-untied")
    assert end.settings["training"] == "the end of the training, step 1,000"
    early = load("nano-untied", "step-000700")
    assert "training" not in early.settings
    assert early.hashes != end.hashes
