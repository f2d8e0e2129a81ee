"""Input scaling carried out end to end: trained, aligned, found again, gone on with."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs.estimate import Work
from embtie_widgets.jobs.scaling import look_up, specs
from embtie_widgets.jobs.scaling_card import neighbours
from embtie_widgets.jobs.scaling_cost import estimate_scaling, work_of
from embtie_widgets.jobs.training_plan import open_plan
from embtie_widgets.measures.neighbours import nearest
from embtie_widgets.requests import GradientFlowRequest, ScalingRequest
from embtie_widgets.requests.training import TrainingRequest
from embtie_widgets.results.scaling import TO, ScalingReport
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.training.run_store import Checkpoint
from embtie_widgets.training.runs import load_trained
from tests.jobs.trainings import Ear, cache_below, small, trained_from_here

STEPS = 6


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the cache that the tests share."""
    with cache_below(tmp_path_factory.mktemp("scaling")) as folder:
        yield folder


@pytest.fixture(scope="module")
def request_(place: Path) -> ScalingRequest:
    """Models of 300 tokens, trained in a second."""
    return ScalingRequest(**small(place), steps=STEPS, factors=(5.0,))


@pytest.fixture(scope="module")
def heard() -> Ear:
    return Ear()


@pytest.fixture(scope="module")
def made(request_: ScalingRequest, heard: Ear) -> ScalingReport:
    found: ScalingReport = ew.run(request_, progress=heard)
    return found


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that are trained from here on."""
    return trained_from_here(monkeypatch)


def last_of(request: ScalingRequest, factor: float | None) -> Checkpoint:
    plan = open_plan(request)
    store = plan.known(specs(request, plan)[factor])
    assert store is not None
    return store.checkpoints()[-1]


def by_factor(report: ScalingReport) -> dict[float, Any]:
    return {run.factor: run for run in report.runs}


def assert_aligned(request: ScalingRequest, report: ScalingReport, factor: float) -> None:
    """The report's numbers are those of `ew.align` on the matrices that were trained."""
    untied, tied = last_of(request, None), last_of(request, factor)
    for to in TO:
        near = by_factor(report)[factor].nearness[to]
        one = ew.align(
            getattr(untied, to), tied.input, map=request.map, holdout=request.holdout,
            seed=request.seed,
        )  # fmt: skip
        assert near.mean == pytest.approx(one.mean, abs=1e-6)
        assert near.heldout == pytest.approx(one.heldout_mean, abs=1e-6)
        assert near.floor == pytest.approx(one.floor_mean, abs=1e-6)
        assert near.interval == pytest.approx(one.interval, abs=1e-6)
        np.testing.assert_allclose(near.cosine, one.cosine, atol=1e-5)


def test_every_tied_matrix_is_aligned_with_both_sides_of_the_untied_twin(
    request_: ScalingRequest, made: ScalingReport
) -> None:
    assert [run.factor for run in made.runs] == [1, 5]
    for factor in (1.0, 5.0):
        assert_aligned(request_, made, factor)
    assert not torch.equal(last_of(request_, 1.0).input, last_of(request_, 5.0).input)
    assert made.settings["width"] == 128
    assert len(made.tokens) == made.settings["rows"] == len(last_of(request_, 1.0).input)
    assert made.token_counts is not None
    assert made.token_counts.sum() > 0


def test_the_factor_multiplies_the_inputs_part_and_nothing_else(made: ScalingReport) -> None:
    plain, scaled = made.runs
    assert plain.curves["step"].tolist() == list(range(1, STEPS + 1))
    assert scaled.curves["loss"][0] == plain.curves["loss"][0]
    ratio = {n: scaled.curves[n][0] / plain.curves[n][0] for n in ("input_norm", "output_norm")}
    assert ratio["input_norm"] == pytest.approx(5, rel=1e-5)
    assert ratio["output_norm"] == pytest.approx(1, rel=1e-5)


