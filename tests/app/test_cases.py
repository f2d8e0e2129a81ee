"""People's reports, each asked of the panels as in the kernel of a public page, and what they say;
tests/browser/test_cases_page.py asks the same of the page itself."""

import html
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embtie_widgets.app.dashboard import TABS
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.requests.link import decode
from embtie_widgets.sources.permission import MODELS, PUBLIC, SERVED
from tests.app import case_numbers
from tests.app.case_models import RAN, write_cases
from tests.app.case_table import (
    ALIGNED,
    FAMILY,
    LINKED,
    REFUSED,
    WORDS,
    aligned,
    answers,
    private,
    query,
)


@pytest.fixture(scope="module", autouse=True)
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A kernel that works for strangers, with the models of all cases laid out."""
    folder = tmp_path_factory.mktemp("cases")
    write_cases(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ((SERVED, "1"), (PUBLIC, "1"), (MODELS, str(folder))):
            patch.setenv(name, value)
        yield folder


def _texts(widget: Any) -> Iterator[str]:
    value = getattr(widget, "value", "")
    if isinstance(value, str) and "<style>" not in value:
        yield html.unescape(re.sub(r"<[^>]+>", " ", value))
    for child in getattr(widget, "children", ()):
        yield from _texts(child)


def _panel(asked: dict[str, Any]) -> Any:
    """The panel of a link, run."""
    link = decode(query(asked))
    assert link is not None
    panel = next(tab for tab in TABS if tab.kind == link.request.kind).make(request=link.request)
    with suppress(EmbtieError):  # the panel has told it
        panel.run()
    assert not RAN.exists()
    return panel


def _said(panel: Any) -> str:
    """All that it says, on one line."""
    said = re.sub(r"\s+", " ", " ".join([*_texts(panel), panel.notice.words]))
    assert not private(said)
    return said


@pytest.mark.parametrize("case", ALIGNED)
def test_a_pair_that_people_had_trouble_with_is_answered_as_it_should_be(case: str) -> None:
    a, b, told = ALIGNED[case]
    said = _said(_panel(aligned(a, b)))
    models = "" if case in REFUSED else f"A: {a} B: {b or a} "
    assert answers(said, told, models), said


@pytest.mark.parametrize("name", FAMILY)
def test_every_family_is_found_and_its_status_told(name: str) -> None:
    """C008."""
    status = FAMILY[name]
    said = _said(_panel(aligned(f"c008-{name}", "")))
    assert re.search(rf"as stored {status} {status} .*32 × 8", said), said


@pytest.mark.parametrize("case", LINKED)
def test_a_link_to_a_case_says_what_is_right(case: str) -> None:
    asked, told = LINKED[case]
    assert re.search(told, said := _said(_panel(asked))), said


def test_half_precision_gives_the_numbers_of_its_stored_values(public: Path) -> None:
    """C020."""
    panel = _panel(aligned("c020-bfloat16", ""))
    table = csv_bytes(panel.request, panel.result)
    found = case_numbers.column(table, "In->Out")
    assert np.allclose(found, case_numbers.cosines(public / "c020-bfloat16"), rtol=0, atol=1e-6)


def test_one_control_leaves_out_added_rows_and_the_counts_change(public: Path) -> None:
    """C013."""
    panel = _panel(aligned("c013-grown", ""))
    assert re.search(r"n = 40 tokens.* 40 0 0 0 0 0 .*“leave out rows that copy", _said(panel))
    panel.without_copies.value = True
    panel.run()
    told = r"n = 32 tokens.* left out in A left out in B 32 0 0 0 0 0 8 8 .*8 of 40 common tokens"
    assert re.search(told, said := _said(panel)), said
    found = case_numbers.column(csv_bytes(panel.request, panel.result), "In->Out")
    anew = case_numbers.cosines(public / "c013-grown", 32)
    assert np.allclose(found, anew, rtol=0, atol=1e-5)


@pytest.mark.parametrize("case", ["C030", "C032"])
def test_the_lens_counts_factor_and_bias_as_the_model_does(public: Path, case: str) -> None:
    asked, _ = LINKED[case]
    panel = _panel(asked)
    table = csv_bytes(panel.request, panel.result)
    for name in (asked["a"], asked["b"]):
        found = case_numbers.column(table, "kl_bits", model=name)
        anew = case_numbers.divergences(public / name, WORDS)
        assert np.allclose(found, anew, rtol=1e-4, atol=1e-6)
