"""The staircase of toy tasks, end to end: published closed forms, reported trials, and laws."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import embtie_widgets as ew
from embtie_widgets.charts import staircase as chart
from embtie_widgets.charts.files import result_page
from embtie_widgets.errors import Cancelled
from embtie_widgets.jobs import staircase
from embtie_widgets.jobs.first import first_result
from embtie_widgets.jobs.staircase_cost import estimate_staircase, labels_of, work_of
from embtie_widgets.jobs.staircase_extras import agreement, solved_by_order_zero
from embtie_widgets.requests.staircase import OPERATIONS, StaircaseRequest
from embtie_widgets.results.staircase import EXTRAS, StaircaseReport
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.training.toy_tasks import open_task
from tests.jobs.trainings import Ear, cache_below

PAIRS = StaircaseRequest(
    operation="sum", tokens=20, length=2, modulus=0, epochs=1_000, snapshots=20, device="cpu"
)
SMALL = replace(PAIRS, tokens=6, width=16, epochs=20, snapshots=5, probe_steps=20, folds=3)


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with cache_below(tmp_path_factory.mktemp("staircase")) as folder:
        yield folder


def course(report: StaircaseReport, signature: str, measure: str):
    """A measure of the embedding at any epoch."""
    run = next(iter(report.runs.values()))
    values = run.track(signature, "embedding").by_step[measure]
    return lambda epoch: np.interp(np.log1p(epoch), np.log1p(run.steps), values)


def test_two_token_addition_climbs_as_in_the_trial_that_was_reported():
    report = ew.run(PAIRS)
    order_0, order_1 = course(report, "order 0", "pearson"), course(report, "order 1", "in_sample")
    reported = {10: (0.26, 0.38), 50: (0.81, 0.81), 200: (0.92, 0.97), 1_000: (0.85, 0.95)}
    for epoch, (zero, one) in reported.items():
        assert order_0(epoch) == pytest.approx(zero, abs=0.04)
        assert order_1(epoch) == pytest.approx(one, abs=0.04)


def test_two_token_modular_addition_leaves_order_zero_flat_and_order_one_rises():
    report = ew.run(replace(PAIRS, modulus=20, offset=1, epochs=600, snapshots=12))
    assert report.task["order 0 is constant"]
    zero = next(iter(report.runs.values())).track("order 0", "embedding").by_step
    assert np.isnan(zero["pearson"]).all()
    assert np.abs(zero["fit"]).max() < 0.15
    held = course(report, "order 1", "held_out")
    assert report.extras["frequencies"].shape == (len(report.to_frame()["step"].unique()), 11)
    assert abs(held(0)) < 0.2
    assert held(600) > 0.5
    assert 0.6 < course(report, "order 1", "in_sample")(600) < 0.75


def test_the_plain_request_shows_order_zero_first_and_its_fall_as_what_ships_does():
    shipped, now = first_result(StaircaseRequest()), ew.run(StaircaseRequest())
    zero, one = course(now, "order 0", "fit"), course(now, "order 1", "held_out")
    assert zero(60) > 0.9 > 0.1 > zero(400)
    assert one(30) < 0.5 < 0.85 < one(400)
    assert next(iter(now.runs.values())).curves["accuracy"][-1] > 0.4
    for signature, measure in (("order 0", "fit"), ("order 1", "in_sample")):
        for epoch in (0, 50, 100, 400):
            then = course(shipped, signature, measure)(epoch)
            assert course(now, signature, measure)(epoch) == pytest.approx(then, abs=0.05)


def test_signatures_of_min_max_are_the_closed_forms_and_solve_the_task():
    n = 20
    task = open_task(StaircaseRequest(operation="min-max", tokens=n, length=3, modulus=0))
    found = staircase.signatures_of(task, (0,))["embedding"]["order 0"].values
    y = np.arange(1, n + 1)
    np.testing.assert_allclose(found[:n], np.eye(n) / 2 + 1 / (2 * n))
    np.testing.assert_allclose(found[n + 1], (2 * y - 1) / n**2)
    np.testing.assert_allclose(found[n], (2 * (n - y) + 1) / n**2)
    assert solved_by_order_zero(task) == 1


@pytest.mark.parametrize(("modulus", "constant"), [(4, True), (5, True), (20, True), (7, False)])
def test_order_zero_is_constant_where_the_modulus_divides_the_tokens(modulus, constant):
    report = ew.run(replace(SMALL, tokens=20, modulus=modulus, epochs=2, orders=(0,)))
    assert report.task["order 0 is constant"] is constant


def test_order_zero_of_a_label_says_which_tokens_go_with_it():
    task = open_task(SMALL)
    found = staircase.signatures_of(task, (0,))["unembedding"]["order 0"].values
    for label in range(len(task.answers)):
        tokens = task.sequences[task.labels == label].ravel()
        np.testing.assert_allclose(found[label], np.bincount(tokens, minlength=6) / len(tokens))


def test_the_anchor_of_task_one_learns_the_distribution_of_its_labels():
    report = ew.run(
        StaircaseRequest(
            operation="anchor", tokens=51, modulus=0, distribution="poisson", epochs=200,
            orders=(0,), device="cpu",
        )
    )  # fmt: skip
    assert set(report.extras) <= set(EXTRAS)
    assert report.task["pearson"] > 0.9
    assert report.task["jsd"] < 0.1
    assert report.extras["learned"].sum() == pytest.approx(1)
    np.testing.assert_allclose(report.extras["empirical"].sum(), 1)


def test_divergences_are_the_usual_ones():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])
    found = agreement(p, q)
    assert found["kl"] == pytest.approx(np.log(2))
    m = (p + q) / 2
    entropy = [-sum(x * np.log(x) for x in one if x) for one in (m, p, q)]
    assert found["jsd"] == pytest.approx(entropy[0] - (entropy[1] + entropy[2]) / 2)
    assert agreement(p, p)["jsd"] == 0


def test_attention_has_a_path_of_its_own_in_each_layer_and_shares_by_anchor():
    request = replace(SMALL, model="attention", layers=2, length=3)
    report = ew.run(request)
    run = report.runs["attention alone"]
    names = [track.signature for track in run.tracks if track.matrix == "embedding"]
    assert names == ["order 0", "order 1", "attention, layer 1", "attention, layer 2"]
    assert run.track("attention, layer 2", "embedding").similarity.shape == (len(run.steps), 6, 6)
    shares = report.extras["attention"]
    assert shares.shape == (len(run.steps), 6)
    np.testing.assert_allclose(shares.mean(), 1 / 3, rtol=1e-4)  # all tokens stand equally often


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_and_model_goes_through_storage_whole(operation):
    for model in ("ffn", "fixed", "attention", "transformer"):
        request = replace(
            SMALL, operation=operation, model=model, tokens=8, length=3, epochs=2, snapshots=2,
            samples=40, orders=(0, 1, 2), probe_steps=2, layers=1,
        )  # fmt: skip
        report = ew.run(request)
        again = from_bytes(to_bytes(report))
        assert again.to_frame().equals(report.to_frame())
        run = next(iter(report.runs.values()))
        assert run.matrices["embedding"].similarity.shape[1] == len(report.anchors)
        assert run.matrices["unembedding"].rows == tuple(map(str, report.extras["answers"]))
        assert len(run.matrices["unembedding"].rows) <= labels_of(request)


def test_curves_come_before_the_end_and_matrices_as_they_are_known(monkeypatch):
    monkeypatch.setattr(staircase, "_SHOWN_SECONDS", 0.0)
    ear = Ear()
    report = ew.run(replace(SMALL, seed=5), progress=ear)
    assert {"counting signatures", "training", "fitting probes"} <= set(ear.stages)
    seen = [next(iter(part.runs.values())) for part in ear.parts]
    assert [part.progress for part in ear.parts][-1] == "epoch 20 of 20"
    assert [len(run.curves["step"]) for run in seen] == sorted(
        len(run.curves["step"]) for run in seen
    )
    whole = next(iter(report.runs.values()))
    for run in seen:
        track = run.track("order 1", "embedding")
        if track is not None:
            held = whole.track("order 1", "embedding").by_step["held_out"]
            np.testing.assert_allclose(track.by_step["held_out"], held[: len(run.steps)], atol=1e-4)
    assert any(run.tracks for run in seen)


@pytest.mark.parametrize("stage", ["counting signatures", "training", "fitting probes"])
def test_work_stops_at_each_stage_where_it_is_called_off(stage):
    with pytest.raises(Cancelled):
        ew.run(replace(SMALL, seed=6), progress=Ear(lambda at, _done: at == stage))


def test_what_was_computed_is_found_again(place):
    request = replace(SMALL, seed=7)
    assert staircase.look_up(request) is None
    made, ear = ew.run(request), Ear()
    again = ew.run(request, progress=ear)
    assert not ear.stages
    assert (made.settings["cached"], again.settings["cached"]) == (False, True)
    assert staircase.look_up(request).to_frame().equals(made.to_frame())
    assert os.listdir(place / "cache")


def test_an_order_that_sequences_are_too_short_for_is_left_out_with_a_note():
    report = ew.run(replace(SMALL, orders=(0, 1, 2)))
    assert {track.signature for track in next(iter(report.runs.values())).tracks} == {
        "order 0",
        "order 1",
    }
    assert "Order 2 looks at 3 tokens" in report.notes[0]


def test_a_training_that_diverges_keeps_what_it_had_and_says_so():
    wild = replace(SMALL, optimiser="sgd", lr=90.0, activation="power", power=8, gamma=0.1)
    report = ew.run(wild)
    assert "not finite any more" in report.notes[-1]
    assert np.isfinite(next(iter(report.runs.values())).matrices["embedding"].norms).all()


def test_two_tokens_are_a_task_too():
    report = ew.run(replace(SMALL, tokens=2))
    assert len(report.anchors) == 2
    assert report.to_frame()["pearson"].isna().any()


@pytest.mark.parametrize(
    "fields", [{"modulus": 1}, {"samples": 1}, {"operation": "difference", "length": 1}]
)
def test_one_label_or_one_anchor_has_no_pairs_and_no_correlation(fields):
    report = ew.run(replace(SMALL, **{"operation": "anchored-sum", "length": 3, **fields}))
    run = next(iter(report.runs.values()))
    assert all(matrix.points.shape[-1] == 2 for matrix in run.matrices.values())
    assert len(run.matrices["unembedding"].rows) == 1
    assert result_page(chart.plots(report), "{}")
    assert not [t for t in run.tracks if t.matrix == "unembedding" and not t.constant]


def test_the_path_through_attention_is_followed_while_the_training_goes_on(monkeypatch):
    monkeypatch.setattr(staircase, "_SHOWN_SECONDS", 0.0)
    ear = Ear()
    ew.run(replace(SMALL, model="attention", seed=5), progress=ear)
    followed = [run for part in ear.parts for run in part.runs.values() if run.tracks]
    assert followed
    for run in followed:
        path = run.track("attention, layer 1", "embedding")
        assert len(path.by_step["pearson"]) == len(run.steps)


def test_labels_are_never_more_than_the_sequences_that_are_drawn():
    few = replace(SMALL, operation="product", tokens=100, length=9, modulus=0, samples=50)
    assert labels_of(few) == 50
    assert estimate_staircase(few).bytes < 2**30


def test_an_estimate_grows_with_what_is_asked_and_refuses_what_memory_has_no_room_for():
    few, more = (estimate_staircase(replace(PAIRS, epochs=n)) for n in (100, 10_000))
    assert few.seconds < more.seconds
    orders = [work_of(replace(PAIRS, length=3, orders=(0, n))).operations for n in (0, 1, 2)]
    assert orders == sorted(set(orders))
