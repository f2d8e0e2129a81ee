"""Checkpoints looked at: names, files on the hub, matrices."""

import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs.first import first_result
from embtie_widgets.jobs.listing import ask_listing, estimate_checkpoints
from embtie_widgets.jobs.run import run
from embtie_widgets.requests import ModelRef
from embtie_widgets.requests.checkpoints import CheckpointsRequest
from embtie_widgets.results.checkpoints import Checkpoint, CheckpointReport
from embtie_widgets.sources import series
from embtie_widgets.sources.hub import Cost
from embtie_widgets.sources.loaded import Loaded
from tests.fresh import run_fresh
from tests.hub_server import hub_of
from tests.sources.models import llama, randomised, saved

C040 = [
    "step0",
    "step1",
    "step2",
    "step512",
    "step1000",
    "step2000",
    "step143000",
    "step1000-tokens4B",
    "step117850-tokens494B",
    "step330000-tokens1384B",
    "stage2-ingredient1-step23852-tokens51B",
    "main",
]


class FakeHub:
    """A model whose checkpoints are made up: `same` serve the bytes of another, `gone` none."""

    def __init__(self, names: list[str], same: dict[str, str], gone: set[str]) -> None:
        self.names, self.same, self.gone = names, same, gone
        self.listed = 0
        self.asked: list[str] = []
        self.loaded: list[str] = []

    def list_revisions(self, ref: str) -> list[str]:
        self.listed += 1
        return self.names

    def file_hashes(self, ref: str, revision: str) -> dict[str, str]:
        self.asked.append(revision)
        self._refuse(revision)
        content = self.same.get(revision, revision)
        return {"model.safetensors": content, "tokenizer.json": "t", "other.gguf": "g"}

    def load(self, at: Any, progress: Any = None) -> Loaded:
        self.loaded.append(at.revision)
        self._refuse(at.revision)
        seed = self.names.index(self.same.get(at.revision, at.revision))
        matrix = torch.randn(4, 2, generator=torch.Generator().manual_seed(seed))
        return Loaded(at.ref, matrix, matrix, "tied", revision=at.revision)

    def cost(self, ref: str, revision: str) -> Cost:
        self._refuse(revision)
        return Cost(ref, "c", {"model.safetensors": 9 * 10**9}, {"model.safetensors": 4 * 10**8})

    def _refuse(self, revision: str) -> None:
        if revision in self.gone or revision not in self.names:
            raise EmbtieError(f"'a/b' has no revision '{revision}'.", "")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    fake = FakeHub(C040, {"step1": "step0"}, {"step512"})
    monkeypatch.setattr(series.hub, "list_revisions", fake.list_revisions)
    monkeypatch.setattr(series.hub, "file_hashes", fake.file_hashes)
    monkeypatch.setattr(series.hub, "cost", fake.cost)
    monkeypatch.setattr(series, "load", fake.load)
    return fake


def row(report: CheckpointReport, name: str) -> Checkpoint:
    return next(row for row in report.rows if row.name == name)


def test_names_are_ordered_by_stage_and_step_with_tokens_and_distance(hub: FakeHub) -> None:
    report = run(CheckpointsRequest("a/b", depth="names"))
    names = [row.name for row in report.rows]
    assert names[:4] == ["step0", "step1", "step2", "step512"]
    assert names[6:] == [
        "step2000",
        "step117850-tokens494B",
        "step143000",
        "step330000-tokens1384B",
        "stage2-ingredient1-step23852-tokens51B",
        "main",
    ]
    assert row(report, "step1000-tokens4B").tokens == 4 * 10**9
    assert row(report, "step117850-tokens494B").tokens == 494 * 10**9
    far = row(report, "step330000-tokens1384B").since
    assert far is not None
    assert (far.before, far.steps) == ("step143000", 187_000)
    assert row(report, "stage2-ingredient1-step23852-tokens51B").since is None
    assert (hub.asked, hub.loaded) == ([], [])


