"""The request of norms against frequency: fields, links, code."""

import json

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import CorpusRef, NormFrequencyRequest, read_request
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.reading import to_json

FULL = NormFrequencyRequest(
    "org/model",
    "nano-tied",
    corpus=CorpusRef("datasets:org/text:en", column="body", split="test", limit_mb=30),
    seed=4,
    role_b="output",
)


@pytest.mark.parametrize("request_", [NormFrequencyRequest(), FULL])
def test_it_comes_back_from_json_link_and_code(request_: NormFrequencyRequest) -> None:
    import embtie_widgets as ew

    assert read_request(to_json(request_)) == request_
    link = decode(encode(request_, [1]))
    assert link is not None
    assert link.request == request_
    line = to_code(request_).splitlines()[1]
    inner = line.removeprefix("result = ew.run(").removesuffix(")")
    assert eval(inner, {"ew": ew}) == request_


def test_a_corpus_may_be_a_plain_name() -> None:
    assert NormFrequencyRequest(corpus="bundled").corpus == CorpusRef("bundled")
    assert "corpus='bundled'" in to_code(NormFrequencyRequest(corpus="bundled"))
    plain = json.loads(to_json(NormFrequencyRequest(corpus="a.txt")))
    assert plain["corpus"] == {"ref": "a.txt"}


def test_what_cannot_be_is_refused_in_words() -> None:
    for wrong, words in (
        ({"seed": -1}, "seed is -1"),
        ({"seed": True}, "seed is True"),
        ({"corpus": {"ref": "a", "limit_mb": -1}}, "limit_mb"),
        ({"corpus": {"ref": "a", "path": "b"}}, "path"),
        ({"corpus": 3}, "corpus"),
        ({"role_b": "both"}, "role_b"),
    ):
        with pytest.raises(EmbtieError, match=words):
            NormFrequencyRequest(**wrong)
