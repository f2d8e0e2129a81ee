"""A request as a link and back, and links that nobody should trust."""

import random

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import AlignRequest, ModelRef, StaircaseRequest
from embtie_widgets.requests.link import LENGTH_LIMIT, Link, decode, encode

REQUESTS = [
    AlignRequest(map="orthogonal"),
    AlignRequest(center=False, ridge=0.125, holdout=0.35, seed=2**31 - 1, device="cpu"),
    AlignRequest(a=ModelRef("EleutherAI/pythia-70m", revision="step1000"), role_b="output"),
    AlignRequest(b=ModelRef("a b&c=%é#?.npy", output_file="+out.npy", treat_as_tied=True)),
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_link_gives_the_same_request_and_tokens_back(request_: AlignRequest) -> None:
    assert decode(encode(request_, {5, 0, 901})) == Link(request_, frozenset({0, 5, 901}))


def test_a_field_named_tokens_and_chosen_tokens_do_not_meet() -> None:
    request = StaircaseRequest(tokens=20, modulus=0)
    query = encode(request, {3, 5})
    assert decode(query) == Link(request, frozenset({3, 5}))
    assert decode(encode(request)) == Link(request)


def test_defaults_need_no_query_and_only_what_differs_is_written() -> None:
    assert encode(AlignRequest()) == ""
    assert encode(AlignRequest(map="orthogonal")) == "embtie=1&kind=align&map=orthogonal"
    assert encode(AlignRequest(), {7, 3}) == "embtie=1&kind=align&tokens=3.7"


def test_a_large_selection_is_left_out() -> None:
    assert "tokens" not in encode(AlignRequest(seed=1), range(65))
    assert "tokens" in encode(AlignRequest(seed=1), range(64))


@pytest.mark.parametrize("query", ["", "x=1", "utm_source=letter&map=cubic"])
def test_a_query_that_is_not_ours_is_no_link(query: str) -> None:
    assert decode(query) is None


@pytest.mark.parametrize(
    "query",
    [
        "embtie=1",
        "embtie=1&kind=align&map=cubic",
        "embtie=2&kind=align",
        "embtie=x&kind=align",
        "embtie=1&kind=align&seed=1e3",
        "embtie=1&kind=align&seed=99999999999",
        "embtie=1&kind=align&ridge=nan",
        "embtie=1&kind=align&holdout=-1",
        "embtie=1&kind=align&center=maybe",
        "embtie=1&kind=align&shell=rm",
        "embtie=1&kind=align&a.shell=rm",
        "embtie=1&kind=align&a=x&a.ref=y",
        "embtie=1&kind=align&a.ref=y&a=x",
        "embtie=1&kind=align&a.revision=main",
        "embtie=1&kind=align&a.ref=%00%1b",
        "embtie=1&kind=align&a.ref=",
        "embtie=1&kind=align&a.ref=" + "x" * 1025,
        "embtie=1&kind=align&__class__=x",
        "embtie=1&kind=align&version=3",
        "embtie=1&kind=align&map=linear&map=identity",
        "embtie=1&kind=align&tokens=-1",
        "embtie=1&kind=align&tokens=1.2.x",
        "embtie=1&kind=align&tokens=" + ".".join("1" * 65),
        "embtie=1&kind=align&a.ref=%ff%fe",
        "embtie=1&" + "&".join(f"f{i}=1" for i in range(80)),
        "embtie=1&kind=align&a.ref=" + "x" * LENGTH_LIMIT,
    ],
)
def test_a_hostile_or_broken_link_is_refused_with_a_next_step(query: str) -> None:
    with pytest.raises(EmbtieError) as caught:
        decode(query)
    assert caught.value.hint


def test_no_change_to_a_link_gives_anything_but_a_link_or_a_refusal() -> None:
    chance = random.Random(0)
    base = encode(REQUESTS[2], {1, 2})
    for _ in range(500):
        letters = list(base)
        for _ in range(chance.randrange(1, 4)):
            letters[chance.randrange(len(letters))] = chance.choice("=&%.+0aZ\x00é\ud800")
        try:
            found = decode("".join(letters))
        except EmbtieError:
            continue
        assert found is None or isinstance(found, Link)
