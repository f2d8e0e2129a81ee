"""What a visitor of a public page may ask for, and what is said where it is too much."""

from dataclasses import replace
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs import deadline
from embtie_widgets.jobs import run as doors
from embtie_widgets.requests import (
    BottleneckTrialsRequest,
    CenteringRequest,
    CorpusRef,
    EvaluateRequest,
    GradientFlowRequest,
    LensRequest,
    NormFrequencyRequest,
    ScalingRequest,
    StaircaseRequest,
)
from embtie_widgets.requests.fields import names_of
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.requests.training import TrainingRequest
from embtie_widgets.sources import bounds

# What needs no bound of its own, and why.
_FREE = {
    # names, which are judged where they become a path or a repository
    "a", "b", "model", "other", "tokenizer", "corpus", "file", "files", "data", "translators_a",
    "translators_b",
    # one of a few words, or yes and no
    "role_b", "device", "mu_centered", "leave_out_copies",
    "map", "center", "source", "held", "precision", "preset",
    "share_start", "rows", "tying", "sizes", "methods", "depth", "tasks", "metric", "spectral",
    "spaces", "lens", "mode", "recipe", "start", "floor", "experiment", "ways", "size", "budget",
    "schedule", "directions", "operation", "distribution", "activation", "optimiser", "orders",
    "items", "stand_in", "kind_of",
    # numbers that say how, not how much
    "seed", "ridge", "holdout", "lr", "warmup", "every", "weight_decay", "clip", "eps", "cap",
    "interval", "early", "gamma", "power", "offset",
    # lists whose entries multiply the runs or the passes, which are counted together, or are few
    "rates", "seeds", "coefficients", "factors", "steps_at", "columns",
    # bounded for everybody by what a link and a page can hold
    "text", "config", "tokens", "modulus",
    # held within a bound together with others
    "batch", "amount", "samples", "stride", "sample",
}  # fmt: skip


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a kernel of a public page."""
    monkeypatch.setenv("EMBTIE_PUBLIC", "1")
    monkeypatch.setattr(bounds, "_fetched", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_every_request_has_a_bound_or_needs_none(kind: str) -> None:
    fields = set(names_of(KINDS[kind].request))
    bounded = set(bounds.MOST[kind])
    assert bounded <= fields
    length = {"length"} & fields  # of a toy task's sequences: at most 12 for everybody
    assert fields - bounded - _FREE - (length if kind == "staircase" else set()) == set()
    assert not bounded & _FREE


@pytest.mark.parametrize("kind", KINDS)
def test_the_usual_request_is_within_the_bounds(kind: str, public: None) -> None:
    bounds.check(KINDS[kind].request())


def _beyond(kind: str, name: str, most: int) -> Any:
    """The usual request with one field just beyond its bound."""
    usual = getattr(KINDS[kind].request(), name)
    if name in ("revisions", "chosen"):
        value: Any = tuple(f"step{number}" for number in range(most + 1))
    elif isinstance(usual, tuple):
        value = (*usual, most + 1)
    else:
        value = True if isinstance(usual, bool) else most + 1
    return KINDS[kind].request(**{name: value})


@pytest.mark.parametrize(
    ("kind", "name", "most"),
    [(kind, name, most) for kind, named in bounds.MOST.items() for name, most in named.items()],
)
def test_beyond_each_bound_every_door_says_what_it_is(
    kind: str, name: str, most: int, public: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _beyond(kind, name, most)
    for door in (doors.run, doors.look, doors.estimate):
        with pytest.raises(EmbtieError, match="On a public page") as told:
            door(asked)
        assert name == "fetch" or f"{most:,}" in told.value.message
        assert "run embtie yourself" in told.value.hint
    monkeypatch.delenv("EMBTIE_PUBLIC")
    bounds.check(asked)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (CenteringRequest(seeds=tuple(range(20)), steps=1_500), "20,000 steps"),
        (ScalingRequest(factors=(2, 3, 4, 5, 6, 7, 8, 9), steps=2_000, batch=65), "8,192 tokens"),
        (GradientFlowRequest(batch=64, tokenizer="train", vocabulary=32_000), "logits"),
        (CenteringRequest(batch=64, length=128, vocabulary=4_000, extra_rows=4_000), "logits"),
        (BottleneckTrialsRequest(experiment="spamlang", amount=10**9), "logits"),
        (EvaluateRequest(letters=100_000, length=512, stride=1), "letters"),
        (EvaluateRequest(limit=0), "0 asks for all"),
        (StaircaseRequest(epochs=5_000, tokens=80, modulus=80), "sequences"),
        (NormFrequencyRequest(corpus=CorpusRef("datasets:a/b")), "200 million bytes"),
        (LensRequest(corpus=CorpusRef("datasets:a/b", limit_mb=201)), "200 million bytes"),
    ],
)
def test_what_is_too_much_together_is_refused(asked: Any, told: str, public: None) -> None:
    with pytest.raises(EmbtieError, match=told) as refused:
        doors.run(asked)
    assert "public page" in refused.value.message


def test_what_is_close_to_the_bounds_is_not_refused(public: None) -> None:
    bounds.check(CenteringRequest(methods=("none",), seeds=tuple(range(10)), steps=2_000))
    bounds.check(NormFrequencyRequest(corpus=CorpusRef("datasets:a/b", limit_mb=200)))
    for settings in ({"batch": 64, "length": 128}, {"steps": 2_000, "factors": (5.0, 10.0)}):
        bounds.check(replace(ScalingRequest(), **settings))


def test_every_kind_that_trains_is_held_to_the_steps_of_a_training(public: None) -> None:
    for kind, known in KINDS.items():
        if issubclass(known.request, TrainingRequest):
            assert bounds.MOST[kind]["steps"] == 2_000


def test_the_rows_of_a_tokenizer_count_once_they_are_known(public: None) -> None:
    bounds.check_logits(8_192, 4_096)
    with pytest.raises(EmbtieError, match=r"33,554,432 logits.*33,562,624"):
        bounds.check_logits(8_192, 4_097)


def test_a_matrix_is_judged_by_its_shape(public: None, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds.check_matrix((151_936, 5_120), "embed")
    with pytest.raises(EmbtieError, match="embed has 16,000,000,000,000"):
        bounds.check_matrix((10**9, 16_000), "embed")
    monkeypatch.delenv("EMBTIE_PUBLIC")
    bounds.check_matrix((10**9, 16_000), "embed")


def test_all_that_a_visitor_brings_is_counted(
    public: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds.take_fetching(3 * 10**9, "first")
    with pytest.raises(Interrupted, match=r"second is 2\.0 GB.*4\.0 GB.*3\.0 GB"):
        bounds.take_fetching(2 * 10**9, "second")
    bounds.take_fetching(10**9, "third")
    monkeypatch.delenv("EMBTIE_PUBLIC")
    bounds.take_fetching(10**12, "for the owner")


def test_a_job_without_end_is_broken_off(public: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ear:
        told: list[str] = []  # noqa: RUF012 - of one test

        def __call__(self, stage: str, done: int, total: int) -> None:
            self.told.append(stage)

        def partial(self, result: Any) -> None:
            self.told.append(f"shown {result}")

    now = [0.0]
    monkeypatch.setattr(deadline, "monotonic", lambda: now[0])
    progress: Any = deadline.bounded(Ear())
    progress("a", 0, 1)
    progress.partial("this")
    now[0] = bounds.JOB_SECONDS + 1.0
    with pytest.raises(Interrupted, match="at most 30 minutes"):
        progress("b", 0, 1)
    assert Ear.told == ["a", "shown this"]
    monkeypatch.delenv("EMBTIE_PUBLIC")
    ear = Ear()
    assert deadline.bounded(ear) is ear
