"""A corpus in a request: from a plain text, in JSON, in links and in code."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import CorpusRef, ModelRef, Request
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.kinds import KINDS, Kind
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.reading import read_request, to_json

_MODEL, _CORPUS = ModelRef("nano-tied"), CorpusRef("bundled")


@dataclass(frozen=True)
class Count(Request):
    model: ModelRef = _MODEL
    corpus: CorpusRef = _CORPUS

    kind: ClassVar[str] = "count-for-a-test"


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, Count.kind, Kind(Count, run=""))


REFS = [
    CorpusRef(),
    CorpusRef("bundled"),
    CorpusRef("bundled", limit_mb=3),
    CorpusRef("", limit_mb=3),
    CorpusRef("texts/a b&c=1.jsonl", column="body, or not", split="test"),
    CorpusRef("datasets:owner/name:en", split="validation", limit_mb=300),
]


@pytest.mark.parametrize("ref", REFS)
def test_a_corpus_survives_json_and_links(ref: CorpusRef) -> None:
    request = Count(corpus=ref)
    assert read_request(to_json(request)) == request
    link = encode(request)
    assert (decode(link).request if link else Count()) == request


@pytest.mark.parametrize("ref", REFS)
def test_copied_code_makes_the_same_request(ref: CorpusRef) -> None:
    code = to_code(Count(corpus=ref)).splitlines()[1].removeprefix("result = ew.run(")[:-1]
    names = {"Count": Count, "CorpusRef": CorpusRef, "ModelRef": ModelRef}
    assert eval(code.replace("ew.", ""), names) == Count(corpus=ref)


def test_a_plain_text_or_an_object_names_a_corpus() -> None:
    assert Count(corpus="a.txt").corpus == CorpusRef("a.txt")
    given: Any = {"ref": "a.jsonl", "column": "body"}
    assert Count(corpus=given).corpus == CorpusRef("a.jsonl", "body")
    assert CorpusRef("a.jsonl", "body").to_dict() == given


@pytest.mark.parametrize(
    "given",
    [
        {"ref": "a\nb"},
        {"ref": "a", "limit_mb": -1},
        {"ref": "a", "limit_mb": 1.5},
        {"ref": "a", "column": ""},
        {"ref": "a", "bend": 1},
        {"ref": None},
        7,
    ],
)
def test_what_names_no_corpus_is_a_sentence(given: Any) -> None:
    with pytest.raises(EmbtieError):
        Count(corpus=given)


def test_a_link_that_names_it_twice_is_refused() -> None:
    with pytest.raises(EmbtieError, match="twice"):
        decode("embtie=1&kind=count-for-a-test&corpus=a&corpus.ref=b")