def test_the_loss_on_held_out_text_is_that_of_the_trained_model(
    request_: ScalingRequest, made: ScalingReport
) -> None:
    plan = open_plan(request_)
    store = plan.known(specs(request_, plan)[5.0])
    assert store is not None
    ids = torch.as_tensor(plan.held.ids)
    starts = range(0, len(ids) - request_.length, request_.length)
    windows = torch.stack([ids[s : s + request_.length + 1] for s in starts])
    with torch.no_grad():
        logits = load_trained(store)(input_ids=windows[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
    assert made.runs[1].held_loss == pytest.approx(float(loss), abs=1e-4)
    assert isinstance(made.untied["held_loss"], float)


def test_a_held_out_text_that_is_too_short_gives_no_loss_and_says_so(
    request_: ScalingRequest,
) -> None:
    found = ew.run(replace(request_, steps=1, batch=1, length=4_000, factors=()))
    assert found.runs[0].held_loss is None
    assert any("too few for a piece of 4,000" in note for note in found.notes)


def test_what_there_is_is_shown_while_one_after_the_other_trains(
    made: ScalingReport, heard: Ear
) -> None:
    assert made.progress == ""
    begun = [part for part in heard.parts if not part.runs]
    assert begun
    assert all("untied" in part.progress for part in begun)
    assert any(len(part.untied["curves"]["step"]) for part in begun)
    growing = [part for part in heard.parts if "tied x5 model" in part.progress]
    assert growing
    assert growing[0].plain is not None
    assert not growing[0].runs[-1].whole
    assert heard.parts[-1].progress == "2 of 2 tied models"


def test_tokens_that_moved_are_grouped_by_kind_and_count(made: ScalingReport) -> None:
    moved = made.moved(made.scaled[0])
    whole = [group for group in made.groups if group["by"] == "times in the corpus"]
    assert sum(group["tokens"] for group in whole) == len(made.tokens)
    total = sum(group["x5"] * group["scored"]["x5"] for group in whole if group["x5"] is not None)
    assert total == pytest.approx(float(np.nansum(moved)), abs=1e-3)


def test_another_map_needs_no_new_training(
    request_: ScalingRequest, made: ScalingReport, trained: list[str]
) -> None:
    other = replace(request_, map="linear", holdout=0.4)
    again = ew.run(other)
    assert trained == []
    assert again.settings["cached"]
    assert_aligned(other, again, 5.0)
    assert again.runs[1].held_loss == made.runs[1].held_loss


def test_a_further_factor_trains_that_one_alone(
    request_: ScalingRequest, made: ScalingReport, trained: list[str]
) -> None:
    more = ew.run(replace(request_, factors=(0.0, 5.0)))
    assert trained == ["tied x0"]
    assert [run.factor for run in more.whole] == [0, 1, 5]
    assert by_factor(more)[0.0].curves["input_norm"].max() == 0
    np.testing.assert_array_equal(by_factor(more)[5.0].side, made.runs[1].side)


def test_the_gradient_flow_of_the_recipe_shares_both_twins(
    request_: ScalingRequest, made: ScalingReport, trained: list[str]
) -> None:
    fields = {name: getattr(request_, name) for name in TrainingRequest().to_dict()}
    flow = ew.run(GradientFlowRequest(**fields))
    assert trained == []
    np.testing.assert_array_equal(flow.runs["tied"].curves["loss"], made.runs[0].curves["loss"])


def test_an_early_factor_ends_where_it_is_to(request_: ScalingRequest, made: ScalingReport) -> None:
    early = by_factor(ew.run(replace(request_, schedule="early", early=2)))[5.0]
    always = by_factor(made)[5.0]
    assert (early.until, always.until) == (2, STEPS)
    np.testing.assert_array_equal(early.curves["loss"][:3], always.curves["loss"][:3])
    ratio = always.curves["input_norm"] / early.curves["input_norm"]
    np.testing.assert_allclose(ratio[:2], 1)
    assert ratio[2] == pytest.approx(5, rel=1e-4)


def test_a_training_that_was_stopped_goes_on_with_the_same_bits(
    request_: ScalingRequest, made: ScalingReport, trained: list[str]
) -> None:
    asked = replace(request_, factors=(3.0,))
    with pytest.raises(Cancelled):
        ew.run(asked, progress=Ear(lambda stage, done: "x3" in stage and done == 3))
    broken = by_factor(ew.run(asked))[3.0]
    assert trained == ["tied x3"] * 2
    assert broken.curves["step"].tolist() == list(range(1, STEPS + 1))
    whole = by_factor(ew.run(replace(asked, factors=(3.0, 5.0))))[3.0]
    np.testing.assert_array_equal(broken.side, whole.side)


def test_neighbours_come_from_every_matrix_that_was_trained(
    request_: ScalingRequest, made: ScalingReport
) -> None:
    card = neighbours(request_, 7, 5.0, k=4)
    assert list(card.neighbours) == ["In", "Out", "Tied x1", "Tied x5"]
    for name, factor in (("Tied x1", 1.0), ("Tied x5", 5.0)):
        near = nearest(last_of(request_, factor).input, 7, 4)
        assert [row for row, _ in card.neighbours[name]] == near.rows.tolist()
    with pytest.raises(EmbtieError, match="not at hand"):
        neighbours(replace(request_, seed=99), 7, 5.0)


def test_the_report_is_kept_whole(made: ScalingReport) -> None:
    again = from_bytes(to_bytes(made))
    np.testing.assert_array_equal(again.moved(again.scaled[0]), made.moved(made.scaled[0]))
    assert (again.tokens, again.hashes) == (made.tokens, made.hashes)
    assert {"text", "untied input", "untied output", "tied x1", "tied x5"} <= set(made.hashes)


def test_what_was_trained_on_the_bundled_text_is_looked_up_for_any_map(
    request_: ScalingRequest, made: ScalingReport, trained: list[str]
) -> None:
    ours = ScalingRequest(steps=1, batch=1, length=8, warmup=0, device="cpu", factors=())
    assert look_up(ours) is None
    whole = ew.run(ours)
    assert look_up(ours).settings["cached"]
    before = list(trained)
    other = look_up(replace(ours, map="linear"))
    assert trained == before
    assert other.runs[0].nearness["input"].mean > whole.runs[0].nearness["input"].mean
    assert look_up(request_) is None  # a visitor is told of no text but ours


def test_each_factor_costs_a_run() -> None:
    costs = [work_of(ScalingRequest(factors=factors)) for factors in ((), (2,), (2, 5, 10))]
    works = [work for work in costs if isinstance(work, Work)]
    one = works[1].operations - works[0].operations
    assert one > 0
    assert works[2].operations - works[0].operations == pytest.approx(3 * one)
    assert (
        estimate_scaling(ScalingRequest(steps=600)).seconds
        > estimate_scaling(ScalingRequest()).seconds
    )
    assert estimate_scaling(ScalingRequest(tokenizer="nobody/knows")) is None
