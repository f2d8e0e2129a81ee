"""Drift carried out end to end: checkpoints of models, trained here, recorded elsewhere."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import following, training_runs
from embtie_widgets.jobs.drift import look_up
from embtie_widgets.jobs.drift_cost import estimate_drift
from embtie_widgets.jobs.first import first_result
from embtie_widgets.jobs.gradient_flow import run_gradient_flow
from embtie_widgets.jobs.training_plan import checkpoint_steps
from embtie_widgets.requests import DriftRequest, GradientFlowRequest, ModelRef
from embtie_widgets.results.drift import CURVES, Drift, DriftReport
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.sources import series
from embtie_widgets.training.run_store import RunStore
from tests.fresh import run_fresh
from tests.hub_server import hub_of
from tests.jobs.test_checkpoints_job import C040, FakeHub
from tests.jobs.trainings import Ear, small
from tests.sources.models import llama, randomised, saved

# Checkpoints of models.


def test_the_bundled_twins_are_answered_at_once_with_what_is_computed_now() -> None:
    request = DriftRequest()
    shipped, now = first_result(request), ew.run(request)
    assert list(shipped.runs) == list(now.runs) == ["nano-untied", "nano-tied"]
    assert shipped.hashes == now.hashes
    assert shipped.tokens == now.tokens
    for name, drift in now.runs.items():
        assert drift.steps.tolist() == [0, 50, 150, 350, 700, 1000]
        for curve in CURVES:
            np.testing.assert_allclose(getattr(shipped.runs[name], curve), getattr(drift, curve))
    assert shipped.settings["cached"]


def test_the_tied_matrix_turns_like_the_output_and_unseen_rows_show_why() -> None:
    found = first_result(DriftRequest())
    untied, tied = found.runs.values()
    assert tied.tied
    assert abs(tied.input_to_first - untied.output_to_first).max() < 0.02
    assert (untied.input_to_first - tied.input_to_first)[1:].min() > 0.2
    never = found.token_counts == 0
    assert untied.rows["input_to_first"][never].min() > 0.9999  # decay alone turns nothing
    assert tied.rows["input_to_first"][never].mean() < 0.1


def test_the_first_result_needs_no_torch() -> None:
    code = (
        "import embtie_widgets as ew; from embtie_widgets.jobs.run import first;"
        "assert len(first(ew.DriftRequest()).runs) == 2; ew.DriftPanel()"
    )
    run_fresh(code, "torch", "transformers")


def test_folders_of_a_trainer_are_compared_and_equal_bytes_told(tmp_path: Path) -> None:
    models = {step: randomised(llama(), seed=seed) for step, seed in ((3, 3), (20, 20), (500, 20))}
    for step, model in models.items():
        saved(model, tmp_path / f"checkpoint-{step}")
    saved(llama(), tmp_path)
    (drift,) = ew.run(DriftRequest(model=str(tmp_path))).runs.values()
    listed = [
        (step, m.get_input_embeddings().weight, m.get_output_embeddings().weight)
        for step, m in models.items()
    ]
    assert drift.to_frame().iloc[:, 1:].equals(ew.drift(listed).to_frame().iloc[:, 1:])
    assert drift.same_bytes == (("input", 20, 500), ("output", 20, 500))
    assert drift.names == ("checkpoint-3", "checkpoint-20", "checkpoint-500")


def test_a_checkpoint_of_another_shape_or_without_weights_is_left_out_with_its_reason(
    tmp_path: Path,
) -> None:
    for step in (1, 2, 3, 4):
        saved(randomised(llama(), seed=step), tmp_path / f"checkpoint-{step}")
    config = llama()
    config.resize_token_embeddings(config.config.vocab_size + 8)
    saved(config, tmp_path / "checkpoint-3")
    (tmp_path / "checkpoint-2" / "model.safetensors").write_bytes(b"")
    saved(llama(), tmp_path)
    report = ew.run(DriftRequest(model=str(tmp_path)))
    (drift,) = report.runs.values()
    assert drift.steps.tolist() == [1, 4]
    assert drift.since.tolist() == [0, 3]
    assert ["checkpoint-2" in n or "checkpoint-3" in n for n in report.notes] == [True, True]
    assert str(tmp_path) not in " ".join(report.notes)


def test_c040_names_are_in_order_with_their_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeHub(C040, {"step2": "step1"}, {"step512"})
    monkeypatch.setattr(series.hub, "list_revisions", fake.list_revisions)
    monkeypatch.setattr(series.hub, "cost", fake.cost)
    monkeypatch.setattr(series, "load", fake.load)
    asked = ("main", "step143000", "step1000", "step2", "step1", "step512",
             "stage2-ingredient1-step23852-tokens51B")  # fmt: skip
    heard = Ear()
    report = ew.run(DriftRequest(model="a/b", revisions=asked), progress=heard)
    assert "checkpoints (about 2.8 GB in all)" in heard.stages
    (drift,) = report.runs.values()
    assert drift.names == (
        "step1", "step2", "step1000", "step143000", "stage2-ingredient1-step23852-tokens51B", "main"
    )  # fmt: skip
    assert np.array_equal(drift.since, [0, 1, 998, 142_000, np.nan, np.nan], equal_nan=True)
    assert drift.checkpoints[4].tokens == 51 * 10**9
    assert drift.same_bytes == (("tied", 1, 2),)
    assert any("step512 was left out" in note for note in report.notes)


def test_revisions_of_a_hub_are_compared_and_known_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    request = DriftRequest(model="owner/model", count=3)
    with hub_of(monkeypatch, tmp_path / "home") as hub:
        for step in (0, 1000, 143_000):
            folder = saved(randomised(llama(), seed=step), tmp_path / f"s{step}")
            hub.add("owner/model", folder, f"step{step}")
        saved(llama(), tmp_path / "end")
        hub.add("owner/model", tmp_path / "end", "main")
        assert look_up(request) is None
        report = ew.run(request)
    (drift,) = report.runs.values()
    assert drift.names == ("step0", "step1000", "step143000")
    assert drift.since.tolist() == [0, 1000, 142_000]
    first, last = (
        randomised(llama(), seed=s).get_input_embeddings().weight.detach() for s in (0, 143_000)
    )
    cosines = torch.nn.functional.cosine_similarity(first.double(), last.double())
    assert drift.input_to_first[-1] == pytest.approx(float(cosines.mean()), abs=1e-12)
    known = look_up(request)  # and now the hub is gone
    assert known is not None
    assert known.settings["cached"]
    assert known.to_frame().equals(report.to_frame())


def test_one_model_that_fails_leaves_the_other_its_curves(tmp_path: Path) -> None:
    report = ew.run(DriftRequest(model="nano-tied", other=str(tmp_path / "gone")))
    assert list(report.runs) == ["nano-tied"]
    assert list(report.failed) == ["gone"]
    with pytest.raises(EmbtieError):
        ew.run(DriftRequest(model=str(tmp_path / "gone")))


def test_rows_of_another_vocabulary_are_not_mixed_into_the_tokens(tmp_path: Path) -> None:
    for step in (1, 2):
        saved(randomised(llama(), seed=step), tmp_path / f"checkpoint-{step}")
    saved(llama(), tmp_path)
    report = ew.run(DriftRequest(model="nano-tied", other=str(tmp_path)))
    assert report.runs[tmp_path.name].rows == {}
    assert len(report.runs["nano-tied"].rows["input_to_first"]) == len(report.tokens) == 4096
    assert any("other tokens" in note for note in report.notes)


def test_a_series_can_be_called_off(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        ew.run(
            DriftRequest(), progress=Ear(lambda stage, done: stage == "checkpoints" and done > 1)
        )


def test_the_request_says_what_stands_beside_the_model() -> None:
    assert [m.ref for m in DriftRequest().models] == ["nano-untied", "nano-tied"]
    assert DriftRequest(other="nano-tied") == DriftRequest()
    assert [m.ref for m in DriftRequest(other="nano-untied").models] == ["nano-untied"]
    assert [m.ref for m in DriftRequest(model="a/b").models] == ["a/b"]
    both = DriftRequest(model="a/b", other="nano-tied")
    assert [m.ref for m in both.models] == ["a/b", "nano-tied"]
    assert DriftRequest.from_dict(json.loads(json.dumps(both.to_dict()))) == both
    with pytest.raises(EmbtieError, match="one revision"):
        DriftRequest(model=ModelRef("a/b", revision="step0"))


# Trained here.


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The fields of twins of 300 tokens, trained in a second."""
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    return {**small(tmp_path), "source": "train", "steps": 6}