def test_files_that_are_the_same_are_told_before_anything_is_downloaded(hub: FakeHub) -> None:
    report = run(CheckpointsRequest("a/b", depth="files"))
    assert hub.loaded == []
    [same] = report.repeats
    assert (same.what, same.names) == (("the file model.safetensors",), ("step0", "step1"))
    assert report.notes[-1] == (
        "To load the matrices of 11 checkpoints about 4.4 GB are fetched, 400 MB for each that is "
        "not in the cache yet."
    )
    assert report.notes[0] == (
        "The file model.safetensors is the same, byte for byte, at step0, step1."
    )
    assert row(report, "step512").state == "skipped"


def test_matrices_are_compared_and_a_missing_revision_is_skipped_with_a_note(hub: FakeHub) -> None:
    names = ("step0", "step1", "step512", "step2000", "step9")
    report = run(CheckpointsRequest("a/b", revisions=names))
    assert {r.name: r.state for r in report.rows if r.state != "listed"} == {
        "step0": "loaded",
        "step1": "loaded",
        "step9": "skipped",
        "step512": "skipped",
        "step2000": "loaded",
    }
    [same] = report.repeats
    assert same.what == ("the file model.safetensors", "the input matrix")
    assert report.repeated == {"step0", "step1"}
    assert "step9 was left out: 'a/b' has no revision 'step9'." in report.notes
    since = row(report, "step2000").since_loaded
    assert since is not None
    assert (since.before, since.steps) == ("step1", 1999)


def test_a_number_of_checkpoints_is_spread_over_all_with_the_ends_among_them(hub: FakeHub) -> None:
    hub.gone = set()
    run(CheckpointsRequest("a/b", count=3))
    assert len(hub.loaded) == 3
    assert hub.loaded[0] == "step0"
    assert hub.loaded[-1] == "stage2-ingredient1-step23852-tokens51B"
    assert len(hub.asked) == 3


def test_main_is_loaded_where_it_is_asked_for_only(hub: FakeHub) -> None:
    report = run(CheckpointsRequest("a/b", revisions=("main", "step0")))
    assert hub.loaded == ["step0", "main"]
    assert report.rows[-1].name == "main"


