"""The request of the lens: fields, files, links, code."""

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import CorpusRef, LensRequest, ModelRef, read_request
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.passage import MOST_TEXT
from embtie_widgets.requests.reading import to_json

TEXT = 'Two lines,\n\twith <b>"quotes"</b> & a \U0001f600; 100 % = all?\u200d\r\n'
FULL = LensRequest(
    ModelRef("org/model", revision="step1"),
    "nano-tied",
    lens="logit",
    mode="paper",
    corpus=CorpusRef("datasets:org/text:en", column="body", split="test", limit_mb=30),
    text=TEXT,
    length=64,
    positions=500,
    translators_a="train",
    translators_b="a folder/my lens.safetensors",
    steps=7,
    train_tokens=1_000,
    recipe="published",
    start="zero",
    floor=False,
    precision="bfloat16",
    device="cpu",
    seed=4,
)


@pytest.mark.parametrize("request_", [LensRequest(), FULL, LensRequest(text="tokens=3&kind=x")])
def test_it_comes_back_from_json_link_and_code(request_: LensRequest) -> None:
    import embtie_widgets as ew

    assert read_request(to_json(request_)) == request_
    link = decode(encode(request_, [1]))
    assert link is not None
    assert (link.request, link.tokens) == (request_, {1})
    line = to_code(request_).splitlines()[1]
    inner = line.removeprefix("result = ew.run(").removesuffix(")")
    assert eval(inner, {"ew": ew}) == request_


def test_every_field_of_the_full_request_differs_from_its_default() -> None:
    usual = LensRequest().to_dict()
    same = [name for name, value in FULL.to_dict().items() if value == usual[name]]
    assert same == ["b"]


@pytest.mark.parametrize("letter", ["a", '"', "\n", "語"])
def test_the_longest_text_fits_a_file_and_a_link_that_cannot_hold_it_says_so(letter: str) -> None:
    longest = LensRequest(text=letter * MOST_TEXT)
    assert read_request(to_json(longest)) == longest
    with pytest.raises(EmbtieError, match="of a link"):
        encode(longest)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"lens": "prism"}, "lens is 'prism'"),
        ({"mode": ""}, "mode"),
        ({"text": "x" * (MOST_TEXT + 1)}, "20,001 characters"),
        ({"text": b"x"}, "text is b'x'"),
        ({"text": "a\x1b[2J"}, "control sign"),
        ({"text": "a\x00"}, "control sign"),
        ({"text": "\ud800"}, "control sign"),
        ({"length": 1}, "length is 1"),
        ({"length": 4097}, "length is 4097"),
        ({"positions": 1}, "positions"),
        ({"positions": 10**6}, "positions"),
        ({"steps": -1}, "steps"),
        ({"steps": True}, "steps is True"),
        ({"train_tokens": 1}, "train_tokens is 1"),
        ({"train_tokens": -1}, "train_tokens"),
        ({"train_tokens": False}, "train_tokens is False"),
        ({"translators_a": "x\ny"}, "translators_a"),
        ({"translators_b": None}, "translators_b"),
        ({"translators_b": "x" * 2000}, "translators_b"),
        ({"recipe": "slow"}, "recipe"),
        ({"start": "random"}, "start"),
        ({"floor": 1}, "floor is 1"),
        ({"precision": "int4"}, "precision"),
        ({"device": "tpu"}, "device"),
        ({"seed": -1}, "seed"),
        ({"corpus": {"ref": "a", "path": "b"}}, "path"),
        ({"a": ""}, "No model is named"),
    ],
)
def test_what_cannot_be_is_refused_in_words(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(EmbtieError, match=words):
        LensRequest(**wrong)  # type: ignore[arg-type]
