"""Links of every kind of request, made at random: what is valid comes back as it was, and of all
else only a link or a refusal in words comes out."""

import dataclasses
import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import embtie_widgets.requests
from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import BottleneckTrialsRequest, CenteringRequest, CorpusRef, ModelRef
from embtie_widgets.requests import centering as centering_module
from embtie_widgets.requests import trials as trials_module
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.requests.link import LENGTH_LIMIT, TOKEN_LIMIT, Link, decode, encode
from embtie_widgets.requests.reading import request_key

ODD = (
    "a b&c=%é#?.npy", "a,b;c", "100%2C", "<img src=x onerror=alert(1)>", "$x$ %{y}", "../../etc",
    "名前/模型", "e\u0301", "x" * 1_000, "None", "nan", "true", "0", "step=loss,b=a%", "a=b",
)  # fmt: skip
WHOLES = (0, 1, 2, 3, 5, 10, 64, 300, 4_096, 10**6, 2**31 - 1)
NUMBERS = (0.0, 1e-8, 1e-4, 0.1, 1 / 3, 0.5, 0.9, 2.0, 30.0, 1e5, 1e300)
HOSTILE = (
    "", "-1", "nan", "inf", "-inf", "1e999", "9" * 5_000, "0x10", "1_0", "١٢", "true", "False",
    "\x00", "%00", "%252e%252e%252f", "\u202e", "\u2028", "../" * 40, "file:///etc/passwd",
    "<script>alert(1)</script>", "{{7*7}}", "__class__", "[" * 3_000, '{"a":' * 500, "," * 3_000,
    ".".join(map(str, range(200))), "None", "\ud7ff", "x" * LENGTH_LIMIT,
)  # fmt: skip
# What fails is short enough to read as it is; to look for a shorter one takes minutes.
quick = settings(
    deadline=None,
    max_examples=50,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def _words() -> Iterator[str]:
    """Every word that a request may choose, from the lists that stand in their modules."""
    for module in pkgutil.iter_modules(embtie_widgets.requests.__path__):
        for value in vars(import_module(f"embtie_widgets.requests.{module.name}")).values():
            if isinstance(value, tuple):
                yield from (one for one in value if isinstance(one, str))


WORDS = tuple(dict.fromkeys(_words()))
REFERENCES = {
    ModelRef: (
        *map(ModelRef, (*ODD, "EleutherAI/pythia-70m")),
        ModelRef("a", revision="step1,000&b=%25"),
        ModelRef("e.npy", output_file="u=+é.npy", tokens_file="t.json", treat_as_tied=True),
    ),
    CorpusRef: (
        *map(CorpusRef, (*ODD, "datasets:wiki:en")),
        CorpusRef(column="content", limit_mb=5),
        CorpusRef("x.jsonl", split="test[:1%]"),
    ),
}


def _candidates(usual: Any) -> tuple[Any, ...]:
    """Values of the kind that a field has; many of them the field will refuse."""
    if usual is None:
        return (None, *REFERENCES[ModelRef])
    for known, values in REFERENCES.items():
        if isinstance(usual, known):
            return values
    if isinstance(usual, bool):
        return (True, False)
    if isinstance(usual, int):
        return WHOLES
    if isinstance(usual, float):
        return NUMBERS
    if isinstance(usual, str):
        return (*WORDS, *ODD, "", "two\nlines\tand a tab", '{"a":["<b>",1e-5]}')
    one = [(value,) for value in (*WORDS, *ODD, *WHOLES, *NUMBERS)]
    return (*one, (), ("of step 1", "a,b"), ("nano=1", "b=c,d"), WHOLES[1:4], NUMBERS[2:5])


def _base(kind: str) -> Any:
    """The usual request, with a file where there is a field for one: some sources ask for it."""
    known = KINDS[kind].request
    named = {field.name for field in dataclasses.fields(known)}
    return known(**({"file": "runs/a b.csv"} if "file" in named else {}))


def _accepted(base: Any, name: str) -> list[Any]:
    """Those of them that the request takes, all else being usual."""
    found = []
    for value in _candidates(getattr(base, name)):
        try:
            dataclasses.replace(base, **{name: value})
        except EmbtieError:
            continue
        found.append(value)
    return found


@cache
def _requests(kind: str) -> st.SearchStrategy[Any]:
    base = _base(kind)
    each = {f.name: _accepted(base, f.name) for f in dataclasses.fields(base)}
    assert [name for name, some in each.items() if set(some) <= {getattr(base, name)}] == []
    pools = {name: st.sampled_from(values) for name, values in each.items()}
    return st.fixed_dictionaries({}, optional=pools).map(lambda some: (base, some))


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(data=st.data())
def test_every_valid_request_comes_back_from_its_link(kind: str, data: st.DataObject) -> None:
    base, changes = data.draw(_requests(kind))
    tokens = data.draw(st.frozensets(st.integers(0, 10**9), max_size=TOKEN_LIMIT))
    names = st.sampled_from(["map", "of", "x y", "tokens"])
    view = data.draw(st.dictionaries(names, st.text(max_size=20)))
    try:
        request = dataclasses.replace(base, **changes)
        query = encode(request, tokens, view)
    except EmbtieError:
        assume(False)
        return
    if query:
        found = decode(query)
        assert found == Link(request, tokens, view)
        assert request_key(found.request) == request_key(request)
    else:
        assert (request, tokens, view) == (type(request)(), frozenset(), {})


NAMES = sorted(
    {field.name for kind in KINDS.values() for field in dataclasses.fields(kind.request)}
    | {"a.revision", "b.ref", "corpus.split", "model.what", "other.revision", "tokens", ".tokens"}
    | {"view.map", "view.", "shell", "__class__", "version", "", "kind", "embtie", "."}
)
PARTS = st.tuples(
    st.sampled_from(NAMES) | st.text(max_size=9),
    st.sampled_from((*HOSTILE, *ODD, *WORDS)) | st.text(max_size=30) | st.integers().map(str),
)


def _opens_or_says_why(query: str) -> None:
    try:
        found = decode(query)
    except EmbtieError as error:
        refused = error
    else:
        assert found is None or isinstance(found, Link)
        return
    assert refused.hint
    assert 0 < len(refused.message) < 1_500
    assert refused.message.isprintable()


@settings(quick, max_examples=300)
@given(
    version=st.sampled_from(["1", "0", "2", "-1", "", "1.0", "9" * 30, "\uff11"]),
    kind=st.sampled_from([*KINDS, "", "Align", "align ", "../align"]),
    parts=st.lists(PARTS, max_size=8),
)
def test_no_field_of_a_link_gives_anything_but_a_link_or_a_refusal(
    version: str, kind: str, parts: list[tuple[str, str]]
) -> None:
    head = [("embtie", version), ("kind", kind)]
    _opens_or_says_why(urlencode(head + parts, errors="surrogatepass"))


@settings(quick, max_examples=300)
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_no_text_behind_the_question_mark_does(text: str) -> None:
    _opens_or_says_why(text)
    _opens_or_says_why(f"embtie=1&kind=align&{text}")


MANY = tuple(range(2, 18))


@pytest.mark.parametrize(
    ("module", "made", "kind", "changes"),
    [
        (
            trials_module, "Trial", BottleneckTrialsRequest,
            {"experiment": "spamlang", "symbols": MANY, "widths": MANY, "lengths": MANY,
             "extra": MANY, "seeds": MANY, "rates": tuple(n / 100 for n in MANY)},
        ),
        (
            centering_module, "Cell", CenteringRequest,
            {"rates": tuple(n / 100 for n in MANY), "coefficients": tuple(n / 9 for n in MANY),
             "seeds": MANY, "tying": ("tied", "untied"), "sizes": ("micro", "nano")},
        ),
    ],
    ids=["trials", "centering"],
)  # fmt: skip
def test_runs_without_end_are_counted_before_any_is_made(
    module: Any, made: str, kind: Any, changes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_given: Any) -> None:
        pytest.fail("a run of a request that is refused was made")

    monkeypatch.setattr(module, made, none)
    with pytest.raises(EmbtieError, match=r"has [0-9,]+ runs; at most"):
        kind(**changes)
