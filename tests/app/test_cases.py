"""People's reports, each asked of the panels as in the kernel of a public page, and what they say.

The other cases are of what such a page cannot be asked, or have tests of their own: C043, C045,
C046 and C018 in tests/browser/test_both_hosts.py, C041 and C049 there and in those of the
notebooks, C048 in tests/load, C015, C017, C051 and C052 in tests/sources; C005, C025, C027, C029,
C037 and C038 are of measures, in tests/measures and tests/jobs.
"""

import html
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from embtie_widgets.app.dashboard import TABS
from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import AlignRequest, ModelRef
from embtie_widgets.requests.link import decode
from embtie_widgets.sources.permission import MODELS, PUBLIC, SERVED
from tests.app.case_models import MAKERS, RAN, write_cases
from tests.sources.test_families import FAMILIES

# Case: (model A, model B or the same, what the panel of alignment says).
ALIGNED = {
    "C001": ("c001-flag", "", r"untied.*The configuration says tied, but the files hold two diff"),
    "C003": ("c003-copies", "", r"256 \(512 stored\).*equal values, stored twice"),
    "C007": ("c007-nested", "", r"tied.*32 × 8"),
    "C010": ("c010-narrow", "", r"tied.*32 × 4"),
    "C011": ("c011-no-head", "", r"input only.*This checkpoint has no output matrix"),
    "C012a": ("c012-shard", "", r"head unavailable.*lacks the file model-\d+-of-\d+\.safetensors"),
    "C012c": ("c012-cut", "", r"model\.safetensors is cut short\. Download it again"),
    "C012d": ("c012-pointer", "", r"is a Git LFS pointer, not the weights"),
    "C012e": ("c012-empty", "", r"model\.safetensors is empty"),
    "C013a": ("c013-grown", "", r"In: rows 32 to 39 \(8\) are all but the mean row"),
    "C013b": ("c013-heights", "", r"40 × 8 \(output: 32 rows\).*only the first 32 are used"),
    "C014": ("c014-a", "c014-b", r"1\.000 \[1\.000, 1\.000\].*547 × 32.*560 × 32.*500 0 0 47 60 0"),
    "C020": ("c020-bfloat16", "", r"stored as bfloat16"),
    "C021": ("c021-nan", "", r"n = 198 tokens \(2 without value\)"),
    "C024": ("c024-few", "", r"Fewer tokens than dimensions: 8 usable rows for 16 columns"),
    "C053a": ("c053-olmo", "", r"tied.*60 0 0 4 4 0.*code of its own; it was not run.*-hf"),
    "C053c": ("c053-pickle", "", r"untied.*32 × 8"),
    "C053d": ("c053-command", "", r"holds more than tensors.*nothing in it was run"),
}
_REFUSED = {ALIGNED[case][2] for case in ("C012c", "C012d", "C012e", "C024", "C053d")}
FAMILY = {
    name: ("tied" if head == "tied" else "untied")
    for name, (_, _, head) in FAMILIES.items()
    if f"c008-{name}" in MAKERS
}
WORDS = " ".join(f"w{number % 32}" for number in range(3, 90, 2))
READ = {"kind": "lens", "lens": "logit", "length": "16", "text": WORDS}
# Case: (what the link asks, what its panel says).
LINKED = {
    "C010": ({**READ, "a": "c010-narrow", "b": "c030-cohere"}, r"c010-narrow.*32 × 4"),
    "C032": ({**READ, "a": "c032-bias", "b": "c033-gemma"}, r"own logits to within 0 and 0"),
    "C040": (
        {"kind": "checkpoints", "model": "c040-steps"},
        r"step0 0 .*step2 2 .*step512 512 .*step1000 1,000 ",
    ),
}


@pytest.fixture(scope="module", autouse=True)
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A kernel that works for strangers, with the models of all cases laid out."""
    folder: Path = tmp_path_factory.mktemp("cases")
    write_cases(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ((SERVED, "1"), (PUBLIC, "1"), (MODELS, str(folder))):
            patch.setenv(name, value)
        yield


def _texts(widget: Any) -> Iterator[str]:
    value = getattr(widget, "value", "")
    if isinstance(value, str) and "<style>" not in value:
        yield html.unescape(re.sub(r"<[^>]+>", " ", value))
    for child in getattr(widget, "children", ()):
        yield from _texts(child)


def _said(request: Any) -> str:
    """All that its panel says when it has been run, on one line."""
    panel = next(tab for tab in TABS if tab.kind == request.kind).make(request=request)
    with suppress(EmbtieError):  # the panel has told it
        panel.run()
    assert not RAN.exists()
    said = re.sub(r"\s+", " ", " ".join([*_texts(panel), panel.notice.words]))
    assert not re.search(r"/tmp|Traceback|went wrong", said)
    return said


@pytest.mark.parametrize("case", ALIGNED)
def test_a_pair_that_people_had_trouble_with_is_answered_as_it_should_be(case: str) -> None:
    a, b, told = ALIGNED[case]
    said = _said(AlignRequest(a=ModelRef(a), b=ModelRef(b or a)))
    assert re.search(told, said), said
    assert told in _REFUSED or f"A: {a} B: {b or a} " in said


@pytest.mark.parametrize("name", FAMILY)
def test_every_family_is_found_and_its_status_told(name: str) -> None:
    """C008."""
    status = FAMILY[name]
    said = _said(AlignRequest(a=ModelRef(f"c008-{name}"), b=ModelRef(f"c008-{name}")))
    assert re.search(rf"as stored {status} {status} .*32 × 8", said), said


@pytest.mark.parametrize("case", LINKED)
def test_a_link_to_a_case_says_what_is_right(case: str) -> None:
    asked, told = LINKED[case]
    link = decode(urlencode({"embtie": 1, **asked}))
    assert link is not None
    assert re.search(told, _said(link.request))
