"""Wrong tokens are bounded by address, and the right one is looked at again after a short wait."""

import logging

import pytest

from embtie_widgets.app import attempts
from embtie_widgets.app.attempts import AGAIN_SECONDS, AT_ONCE, Attempts


class Tries:
    """Attempts, whose time passes when told."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.known = Attempts(lambda: self.now)

    def guess(self, address: str, times: int = 1) -> None:
        for _ in range(times):
            self.known.failed(address)


def test_a_few_are_free_and_then_each_has_to_be_waited_for() -> None:
    tries = Tries()
    tries.guess("192.0.2.7", AT_ONCE - 1)
    assert tries.known.wait("192.0.2.7") == 0
    tries.guess("192.0.2.7")
    assert tries.known.wait("192.0.2.7") == AGAIN_SECONDS
    assert tries.known.wait("192.0.2.8") == 0
    tries.now += AGAIN_SECONDS
    assert tries.known.wait("192.0.2.7") == 0
    tries.guess("192.0.2.7")
    assert tries.known.wait("192.0.2.7") == AGAIN_SECONDS


def test_all_are_forgotten_in_the_end() -> None:
    tries = Tries()
    tries.guess("192.0.2.7", AT_ONCE)
    tries.now += AT_ONCE * AGAIN_SECONDS
    tries.guess("192.0.2.7", AT_ONCE - 1)
    assert tries.known.wait("192.0.2.7") == 0


def test_a_network_that_one_reader_has_all_of_is_one_address() -> None:
    tries = Tries()
    for number in range(AT_ONCE):
        tries.guess(f"2001:db8::{number:x}")
    assert tries.known.wait("2001:db8::ffff") > 0
    assert tries.known.wait("2001:db8:0:1::1") == 0


def test_no_more_addresses_are_remembered_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attempts, "_ADDRESSES", 5)
    tries = Tries()
    for number in range(50):
        tries.guess(f"192.0.2.{number}")
    assert len(tries.known) == 5


def test_the_log_says_from_where(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "embtie")
    Tries().guess("192.0.2.7", AT_ONCE - 1)
    assert not caplog.records
    Tries().guess("192.0.2.7", AT_ONCE)
    assert [record.address for record in caplog.records] == ["192.0.2.7"]  # type: ignore[attr-defined]
