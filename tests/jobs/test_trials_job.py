"""Experiments on the gradient bottleneck carried out end to end."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import training_runs
from embtie_widgets.jobs.cluster_parcels import open_texts, pack_texts
from embtie_widgets.jobs.training_plan import open_plan
from embtie_widgets.jobs.training_runs import Paced
from embtie_widgets.jobs.trials import look_up
from embtie_widgets.jobs.trials_cost import estimate_trials
from embtie_widgets.jobs.trials_plan import tasks_of
from embtie_widgets.jobs.trials_report import excess_of, interval, run_of_trial
from embtie_widgets.requests import BottleneckTrialsRequest
from embtie_widgets.requests.trials import FULL, RANKED, WAYS, Trial
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.results.trials import (
    CURVES,
    DIVERGED,
    DONE,
    FAILED,
    RUNNING,
    WAITING,
    TrialRun,
    TrialsReport,
)
from embtie_widgets.training.runs import load_trained
from embtie_widgets.training.spamlang import SpamLang
from tests.jobs.trainings import Ear, cache_below, small, trained_from_here

STEPS, RANK = 6, 3


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with cache_below(tmp_path_factory.mktemp("trials")) as folder:
        yield folder


@pytest.fixture(scope="module")
def ranks_(place: Path) -> BottleneckTrialsRequest:
    """Every way of a head, of models that are trained in a moment."""
    return BottleneckTrialsRequest(**small(place), ways=WAYS, ranks=(RANK,), steps=STEPS, every=1)


@pytest.fixture(scope="module")
def spam(place: Path) -> BottleneckTrialsRequest:
    """Two languages, at the same number of positions."""
    return BottleneckTrialsRequest(
        experiment="spamlang", symbols=(24, 8), widths=(8,), lengths=(1, 16), amount=960, steps=30,
        warmup=4, lr=0.03, device="cpu",
    )  # fmt: skip


@pytest.fixture(scope="module")
def heard() -> Ear:
    return Ear()


def run_shown(request: BottleneckTrialsRequest, ear: Ear) -> TrialsReport:
    """The report, and all that there was to show on the way, however quick it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Paced, "__call__", lambda self, grown: self._act(grown))
        found: TrialsReport = ew.run(request, progress=ear)
    return found


@pytest.fixture(scope="module")
def made(ranks_: BottleneckTrialsRequest, heard: Ear) -> TrialsReport:
    return run_shown(ranks_, heard)


@pytest.fixture(scope="module")
def spoken(spam: BottleneckTrialsRequest) -> TrialsReport:
    found: TrialsReport = ew.run(spam)
    return found


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return trained_from_here(monkeypatch)


def by_way(report: TrialsReport) -> dict[str, TrialRun]:
    return {run.way: run for run in report.trials}


def test_every_trial_is_trained_in_the_order_of_the_request(
    ranks_: BottleneckTrialsRequest, made: TrialsReport
) -> None:
    assert [(run.way, run.rank) for run in made.trials] == [(t.way, t.rank) for t in ranks_.trials]
    assert {run.state for run in made.trials} == {DONE}
    for run in made.trials:
        assert run.curves["step"].tolist() == list(range(1, STEPS + 1))
        assert set(run.curves) == set(CURVES) - {"sequences"}
        assert run.curves["positions"][-1] == STEPS * ranks_.batch * ranks_.length
        assert (run.about["width"], run.about["where"]) == (64, "this machine")
    assert made.progress == ""


def test_the_first_step_sees_the_same_whatever_is_done_to_the_gradient(made: TrialsReport) -> None:
    runs = by_way(made)
    start = {way: (run.curves["loss"][0], run.curves["destroyed"][0]) for way, run in runs.items()}
    assert start["backward"] == start["head-update"] == start["full"]
    assert start["factorised"][1] > start["full"][1] + 0.05  # a head of rank 3 passes on less
    ends = {way: run.curves["loss"][-1] for way, run in runs.items()}
    assert len(set(ends.values())) == 4