def test_twins_are_trained_live_and_shared_with_the_gradient_flow(
    train: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Ear()
    report = ew.run(DriftRequest(**train), progress=heard)
    assert list(report.runs) == ["untied", "tied"]
    assert report.runs["untied"].steps.tolist() == list(checkpoint_steps(6, 1))
    assert (report.runs["untied"].tied, report.runs["tied"].tied) == (False, True)
    assert heard.parts[0].progress.endswith("steps of the untied run")
    assert list(heard.parts[0].runs) == ["untied"]
    assert len(report.token_counts) == len(report.tokens)
    assert report.groups
    assert report.progress == ""
    monkeypatch.setattr(training_runs, "train_run", None)  # whatever trains now fails
    flow = run_gradient_flow(GradientFlowRequest(**train))
    assert list(flow.runs) == ["tied", "untied"]
    again = ew.run(DriftRequest(**train))
    assert again.settings["cached"]
    assert again.to_frame().equals(report.to_frame())


def test_checkpoints_are_early_ones_and_evenly_spread() -> None:
    assert checkpoint_steps(300, 1)[:7] == (0, 1, 2, 5, 10, 20, 25)
    assert checkpoint_steps(300, 1)[-2:] == (275, 300)
    assert checkpoint_steps(1, 1) == (0, 1)
    few = checkpoint_steps(300, 2**26)
    assert (few[0], few[-1], len(few)) == (0, 300, 4)


# Recorded elsewhere.


@pytest.mark.parametrize(
    ("name", "step", "values"),
    [
        ("OLMo-1B-0724-hf", 2_000, (0.991, 0.958, 0.991, 0.958)),
        ("OLMo-1B-0724-hf", 10_000, (0.937, 0.740, 0.997, 0.993)),
        ("OLMo-1B-0724-hf", 20_000, (0.865, 0.561, 0.996, 0.997)),
        ("OLMo-7B-0424-hf", 10_000, (0.965, 0.772, 0.965, 0.772)),
        ("OLMo-7B-0424-hf", 50_000, (0.752, 0.366, 0.974, 0.989)),
        ("pythia-1b", 1_000, (0.922, 0.787, 0.922, 0.787)),
        ("pythia-1b", 5_000, (0.554, 0.406, 0.964, 0.976)),
        ("pythia-1b", 15_000, (0.320, 0.210, 0.980, 0.987)),
    ],
)
def test_the_released_files_have_the_papers_values(
    shared: Path, name: str, step: int, values: tuple[float, ...]
) -> None:
    path = shared / "data" / f"evolution_{name}.json"
    (drift,) = ew.run(DriftRequest(source="file", file=str(path))).runs.values()
    place = drift.steps.tolist().index(step)
    found = [getattr(drift, curve)[place] for curve in CURVES]
    assert found == pytest.approx(values, abs=0.0006)


def test_late_in_the_released_runs_the_input_changes_faster(shared: Path) -> None:
    for path in sorted((shared / "data").glob("evolution_*.json")):
        (drift,) = ew.run(DriftRequest(source="file", file=str(path))).runs.values()
        assert drift.turn("output")[1] > drift.turn("input")[1]
        assert drift.turn("input")[-1] > drift.turn("output")[-1]


def test_a_table_of_ones_own_is_read_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("it,a,b\n20,0.8,0.5\n0,1,1\n10,0.9,\n")
    columns = ("step=it", "input_to_first=a", "output_to_first=b")
    report = ew.run(DriftRequest(source="file", file=str(path), columns=columns))
    (drift,) = report.runs.values()
    assert drift.steps.tolist() == [0, 10, 20]
    assert drift.input_to_first.tolist() == [1, 0.9, 0.8]
    assert np.isnan(drift.output_to_first[1])
    assert np.isnan(drift.input_to_previous).all()


def matrix(seed: int) -> torch.Tensor:
    return torch.randn(5, 3, generator=torch.Generator().manual_seed(seed))


def recorded(folder: Path, steps: tuple[int, ...], state: str = "done") -> RunStore:
    store = RunStore.create(folder, name="mine", tied=False, of=100)
    store.save_rows({}, counts=np.arange(5), tokens=[b"a", b"b", b"c", b"d", None])
    for step in steps:
        store.keep(step, matrix(step), matrix(step + 1))
    store.set_state(state, max(steps, default=0))
    return store


def test_a_recorded_run_is_shown_with_its_tokens(tmp_path: Path) -> None:
    recorded(tmp_path / "run", (0, 10, 100))
    report = ew.run(DriftRequest(source="run", file=str(tmp_path / "run")))
    assert report.runs["mine"].steps.tolist() == [0, 10, 100]
    assert report.tokens[-1] is None
    assert report.token_counts.tolist() == [0, 1, 2, 3, 4]
    listed = [(step, matrix(step), matrix(step + 1)) for step in (0, 10, 100)]
    assert report.runs["mine"].to_frame().equals(ew.drift(listed).to_frame())


def test_a_run_is_followed_while_it_grows_and_compared_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.01)
    store = recorded(tmp_path / "run", (0, 1), "running")
    more = threading.Event()

    def write() -> None:
        for step in (2, 5):
            assert more.wait(30)
            more.clear()
            store.keep(step, matrix(step), matrix(step + 1))
            store.set_state("running", step)
        assert more.wait(30)
        store.set_state("done", 5)

    class Reader(Ear):
        def partial(self, result: DriftReport) -> None:
            super().partial(result)
            more.set()

    writer = threading.Thread(target=write)
    writer.start()
    heard = Reader()
    report = ew.run(DriftRequest(source="run", file=str(tmp_path / "run")), progress=heard)
    writer.join(30)
    assert heard.parts[0].runs["mine"].steps.tolist() == [0, 1]
    assert report.runs["mine"].steps.tolist() == [0, 1, 2, 5]
    assert report.progress == ""


