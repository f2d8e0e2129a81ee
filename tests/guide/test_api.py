"""The reference of public names: made from the docstrings, and up to date."""

import re

import pytest

import embtie_widgets as ew
from embtie_widgets.guide import api
from embtie_widgets.requests.kinds import KINDS

WRITTEN = api.PAGE.read_text(encoding="utf-8")


def entry(name: str) -> str:
    """What the page says of a name."""
    return WRITTEN.partition(f"\n### {name}")[2].partition("\n### ")[0]


def test_the_page_is_what_the_docstrings_give() -> None:
    assert api.reference() == WRITTEN, "run python -m embtie_widgets.guide.api"


@pytest.mark.parametrize("name", ew.__all__)
def test_every_public_name_has_an_entry_with_its_first_sentence(name: str) -> None:
    first = (getattr(ew, name).__doc__ or "").strip().split("\n")[0]
    assert first in entry(f"{name}\n") + entry(f"{name},")


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_request_is_listed(kind: str) -> None:
    request = KINDS[kind].request
    said = entry(f"{request.__name__}, kind `{kind}`")
    assert re.findall(r"^\| `(\w+)` \|", said, re.MULTILINE)
    assert set(re.findall(r"^\| `(\w+)` \|", said, re.MULTILINE)) == set(request().to_dict())


def test_nothing_changes_from_one_day_to_the_next() -> None:
    assert not re.search(r"0x[0-9a-f]{4}| object at ", WRITTEN)
