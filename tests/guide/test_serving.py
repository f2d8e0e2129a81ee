"""The page on sharing: its settings are those there are."""

import json
import re
import tomllib
from dataclasses import Field, fields
from typing import Any

import pytest

from embtie_widgets.app.settings import ServeSettings, rule
from embtie_widgets.sources import bounds
from tests.guide.test_documents import HANDBOOK, blocks

PAGE = HANDBOOK / "serving.md"


def row(field: Field[Any]) -> str:
    """What the table says of a setting."""
    value = list(field.default) if isinstance(field.default, tuple) else field.default
    default = "" if value is None else f"`{json.dumps(value)}` "
    default = f"{default}{rule(field.name).unset}".strip()
    return f"| `{field.name}` | {default} | {rule(field.name).says} |"


def test_the_table_has_every_setting_with_its_default_and_what_it_is() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("| setting |")[2].partition("\n\n")[0]
    assert text.splitlines()[2:] == [row(field) for field in fields(ServeSettings)]


@pytest.mark.parametrize("block", blocks(PAGE, "toml"))
def test_a_file_of_settings_can_be_said_so(block: str) -> None:
    told = tomllib.loads(block)
    assert told
    for name, value in told.items():
        kind = type(getattr(ServeSettings(), name))
        given = tuple(value) if isinstance(value, list) else value
        assert isinstance(given, kind), name
        assert rule(name).good(given), name


def test_every_setting_that_is_named_is_one() -> None:
    text = PAGE.read_text(encoding="utf-8")
    names = {field.name for field in fields(ServeSettings)}
    assert set(re.findall(r"`(\w+) = ", text)) <= names
    variables = {name.lower() for name in re.findall(r"EMBTIE_(\w+)", text)}
    assert variables <= {*names, "config"}


def test_the_bounds_that_are_named_are_those_there_are() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for said in (
        f"a matrix of 2^{bounds.MATRIX_NUMBERS.bit_length() - 1} numbers",
        f"{bounds.FETCHED_BYTES // 10**9} GB of downloads",
        f"{bounds.MOST['drift']['steps']:,} steps of training",
        f"{bounds.MOST['evaluate']['letters']:,} letters of text",
    ):
        assert said in text
