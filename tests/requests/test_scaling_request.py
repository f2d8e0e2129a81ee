"""The request of input scaling: factors, schedule, files, links, code."""

from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import CorpusRef, ScalingRequest, read_request
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.reading import to_json
from embtie_widgets.requests.scaling import MOST_FACTORS

FULL = ScalingRequest(
    factors=(0.0, 0.5, 2.0, 1_000.0),
    schedule="early",
    early=30,
    map="linear",
    holdout=0.3,
    preset="nano-llama",
    corpus=CorpusRef("bundled", limit_mb=2),
    tokenizer="train",
    vocabulary=1_000,
    steps=60,
    batch=4,
    length=64,
    lr=0.001,
    warmup=7,
    share_start=True,
    every=2,
    precision="float32",
    device="cpu",
    seed=3,
)


@pytest.mark.parametrize(
    "request_", [ScalingRequest(), FULL, ScalingRequest(factors=()), ScalingRequest(factors=(0.1,))]
)
def test_it_comes_back_from_json_link_and_code(request_: ScalingRequest) -> None:
    import embtie_widgets as ew

    assert read_request(to_json(request_)) == request_
    link = decode(encode(request_, [1]))
    assert link is not None
    assert (link.request, link.tokens) == (request_, {1})
    line = to_code(request_).splitlines()[1]
    inner = line.removeprefix("result = ew.run(").removesuffix(")")
    assert eval(inner, {"ew": ew}) == request_


def test_every_field_of_the_full_request_differs_from_its_default() -> None:
    usual = ScalingRequest().to_dict()
    assert [name for name, value in FULL.to_dict().items() if value == usual[name]] == []


def test_factors_are_kept_once_rising_and_without_the_one_that_is_always_trained() -> None:
    assert ScalingRequest(factors=[10, 1, 2.5, 10]).factors == (2.5, 10.0)
    assert ScalingRequest(factors=("5", "2")).factors == (2.0, 5.0)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"factors": 5}, "expected a list"),
        ({"factors": "5"}, "expected a list"),
        ({"factors": (-1,)}, "factors"),
        ({"factors": ("x",)}, "factors"),
        ({"factors": (float("nan"),)}, "factors"),
        ({"factors": (1e9,)}, "factors"),
        ({"factors": (True,)}, "factors"),
        ({"factors": range(2, 3 + MOST_FACTORS)}, "at most"),
        ({"schedule": "late"}, "schedule"),
        ({"early": 0}, "early"),
        ({"map": "affine"}, "map"),
        ({"holdout": 1.0}, "holdout"),
        ({"steps": 0}, "steps"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given: dict[str, Any], word: str) -> None:
    with pytest.raises(EmbtieError, match=word):
        ScalingRequest(**given)
