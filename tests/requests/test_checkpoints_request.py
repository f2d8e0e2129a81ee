"""The request for the checkpoints of a training."""

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import ModelRef, read_request
from embtie_widgets.requests.checkpoints import MOST, CheckpointsRequest
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.reading import to_json


def test_it_survives_json_and_a_list_becomes_a_tuple() -> None:
    request = CheckpointsRequest("a/b", revisions=["step1", "step0", "step1"])
    assert request.revisions == ("step1", "step0")
    assert request.model == ModelRef("a/b")
    assert read_request(to_json(request)) == request


@pytest.mark.parametrize(
    "names", [("step0",), ("step0", "step1000-tokens4B"), ("a,b", "c d%2C", "é")]
)
def test_a_link_holds_the_names(names: tuple[str, ...]) -> None:
    request = CheckpointsRequest("a/b", revisions=names, depth="files")
    link = decode(encode(request))
    assert link is not None
    assert link.request == request


def test_the_link_can_be_read() -> None:
    query = encode(CheckpointsRequest("a/b", revisions=("step0", "step1000"), count=5))
    assert query == "embtie=1&kind=checkpoints&model=a/b&revisions=step0,step1000&count=5"


def test_the_code_of_a_request_makes_it_again() -> None:
    request = CheckpointsRequest("a/b", revisions=("step0",), count=5)
    assert "revisions=('step0',), count=5" in to_code(request)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"revisions": "step0"}, "no list of names"),
        ({"revisions": 5}, "no list of names"),
        ({"revisions": ["step0", 5]}, "a revision is 5"),
        ({"revisions": ["a\nb"]}, "printable"),
        ({"revisions": [f"step{i}" for i in range(MOST + 1)]}, "at most 256"),
        ({"count": 0}, "count is 0"),
        ({"count": MOST + 1}, "count"),
        ({"depth": "everything"}, "depth"),
        ({"model": ModelRef("a/b", revision="step0")}, "as `revisions`"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, object], said: str) -> None:
    with pytest.raises(EmbtieError, match=said):
        CheckpointsRequest(**fields)  # type: ignore[arg-type]
