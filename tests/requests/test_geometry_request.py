"""The request behind neighbours and spectra: its link, its file, and what it refuses."""

from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import GeometryRequest, ModelRef, read_request
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.reading import to_json

OTHER = GeometryRequest(
    ModelRef("me/run", "step5"),
    "nano-tied",
    k=64,
    metric="euclidean",
    center=True,
    sample=500,
    spectral=False,
    spectral_k=32,
    components=16,
    top=20,
    seed=3,
    role_b="input",
    device="cpu",
)


@pytest.mark.parametrize("request_", [GeometryRequest(), GeometryRequest(k=3), OTHER])
def test_file_and_link_give_an_equal_request(request_: GeometryRequest) -> None:
    assert read_request(to_json(request_)) == request_
    link = decode(encode(request_, {4, 2}))
    assert link is not None
    assert (link.request, link.tokens) == (request_, {2, 4})


def test_a_link_says_only_what_is_not_as_usual() -> None:
    assert encode(GeometryRequest(k=3, spectral=False)) == (
        "embtie=1&kind=geometry&k=3&spectral=false"
    )


def test_the_code_says_it_too() -> None:
    assert "ew.GeometryRequest(a='nano-untied', b='nano-tied', k=3)" in to_code(
        GeometryRequest(k=3)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"k": 0},
        {"k": 1_001},
        {"k": 2.5},
        {"k": True},
        {"metric": "manhattan"},
        {"center": 1},
        {"sample": -1},
        {"spectral": "yes"},
        {"spectral_k": 0},
        {"components": 0},
        {"top": 0},
        {"seed": -1},
    ],
)
def test_what_cannot_be_is_refused_by_its_name(change: dict[str, Any]) -> None:
    with pytest.raises(EmbtieError, match=next(iter(change))):
        GeometryRequest(**change)
