"""What a lens will cost, said before it is run."""

from dataclasses import replace

import pytest

from embtie_widgets.jobs import lens_cost
from embtie_widgets.jobs.lens_cost import estimate_lens, saw
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