def test_a_run_that_kept_too_few_is_shown_from_its_log(tmp_path: Path) -> None:
    store = recorded(tmp_path / "run", (0,))
    for step, value in ((1, 1.0), (11, 0.9)):
        store.append({"step": step, "input_to_first": value, "output_to_first": value - 0.1})
    report = ew.run(DriftRequest(source="run", file=str(tmp_path / "run")))
    drift = report.runs["mine"]
    assert drift.steps.tolist() == [0, 10]
    assert drift.input_to_first.tolist() == [1.0, 0.9]
    assert "from the log" in report.notes[0]
    recorded(tmp_path / "other", (0,))
    with pytest.raises(EmbtieError, match="fewer than two checkpoints"):
        ew.run(DriftRequest(source="run", file=str(tmp_path / "other")))


def test_on_a_shared_page_runs_lie_in_the_owners_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(tmp_path / "laid" / "run", (0, 1))
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    monkeypatch.setenv("EMBTIE_RUNS", str(tmp_path / "laid"))
    recorded(tmp_path / "private", (0, 1))
    assert ew.run(DriftRequest(source="run", file="run")).runs
    with pytest.raises(EmbtieError) as refused:
        ew.run(DriftRequest(source="run", file=str(tmp_path / "private")))
    assert str(tmp_path) not in str(refused.value)