def test_the_numbers_held_out_are_those_of_the_trained_model(
    ranks_: BottleneckTrialsRequest, made: TrialsReport
) -> None:
    plan = open_plan(ranks_)
    ids = torch.as_tensor(plan.held.ids)
    starts = range(0, len(ids) - ranks_.length, ranks_.length)
    windows = torch.stack([ids[s : s + ranks_.length + 1] for s in starts])
    for task, run in zip(tasks_of(ranks_, plan), made.trials, strict=True):
        store = plan.known(task.spec)
        assert store is not None
        with torch.no_grad():
            logits = load_trained(store)(input_ids=windows[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        assert run.loss == pytest.approx(float(loss), abs=1e-4)
        right = (logits.argmax(-1) == windows[:, 1:]).float().mean()
        assert run.accuracy == pytest.approx(float(right), abs=1e-6)
        if run.way == "factorised":
            head = load_trained(store).get_output_embeddings().weight
            assert int(torch.linalg.matrix_rank(head, rtol=1e-5)) == RANK


def test_the_excess_is_the_loss_above_that_of_the_full_head(made: TrialsReport) -> None:
    runs = by_way(made)
    found = {line["way"]: line for line in made.excess}
    assert set(found) == set(WAYS) - {FULL}
    for way, line in found.items():
        assert line["mean"] == runs[way].loss - runs[FULL].loss
        assert (line["seeds"], line["interval"]) == (1, None)
        assert line["rank"] == (RANK if way in RANKED else None)


def test_seeds_are_compared_each_with_its_own_full_head() -> None:
    runs = [
        run_of_trial(Trial(way, rank, False, 0.1, seed), state=state, loss=loss)
        for way, rank, seed, state, loss in (
            (FULL, None, 0, DONE, 3.0), (FULL, None, 1, DONE, 4.0), (FULL, None, 2, FAILED, 0.0),
            ("backward", 4, 0, DONE, 3.5), ("backward", 4, 1, DONE, 4.7),
            ("backward", 4, 2, DONE, 9.0), ("factorised", 4, 0, DIVERGED, 8.0),
        )
    ]  # fmt: skip
    (line,) = excess_of(runs)
    assert line["mean"] == pytest.approx(0.6)
    assert line["seeds"] == 2
    low, high = stats.t.interval(0.95, 1, 0.6, stats.sem([0.5, 0.7]))
    assert line["interval"] == pytest.approx([low, high])
    assert interval([1.0]) is None


def test_what_there_is_is_shown_while_runs_are_trained(made: TrialsReport, heard: Ear) -> None:
    first, last = heard.parts[0], heard.parts[-1]
    assert [run.state for run in first.trials] == [RUNNING, *[WAITING] * 3]
    assert first.progress.startswith("0 of 4 runs, untied full at 0.003: 0 of 6 steps")
    assert last.progress == "4 of 4 runs"
    assert sum(len(part.excess) > 0 for part in heard.parts) > STEPS  # before all is done


def test_at_the_same_positions_short_sequences_draw_each_symbol_more_often_and_are_learnt(
    spoken: TrialsReport,
) -> None:
    once, often = spoken.trials[:2]
    assert (once.symbols, once.length, often.length) == (24, 1, 16)
    assert once.about["positions"] == often.about["positions"] == 960
    assert once.about["sequences_per_symbol"] == 16 * often.about["sequences_per_symbol"] == 40
    assert once.accuracy > 0.9 > 0.7 > often.accuracy
    assert once.curves["sequences"][-1] == 960
    assert often.curves["sequences"][-1] == 60


def test_the_same_sequences_teach_the_same_however_long_they_are(
    spam: BottleneckTrialsRequest,
) -> None:
    asked = replace(spam, symbols=(24,), budget="per symbol", amount=10, lengths=(1, 4))
    once, often = ew.run(asked).trials
    assert once.about["sequences_per_symbol"] == often.about["sequences_per_symbol"] == 10
    np.testing.assert_allclose(once.curves["loss"], often.curves["loss"], atol=1e-3)


def test_what_of_the_gradient_is_lost_is_zero_once_the_width_is_that_of_the_vocabulary(
    spoken: TrialsReport,
) -> None:
    wide = [run.curves["destroyed"].max() for run in spoken.trials if run.symbols == 8]
    narrow = [run.curves["destroyed"].min() for run in spoken.trials if run.symbols == 24]
    assert max(wide) < 1e-2
    assert min(narrow) > 0.2


def test_reports_are_kept_whole_and_found_without_training(
    ranks_: BottleneckTrialsRequest,
    made: TrialsReport,
    spam: BottleneckTrialsRequest,
    spoken: TrialsReport,
    trained: list[str],
) -> None:
    for request, report in ((ranks_, made), (spam, spoken)):
        stored = from_bytes(to_bytes(report))
        for one in (ew.run(request), stored):
            assert one.to_frame().equals(report.to_frame())
            assert one.excess == report.excess
    assert look_up(spam).settings["cached"]
    assert look_up(ranks_) is None  # a text of the user's may be long to read
    assert trained == []


def test_a_further_seed_or_symbol_trains_that_one_alone(
    spam: BottleneckTrialsRequest, spoken: TrialsReport, trained: list[str]
) -> None:
    more = ew.run(replace(spam, symbols=(24,), lengths=(1,), seeds=(0, 1)))
    assert trained == ["untied 24 symbols, width 8, length 1 at 0.03, seed 1"]
    assert more.trials[0].loss == spoken.trials[0].loss
    assert look_up(replace(spam, symbols=(24,), lengths=(1,), seeds=(1,))).trials[0].state == DONE
    assert look_up(replace(spam, seeds=(2,))) is None


def test_a_trial_that_fails_says_why_and_leaves_the_others_be(
    ranks_: BottleneckTrialsRequest, made: TrialsReport
) -> None:
    asked = replace(ranks_, ways=(FULL, "factorised"), ranks=(RANK, 500))
    full, small_, failed = ew.run(asked).trials
    assert (full.state, small_.state, failed.state) == (DONE, DONE, FAILED)
    assert "500" in failed.reason


def test_an_odd_width_is_told_before_anything_is_trained() -> None:
    with pytest.raises(EmbtieError, match="width is 5"):
        ew.run(BottleneckTrialsRequest(experiment="spamlang", widths=(4, 5), lengths=(1,)))


def test_a_cancelled_experiment_keeps_what_is_done(
    spam: BottleneckTrialsRequest, trained: list[str]
) -> None:
    asked = replace(spam, symbols=(9,))
    ear = Ear(lambda stage, done: stage.startswith("training") and done > 35)
    with pytest.raises(Cancelled):
        ew.run(asked, progress=ear)
    assert ear.parts[-1].trials[0].state == DONE
    assert {run.state for run in ew.run(asked).trials} == {DONE}
    names = [f"untied 9 symbols, width 8, length {length} at 0.03, seed 0" for length in (1, 16)]
    assert trained == [names[0], names[1], names[1]]


def test_a_run_whose_loss_is_lost_is_told_so(spam: BottleneckTrialsRequest) -> None:
    (run,) = ew.run(replace(spam, symbols=(8,), lengths=(1,), rates=(100.0,), steps=40)).trials
    assert run.state in (DONE, DIVERGED)
    assert math.isnan(run.loss) == (run.state == DIVERGED)


def test_a_language_travels_to_a_worker() -> None:
    language = SpamLang(40)
    opened, held = open_texts(pack_texts(language, language))
    assert isinstance(opened, SpamLang)
    assert opened.sha256 == held.sha256 == language.sha256


def test_an_estimate_grows_with_the_runs_and_their_sizes(spam: BottleneckTrialsRequest) -> None:
    costs = [
        estimate_trials(one)
        for one in (spam, replace(spam, seeds=(0, 1)), replace(spam, symbols=(4_000, 8)))
    ]
    assert costs[0].seconds < costs[1].seconds
    assert costs[0].bytes == costs[1].bytes < costs[2].bytes
    assert estimate_trials(BottleneckTrialsRequest(tokenizer="no/such")) is None


def test_a_public_page_refuses_what_takes_too_long_or_too_much(
    spam: BottleneckTrialsRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_PUBLIC", "1")
    monkeypatch.setattr(training_runs, "train_run", None)
    with pytest.raises(EmbtieError, match="40 runs of 1,000 steps"):
        ew.run(replace(spam, seeds=tuple(range(10)), steps=1_000))
    with pytest.raises(EmbtieError, match="50,000,000"):
        ew.run(replace(spam, symbols=(50_000,), lengths=(1,), amount=30_000))
