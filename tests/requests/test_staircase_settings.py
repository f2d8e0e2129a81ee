"""The ready settings of toy tasks: each is a request that can be made and sent."""

import pytest

from embtie_widgets.requests.link import Link, bare, decode, encode
from embtie_widgets.requests.staircase import StaircaseRequest
from embtie_widgets.requests.staircase_settings import SETTINGS

REQUESTS = {name: StaircaseRequest(**fields) for name, (fields, _words) in SETTINGS.items()}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_setting_travels_in_a_link(name: str) -> None:
    request = REQUESTS[name]
    assert decode(encode(request) or bare(request)) == Link(request)


def test_settings_differ_and_the_first_is_what_the_panel_opens_with() -> None:
    assert next(iter(REQUESTS.values())) == StaircaseRequest()
    assert len(set(REQUESTS.values())) == len(REQUESTS)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_setting_names_only_what_it_changes(name: str) -> None:
    fields, words = SETTINGS[name]
    plain = StaircaseRequest()
    assert all(getattr(REQUESTS[name], field) != getattr(plain, field) for field in fields)
    assert words.endswith(".")