# The call, the estimate, the files.


def test_the_call_takes_whatever_holds_checkpoints(tiny_twins: Any, tmp_path: Path) -> None:
    report = ew.drift(tiny_twins)
    assert list(report.runs) == ["untied", "tied"]
    one = report.runs["untied"]
    assert one.steps.tolist() == [0, 10, 30]
    frame = one.to_frame()
    assert ew.drift(list(tiny_twins.checkpoints["untied"])).to_frame().equals(frame)
    store = RunStore.open(tiny_twins.folder / "untied")
    for run in (store, store.folder, str(store.folder)):
        assert ew.drift(run).to_frame().equals(frame)
    assert list(ew.drift(tiny_twins.folder).runs) == ["tied", "untied"]
    loaded = ew.drift(ew.load_series("nano-tied"))
    assert loaded.steps.tolist() == [0, 50, 150, 350, 700]
    assert isinstance(ew.drift("nano-tied"), Drift)
    assert loaded.bands
    with pytest.raises(EmbtieError):
        ew.drift(str(tmp_path))


def test_costs_are_said_where_they_can_be() -> None:
    assert estimate_drift(DriftRequest()).seconds < 1
    assert estimate_drift(DriftRequest(model="a/b")) is None
    assert estimate_drift(DriftRequest(source="run", file="x")) is None
    assert estimate_drift(DriftRequest(source="train")).seconds > 10


def test_a_report_is_stored_whole() -> None:
    report = first_result(DriftRequest())
    again = from_bytes(to_bytes(report))
    assert again.token_frame().equals(report.token_frame())
    assert again.runs["nano-tied"].stops == report.runs["nano-tied"].stops
    assert len(report.to_frame()) == 12
    assert "nano-tied" in repr(report)
    assert len(repr(report)) < 500