def test_a_list_that_cannot_be_had_is_told_and_names_do_without(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(ref: str) -> list[str]:
        raise EmbtieError("The hub cannot be reached.", "")

    monkeypatch.setattr(series.hub, "list_revisions", refuse)
    with pytest.raises(EmbtieError, match="cannot be reached"):
        run(CheckpointsRequest("a/b"))
    report = run(CheckpointsRequest("a/b", revisions=("step0",)))
    assert [r.state for r in report.rows] == ["loaded"]
    assert "cannot be reached" in report.notes[-1]


def test_work_is_told_and_stops_between_two_checkpoints(hub: FakeHub) -> None:
    told: list[tuple[str, int, int]] = []

    def stop(stage: str, done: int, total: int) -> None:
        told.append((stage, done, total))
        if stage.startswith("checkpoints") and done == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        run(CheckpointsRequest("a/b", count=4), progress=stop)
    assert len(hub.loaded) == 2
    assert told[0] == ("listing checkpoints", 0, 1)
    assert told[-1] == ("checkpoints (about 1.6 GB in all)", 2, 4)


def test_questions_to_the_hub_stop_too(hub: FakeHub) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if "hashes" in stage and done:
            raise Cancelled

    with pytest.raises(Cancelled):
        run(CheckpointsRequest("a/b", depth="files"), progress=stop)
    assert hub.loaded == []


def test_a_hub_that_serves_one_file_for_two_steps_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    early = saved(randomised(llama(), seed=1), tmp_path / "early")
    late = saved(randomised(llama(), seed=2), tmp_path / "late")
    with hub_of(monkeypatch, tmp_path / "home") as hub:
        hub.add("owner/model", early, "step0")
        hub.add("owner/model", late, "step1000", "step143000", "main")
        told = run(CheckpointsRequest("owner/model", depth="files"))
        before = hub.sent("model.safetensors")
        loaded = run(CheckpointsRequest("owner/model", revisions=("step0", "step143000", "gone")))
    assert [r.name for r in told.rows] == ["step0", "step1000", "step143000", "main"]
    assert [same.names for same in told.repeats] == [("step1000", "step143000")]
    assert before < (late / "model.safetensors").stat().st_size
    assert {r.name: r.state for r in loaded.rows if r.state != "listed"} == {
        "step0": "loaded",
        "step143000": "loaded",
        "gone": "skipped",
    }
    assert loaded.repeats == ()
    assert "gone was left out" in " ".join(loaded.notes)


def test_folders_are_read_where_they_lie(tmp_path: Path) -> None:
    for step, seed in ((3, 3), (20, 20), (500, 20)):
        saved(randomised(llama(), seed=seed), tmp_path / f"checkpoint-{step}")
    saved(llama(), tmp_path)
    report = run(CheckpointsRequest(str(tmp_path)))
    assert [r.step for r in report.rows] == [3, 20, 500]
    assert {r.tied for r in report.rows} == {"untied"}
    [same] = report.repeats
    assert same.what == ("the input matrix", "the output matrix")
    assert same.names == ("checkpoint-20", "checkpoint-500")
    assert report.hashes["checkpoint-3: input"] == report.rows[0].hashes["input"]
    named = run(CheckpointsRequest(str(tmp_path), revisions=("step20", "step99")))
    assert [r.name for r in named.rows if r.state == "loaded"] == ["checkpoint-20"]
    assert row(named, "step99").state == "skipped"
    assert "no checkpoint 'step99'" in row(named, "step99").reason


def test_a_model_without_checkpoints_is_told(tmp_path: Path) -> None:
    saved(llama(), tmp_path)
    with pytest.raises(EmbtieError, match="no checkpoints"):
        run(CheckpointsRequest(str(tmp_path)))


def test_the_packaged_result_is_what_is_computed_now() -> None:
    request = CheckpointsRequest()
    shipped = first_result(request)
    assert shipped is not None
    now = run(request)
    assert (shipped.rows, shipped.repeats, shipped.hashes) == (now.rows, now.repeats, now.hashes)
    assert [r.step for r in now.rows] == [0, 50, 150, 350, 700]
    assert first_result(CheckpointsRequest(count=3)) is None


def test_neither_the_packaged_result_nor_an_estimate_needs_torch() -> None:
    code = (
        "from embtie_widgets.jobs.run import estimate, first;"
        "from embtie_widgets.requests.checkpoints import CheckpointsRequest as R;"
        "assert first(R()) is not None and estimate(R()).seconds < 1"
    )
    run_fresh(code, "torch", "huggingface_hub")


def test_what_needs_the_hub_or_reads_large_files_waits_for_a_click(tmp_path: Path) -> None:
    assert estimate_checkpoints(CheckpointsRequest("a/b", depth="names")) is None
    assert estimate_checkpoints(CheckpointsRequest(str(tmp_path))) is None
    assert estimate_checkpoints(CheckpointsRequest(str(tmp_path), depth="names")) is not None


def test_a_listing_is_answered_off_the_main_thread(hub: FakeHub) -> None:
    said: list[Any] = []
    ready = threading.Event()

    def answer(value: Any) -> None:
        said.extend([value, threading.current_thread() is threading.main_thread()])
        ready.set()

    ask_listing("a/b", answer, answer)
    assert ready.wait(60)
    assert [r.name for r in said[0].rows][-1] == "main"
    assert said[1] is False
    ready.clear()
    hub.list_revisions = None  # type: ignore[assignment,method-assign]
    ask_listing("no/such name", answer, answer)
    assert ready.wait(60)
    assert isinstance(said[2], EmbtieError)


def test_the_list_of_a_bundled_model_says_which_step_the_model_itself_is() -> None:
    report = run(CheckpointsRequest(ModelRef("nano-tied"), depth="names"))
    assert "Without a revision, nano-tied is the end of the training, step 1,000." in report.notes
