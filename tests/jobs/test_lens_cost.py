"""What a lens will cost, said before it is run."""

from dataclasses import replace

import pytest

from embtie_widgets.jobs import lens_cost, lens_plan
from embtie_widgets.jobs.lens_cost import estimate_lens, saw
from embtie_widgets.jobs.lens_plan import Plan, Size, plan, training
from embtie_widgets.requests import LensRequest
from tests.fresh import run_fresh

FACTS = {"parameters": 1_000_000, "rows": 4_096, "width": 128, "layers": 4}
REQUEST = LensRequest("org/a", "org/b", lens="logit")


@pytest.fixture(autouse=True)
def nothing_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lens_cost, "_seen", {})


def seconds(request: LensRequest) -> float:
    cost = estimate_lens(request)
    assert cost is not None
    return cost.seconds


def test_nothing_is_said_of_models_that_were_not_seen() -> None:
    assert estimate_lens(REQUEST) is None
    saw(REQUEST.a, FACTS)
    assert estimate_lens(REQUEST) is None
    saw(REQUEST.b, {"name": "b", "notes": []})
    assert estimate_lens(REQUEST) is None
    saw(REQUEST.b, FACTS)
    assert estimate_lens(REQUEST) is not None


def test_more_work_and_larger_models_cost_more() -> None:
    for ref in (REQUEST.a, REQUEST.b):
        saw(ref, FACTS)
    plain = seconds(REQUEST)
    assert seconds(replace(REQUEST, positions=20_000)) > plain
    trained = replace(REQUEST, lens="tuned")
    assert seconds(trained) > plain
    assert seconds(replace(trained, steps=1_000)) > seconds(trained)
    loaded = replace(trained, translators_a="x.safetensors", translators_b="y.safetensors")
    assert seconds(loaded) == pytest.approx(plain)
    small = estimate_lens(trained)
    saw(REQUEST.b, FACTS | {"parameters": 10**9, "width": 4_096, "layers": 32})
    large = estimate_lens(trained)
    assert small is not None
    assert large is not None
    assert large.seconds > small.seconds
    assert large.bytes > 4e9


SMALL = Size(1_000_000, 4_096, 128, 2)
LARGE = Size(135_000_000, 49_152, 576, 30)
TUNED = LensRequest("org/a", "org/b")


def test_a_small_model_is_trained_on_all_of_the_text_in_all_steps() -> None:
    assert plan(TUNED, SMALL) == Plan(50_000, TUNED.steps)


def test_a_large_model_is_trained_on_less_text_in_fewer_steps() -> None:
    found = plan(TUNED, LARGE)
    assert 2 * LARGE.width <= found.tokens < 10_000
    assert found.steps == 1  # the closed form
    assert plan(TUNED, Size(10**9, 128_000, 2_048, 16)) == Plan(4_100, 1)
    zero = plan(replace(TUNED, start="zero"), LARGE)
    assert 1 < zero.steps < TUNED.steps


def test_what_the_user_has_chosen_is_done() -> None:
    chosen = replace(TUNED, train_tokens=30_000, steps=70)
    assert plan(chosen, LARGE) == Plan(30_000, 70)
    assert training(chosen, LARGE) > 3 * training(TUNED, LARGE)


def test_no_more_steps_are_planned_than_were_asked_for() -> None:
    assert plan(replace(TUNED, steps=0), LARGE).steps == 0
    assert plan(replace(TUNED, steps=2), SMALL).steps == 2


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_steps_that_were_chosen_are_taken(size: Size) -> None:
    assert plan(replace(TUNED, steps=1_000), size).steps == 1_000


def test_a_short_training_costs_about_its_budget() -> None:
    assert training(TUNED, LARGE) == pytest.approx(lens_plan.BUDGET, rel=0.1)
    assert training(replace(TUNED, start="zero"), LARGE) < 1.6 * lens_plan.BUDGET


def test_bundled_models_are_trained_only_where_that_is_asked_for() -> None:
    usual = LensRequest()
    for ref in (usual.a, usual.b):
        saw(ref, FACTS)
    assert seconds(usual) < seconds(replace(usual, translators_b="train"))


def test_an_estimate_loads_no_torch() -> None:
    run_fresh(
        "import embtie_widgets as ew\n"
        "from embtie_widgets.jobs.run import estimate\n"
        "estimate(ew.LensRequest())",
        "torch",
        "transformers",
    )
