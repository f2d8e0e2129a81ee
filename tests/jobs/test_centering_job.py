"""Sweeps of output centering carried out end to end: trained, found again, broken off, failing."""

import errno
import math
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError, Interrupted
from embtie_widgets.jobs import cells, centering, training_runs
from embtie_widgets.jobs.cells import CellTask, Listener
from embtie_widgets.jobs.centering import look_up
from embtie_widgets.jobs.centering_plan import name_of, spec_of, tasks_of
from embtie_widgets.jobs.places import Place, place_of
from embtie_widgets.jobs.training_plan import Plan, open_plan
from embtie_widgets.jobs.training_runs import Paced, run_key
from embtie_widgets.measures.centering import soft_cap
from embtie_widgets.progress import Progress
from embtie_widgets.requests import CenteringRequest, CorpusRef
from embtie_widgets.results.centering import (
    CURVES,
    DIVERGED,
    DONE,
    FAILED,
    RUNNING,
    WAITING,
    CenteringReport,
    CenteringRun,
)
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.runs import load_trained
from tests.jobs.lens_models import words
from tests.jobs.trainings import VOCABULARY, Ear, cache_below, small, trained_from_here

STEPS, CAP = 6, 0.05
METHODS = ("none", "mu-centering", "mu-loss", "soft-cap")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the cache that the tests share."""
    with cache_below(tmp_path_factory.mktemp("centering")) as folder:
        yield folder


@pytest.fixture(scope="module")
def request_(place: Path) -> CenteringRequest:
    """Models of 300 tokens, each trained in a moment."""
    return CenteringRequest(
        **small(place), methods=METHODS, tying=("untied", "tied"), rates=(1e-3, 3e-2),
        coefficients=(0.1,), cap=CAP, sizes=("micro",), steps=STEPS, every=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def heard() -> Ear:
    return Ear()


@pytest.fixture(scope="module")
def made(request_: CenteringRequest, heard: Ear) -> CenteringReport:
    """All that there is to show is shown, however quick it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Paced, "__call__", lambda self, grown: self._act(grown))
        found: CenteringReport = ew.run(request_, progress=heard)
    return found


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that are trained from here on."""
    return trained_from_here(monkeypatch)


def failing(monkeypatch: pytest.MonkeyPatch, word: str, error: Exception) -> None:
    """Runs with the word in their name fail."""
    usual = training_runs.train_run

    def train(spec: Any, *rest: Any, **more: Any) -> Any:
        if word in spec.name:
            raise error
        return usual(spec, *rest, **more)

    monkeypatch.setattr(training_runs, "train_run", train)


def pick(report: CenteringReport, **fields: Any) -> CenteringRun:
    (found,) = (r for r in report.runs if all(getattr(r, k) == v for k, v in fields.items()))
    return found


def plan_and_store(request: CenteringRequest, number: int) -> tuple[Plan, RunStore]:
    plan = open_plan(request)
    store = plan.known(tasks_of(request, plan)[number].spec)
    assert store is not None
    return plan, store


def test_every_cell_is_trained_in_the_order_of_the_request(
    request_: CenteringRequest, made: CenteringReport
) -> None:
    assert [(r.lr, r.tied, r.method, r.coefficient) for r in made.runs] == [
        (c.lr, c.tied, c.method, c.coefficient) for c in request_.cells
    ]
    assert {run.state for run in made.runs} == {DONE}
    for run in made.runs:
        assert run.curves["step"].tolist() == list(range(1, STEPS + 1))
        assert set(run.curves) == set(CURVES)
        assert run.numbers["loss"] == run.curves["loss"][-1]
        assert (run.step, run.of, run.about["where"]) == (STEPS, STEPS, "this machine")
    assert made.progress == ""
    assert made.initial_loss == pytest.approx(math.log(made.settings["rows of tokens"]))


def test_each_method_does_to_the_mean_what_it_is_for(made: CenteringReport) -> None:
    at = {"tied": False, "lr": 3e-2}
    mu = {method: pick(made, method=method, **at).numbers["mu_output"] for method in METHODS}
    assert mu["mu-centering"] < 1e-6 < mu["mu-loss"] < mu["none"]
    plain, centred = (pick(made, method=method, **at) for method in ("none", "mu-centering"))
    # The logits of an untied model move all alike, so that it learns the same.
    np.testing.assert_allclose(plain.curves["loss"], centred.curves["loss"], atol=1e-4)
    # Logits are those before the cap.
    assert pick(made, method="soft-cap", **at).numbers["logit_max"] > 4 * CAP


def test_the_loss_on_held_out_text_is_that_of_the_trained_model_with_its_cap(
    request_: CenteringRequest, made: CenteringReport
) -> None:
    for number, run in enumerate(made.runs):
        if run.method not in ("none", "soft-cap") or run.lr == 1e-3:
            continue
        plan, store = plan_and_store(request_, number)
        ids = torch.as_tensor(plan.held.ids)
        starts = range(0, len(ids) - request_.length, request_.length)
        windows = torch.stack([ids[s : s + request_.length + 1] for s in starts])
        with torch.no_grad():
            logits = load_trained(store)(input_ids=windows[:, :-1]).logits
        seen = soft_cap(logits, CAP) if run.method == "soft-cap" else logits
        loss = torch.nn.functional.cross_entropy(seen.flatten(0, 1), windows[:, 1:].flatten())
        assert run.loss == pytest.approx(float(loss), abs=1e-4)


def test_what_there_is_is_shown_while_cells_are_trained(made: CenteringReport, heard: Ear) -> None:
    first, last = heard.parts[0], heard.parts[-1]
    assert [run.state for run in first.runs] == [RUNNING, *[WAITING] * 15]
    assert first.progress.startswith("0 of 16 runs, ")
    assert last.progress == "16 of 16 runs"
    growing = [part for part in heard.parts if any(run.state == RUNNING for run in part.runs)]
    assert len(growing) == 16 * (1 + STEPS)
    assert any("at 0.03: " in part.progress and " of 6 steps" in part.progress for part in growing)
    assert any(len(run.curves.get("loss", ())) for part in growing for run in part.runs
               if run.state == RUNNING)  # fmt: skip


def test_sensitivities_are_those_of_the_lines_of_rates(made: CenteringReport) -> None:
    assert len(made.sensitivity) == 8
    (one,) = (s for s in made.sensitivity if s.method == "mu-loss" and s.tied)
    losses = [pick(made, method="mu-loss", tied=True, lr=lr).loss for lr in made.rates]
    assert one.value == ew.learning_rate_sensitivity(losses, made.initial_loss)
    assert (one.best_loss, one.rates, one.unknown) == (min(losses), (1e-3, 3e-2), 0)
    assert one.best_lr == made.rates[losses.index(min(losses))]


def test_the_report_is_kept_whole(
    request_: CenteringRequest, made: CenteringReport, trained: list[str]
) -> None:
    again = ew.run(request_)
    assert trained == []
    assert again.settings["cached"]
    stored = from_bytes(to_bytes(made))
    for one in (again, stored):
        assert one.to_frame().equals(made.to_frame())
        assert (one.sensitivity, one.effects) == (made.sensitivity, made.effects)


def test_a_further_rate_trains_that_one_alone(
    request_: CenteringRequest, made: CenteringReport, trained: list[str]
) -> None:
    more = ew.run(replace(request_, methods=("none",), tying=("untied",), rates=(1e-3, 1e-2)))
    assert trained == ["micro untied none at 0.01, seed 0"]
    known = pick(made, method="none", tied=False, lr=1e-3)
    np.testing.assert_array_equal(more.runs[0].curves["loss"], known.curves["loss"])
    assert more.settings["ran on"].startswith("this machine")


def test_cells_are_found_again_even_where_their_models_are_gone(
    request_: CenteringRequest, made: CenteringReport, trained: list[str], place: Path
) -> None:
    part = replace(request_, methods=("mu-loss", "soft-cap"), rates=(3e-2,))
    runs, aside = place / "cache" / "runs", place / "aside"
    runs.rename(aside)
    try:
        found = ew.run(part)
    finally:
        shutil.rmtree(runs, ignore_errors=True)
        aside.rename(runs)
    assert trained == []
    assert found.settings["ran on"] == "found from earlier runs"
    assert [run.loss for run in found.runs] == [
        pick(made, lr=3e-2, tied=run.tied, method=run.method).loss for run in found.runs
    ]


def test_cells_are_found_in_the_store_where_their_numbers_were_not_kept(
    request_: CenteringRequest, made: CenteringReport, trained: list[str], place: Path
) -> None:
    for file in (place / "cache").glob("*.npz"):
        file.unlink()
    again = ew.run(request_)
    assert trained == []
    assert again.to_frame().equals(made.to_frame())


def test_a_cell_that_fails_says_why_and_leaves_the_others_be(
    request_: CenteringRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = replace(
        request_, methods=METHODS[:3], tying=("untied",), rates=(2e-3, 4e-3), seeds=(5,)
    )
    with monkeypatch.context() as patch:
        failing(patch, "mu-centering at 0.002", EmbtieError("It broke.", "Mend it."))
        broken = ew.run(asked)
    failed = pick(broken, state=FAILED)
    assert (failed.method, failed.lr, failed.reason) == ("mu-centering", 2e-3, "It broke. Mend it.")
    assert sum(run.state == DONE for run in broken.runs) == 5
    line = {s.method: s for s in broken.sensitivity}
    assert math.isnan(line["mu-centering"].value)
    assert (line["mu-centering"].unknown, line["none"].unknown) == (1, 0)
    names: list[str] = []
    usual = training_runs.train_run
    monkeypatch.setattr(
        training_runs, "train_run",
        lambda spec, *rest, **more: (names.append(spec.name), usual(spec, *rest, **more))[1],
    )  # fmt: skip
    assert {run.state for run in ew.run(asked).runs} == {DONE}
    assert names == ["micro untied mu-centering at 0.002, seed 5"]


def test_a_fault_of_our_own_fails_its_cell_without_details(
    request_: CenteringRequest, monkeypatch: pytest.MonkeyPatch, logged_faults: list[str]
) -> None:
    failing(monkeypatch, "none", RuntimeError("/secret/path"))
    asked = replace(request_, methods=("none", "sgd"), rates=(7e-3,), tying=("tied",))
    failed, other = ew.run(asked).runs
    assert logged_faults.pop() == "a job failed"
    assert (failed.state, other.state) == (FAILED, DONE)
    assert "secret" not in failed.reason


def test_what_is_wrong_with_every_cell_is_told_as_an_error(
    request_: CenteringRequest, tmp_path: Path
) -> None:
    text = tmp_path / "short.txt"
    text.write_text(words(20))
    with pytest.raises(EmbtieError, match="one window of length 128 needs 129") as raised:
        ew.run(replace(request_, corpus=CorpusRef(str(text)), length=128))
    assert raised.value.hint


def test_a_full_disk_ends_the_sweep(
    request_: CenteringRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "none", OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(Interrupted, match="The disk is full"):
        ew.run(replace(request_, methods=("none", "mu-loss"), rates=(7e-3,)))


def test_a_cancelled_sweep_keeps_its_cells_and_goes_on_to_the_same_bits(
    request_: CenteringRequest, trained: list[str]
) -> None:
    asked = replace(request_, methods=("none", "mu-centering"), tying=("untied",), rates=(5e-3,))
    with pytest.raises(Cancelled):
        ew.run(asked, progress=Ear(lambda stage, done: stage == "training 2 models" and done == 9))
    assert len(trained) == 2
    whole = ew.run(asked)
    assert trained[2:] == ["micro untied mu-centering at 0.005, seed 0"]
    other = ew.run(replace(asked, methods=("mu-centering",), interval=STEPS))
    assert whole.runs[1].curves["step"].tolist() == list(range(1, STEPS + 1))
    assert other.runs[0].curves["loss"][0] == whole.runs[1].curves["loss"][0]


def test_a_run_that_breaks_down_has_diverged_and_counts_for_the_initial_loss(
    request_: CenteringRequest,
) -> None:
    asked = replace(
        request_, methods=("sgd",), tying=("untied",), rates=(1e-2, 100.0), clip=0.0, steps=20
    )
    found = ew.run(asked)
    fine, broken = found.runs
    assert (fine.state, broken.state) == (DONE, DIVERGED)
    assert broken.reason
    assert not broken.loss < found.initial_loss
    (one,) = found.sensitivity
    assert one.rates == (1e-2, 100.0)
    assert one.value == pytest.approx(found.initial_loss - fine.loss)


def test_what_one_subtraction_does_is_measured_on_the_trained_models(
    made: CenteringReport,
) -> None:
    effects = {(one.tied, one.capped): one for one in made.effects}
    assert set(effects) == {(tied, capped) for tied in (False, True) for capped in (False, True)}
    plain = effects[False, False]
    assert plain.softmax < 1e-12 < 1e-3 < plain.logit_shift
    assert effects[False, True].softmax > 1e-6
    assert effects[True, False].softmax > 1e-6
    for one in effects.values():
        assert one.fixed_hidden < 1e-12
        assert (one.method, one.size) == ("none", "micro")
        longest = max(
            (run for run in made.runs if run.tied == one.tied and run.method == "none"),
            key=lambda run: run.numbers["mu_output"],
        )
        assert one.lr == longest.lr


def test_measuring_the_effect_leaves_the_stored_model_as_it_is(
    request_: CenteringRequest, made: CenteringReport, place: Path
) -> None:
    number = next(n for n, cell in enumerate(request_.cells) if cell.tied)
    _, store = plan_and_store(request_, number)
    last = store.checkpoints()[-1]
    assert torch.equal(load_trained(store).get_output_embeddings().weight, last.output)
    assert store.steps() == [0, STEPS]


def test_rows_without_token_take_part_in_the_mean_where_asked_for(
    request_: CenteringRequest,
) -> None:
    plan = open_plan(request_)
    cell = request_.cells[1]

    def key(**changes: Any) -> str:
        return run_key(spec_of(replace(request_, **changes), plan, cell), plan.corpus)

    assert key(rows="all") == key(rows="tokens")
    assert key(rows="all", extra_rows=20) != key(rows="tokens", extra_rows=20)
    one = replace(
        request_, methods=("mu-centering",), tying=("untied",), rates=(3e-2,), extra_rows=40
    )
    ends = {rows: ew.run(replace(one, rows=rows)).runs[0].numbers for rows in ("tokens", "all")}
    assert ends["tokens"]["mu_output"] < 1e-6 < ends["tokens"]["mu_output_all"]
    assert ends["all"]["mu_output_all"] < 1e-6 < ends["all"]["mu_output"]


def test_every_choice_that_matters_makes_another_run(request_: CenteringRequest) -> None:
    plan = open_plan(request_)
    changes: list[dict[str, Any]] = [
        {}, {"eps": 1e-6}, {"clip": 0.0}, {"weight_decay": 0.1}, {"interval": 5},
    ]  # fmt: skip
    cells = [request_.cells[1], *(replace(request_.cells[1], **{k: v}) for k, v in (
        ("seed", 3), ("lr", 0.5), ("tied", True), ("size", "nano"), ("method", "none"),
    ))]  # fmt: skip
    specs = [spec_of(replace(request_, **change), plan, cells[0]) for change in changes]
    specs += [spec_of(request_, plan, cell) for cell in cells[1:]]
    assert len({run_key(spec, plan.corpus) for spec in specs}) == len(specs)
    assert len({name_of(cell) for cell in cells}) == len(cells)


def test_products_in_bfloat16_are_those_of_the_loss_held_out_too(
    request_: CenteringRequest,
) -> None:
    asked = replace(request_, methods=("none",), tying=("untied",), rates=(3e-2,))
    exact, coarse = (
        ew.run(replace(asked, precision=precision)).runs[0] for precision in ("float32", "bfloat16")
    )
    assert coarse.about["precision"] == "bfloat16"
    assert 0 < abs(coarse.loss - exact.loss) < 0.2


def test_a_text_held_out_that_is_too_short_gives_no_loss_and_says_so(
    request_: CenteringRequest,
) -> None:
    found = ew.run(
        replace(request_, methods=("none",), tying=("untied",), rates=(1e-3,), steps=1, batch=1,
                length=4_000)
    )  # fmt: skip
    assert (found.runs[0].state, math.isnan(found.runs[0].loss)) == (DONE, True)
    assert any("too few for a piece of 4,000" in note for note in found.notes)


def test_what_was_trained_on_the_bundled_text_is_looked_up(
    request_: CenteringRequest, made: CenteringReport, trained: list[str], place: Path
) -> None:
    ours = CenteringRequest(
        methods=("none",), sizes=("micro",), lr=3e-3, tokenizer="train", vocabulary=VOCABULARY,
        steps=1, batch=1, length=8, warmup=0, device="cpu",
    )  # fmt: skip
    assert look_up(ours) is None
    whole = ew.run(ours)
    assert look_up(ours).settings["cached"]
    for file in (place / "cache").glob("*.npz"):
        file.unlink()
    assert look_up(ours).runs[0].loss == whole.runs[0].loss
    assert trained == ["micro untied none at 0.003, seed 0"]
    assert look_up(replace(ours, rates=(1e-3, 3e-3))) is None
    assert look_up(replace(ours, tokenizer="somebody/model")) is None  # it would be fetched
    assert look_up(request_) is None  # a visitor is told of no text but ours


def test_elsewhere_the_same_cells_come_back_in_any_order(
    request_: CenteringRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(
        tasks: list[CellTask], corpus: Corpus, held: Corpus, listener: Listener, progress: Progress,
        place: Place,
    ) -> None:  # fmt: skip
        """Two at once, the first one twice since its worker is lost."""
        for task in tasks:
            listener.started(task.number, f"worker {task.number}")
        listener.grown(0, [{"step": 1, "loss": 5.0}], 1)
        listener.started(0, "worker 9")
        for task in reversed(tasks):
            listener.ended(task.number, cells.carry_out(task, corpus, held), None)

    far = ModuleType("cluster")
    far.on_cluster = elsewhere  # type: ignore[attr-defined]
    asked = replace(request_, methods=("none", "mu-loss"), tying=("tied",), rates=(6e-3,))
    ear = Ear()
    with monkeypatch.context() as patch:
        patch.setattr(Paced, "__call__", lambda self, grown: self._act(grown))
        patch.setitem(sys.modules, "embtie_widgets.jobs.cluster", far)
        patch.setattr(centering, "place", lambda: place_of("local:2"))
        found = ew.run(asked, progress=ear)
    assert [run.about["where"] for run in found.runs] == ["worker 9", "worker 1"]
    assert [run.method for run in found.runs] == ["none", "mu-loss"]
    assert found.settings["ran on"] == "2 worker processes on this machine"
    assert any(part.progress == "0 of 2 runs, 2 under way" for part in ear.parts)
    more = ew.run(replace(asked, rates=(1e-3, 6e-3)))
    assert pick(more, method="none", lr=6e-3).loss == found.runs[0].loss


def test_a_sweep_that_cannot_begin_takes_no_earlier_result_from_the_page(
    request_: CenteringRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: Any) -> None:
        raise EmbtieError("No scheduler answers.", "Try later.")

    far = ModuleType("cluster")
    far.on_cluster = unreachable  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "embtie_widgets.jobs.cluster", far)
    monkeypatch.setattr(centering, "place", lambda: place_of("local:2"))
    ear = Ear()
    with pytest.raises(EmbtieError, match="No scheduler answers"):
        ew.run(replace(request_, rates=(7e-3,)), progress=ear)
    assert ear.parts == []


def test_a_public_page_refuses_a_sweep_of_too_many_steps(
    request_: CenteringRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_PUBLIC", "1")
    with pytest.raises(EmbtieError, match="30 runs of 1,000 steps"):
        ew.run(CenteringRequest(methods=("none",), seeds=tuple(range(10)), rates=(1e-3, 3e-3, 1e-2),
                                steps=1_000))  # fmt: skip
