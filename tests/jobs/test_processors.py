"""How threads that wait behave, by the environment that torch is loaded in."""

import os

import pytest

from embtie_widgets.jobs.processors import share_processors

NAMES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


def shared(monkeypatch: pytest.MonkeyPatch, **given: str) -> list[str | None]:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    share_processors()
    found = [os.environ.get(name) for name in NAMES]
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    return found


def test_threads_sleep_after_a_short_while(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, turns = shared(monkeypatch)
    assert policy == "PASSIVE"
    assert 0 < int(turns or 0) <= 100_000


def test_the_users_own_setting_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shared(monkeypatch, OMP_WAIT_POLICY="ACTIVE") == ["ACTIVE", None]
    assert shared(monkeypatch, GOMP_SPINCOUNT="5") == ["PASSIVE", "5"]
