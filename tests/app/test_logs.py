import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from embtie_widgets.logs import FORMAT, scrubbed, write_log
from embtie_widgets.panels.guard import guard

KERNEL = "6bd8e312-1111-4222-8333-123456789abc"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    logs = [logging.getLogger(name) for name in ("embtie", None, "other")]
    before = [(log, log.handlers, log.propagate, log.level) for log in logs]
    yield
    logging.captureWarnings(False)
    for log, handlers, propagate, level in before:
        log.handlers, log.propagate = handlers, propagate
        log.setLevel(level)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("read /home/somebody/.cache/embtie/results/a.json", "read …/a.json"),
        (r"read C:\Users\ann\a.json", "read …/a.json"),
        ("'~/models/x'", "'…/x'"),
        ("GET /embtie/?embtie=kind%3Dalign: 500", "GET …/?… 500"),
        ("token=abc&x", "token=…&x"),
        ("Authorization: Bearer abc", "Authorization: …"),
        ("with hf_abcdefgh", "with …"),
        (f"kernel {KERNEL} died", "kernel 6bd8e312 died"),
        ("ipc:///tmp/voila_x/kernel-1", "ipc://…/kernel-1"),
        ("http://127.0.0.1:8866/embtie/", "http://127.0.0.1:8866/embtie/"),
        ("3 of 4 models/s, 1/2", "3 of 4 models/s, 1/2"),
    ],
)
def test_a_line_holds_nobodys_business(text: str, shown: str) -> None:
    assert scrubbed(text) == shown


def test_a_line_is_bounded_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    said = _said(monkeypatch, "json", lambda log: log.error("a\nb" + "x" * 10_000))
    assert len(said) == 1
    assert len(said[0]) < 1000


def test_an_event_is_an_object_with_what_is_known_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {
        "event": "job-ended",
        "kind": "align",
        "seconds": 1.5,
        "password": "x",
        "kernel": KERNEL,
    }
    (line,) = _said(monkeypatch, "json", lambda log: log.info("job ended", extra=told))
    known = json.loads(line)
    assert known.pop("time").endswith("+00:00")
    assert known == {
        "level": "info",
        "from": "embtie",
        "message": "job ended",
        "event": "job-ended",
        "kind": "align",
        "seconds": 1.5,
        "kernel": "6bd8e312",
    }


@pytest.mark.parametrize(("form", "says"), [("json", False), ("text", True)])
def test_a_fault_is_its_kind_and_whereabouts(
    form: str, says: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says is for a terminal, whose reader sees the machine anyway."""

    def fail(log: logging.Logger) -> None:
        try:
            guard(_careless, lambda *_: None)()
        except ValueError:
            log.exception("once more")

    said = "\n".join(_said(monkeypatch, form, fail))
    assert "a callback failed" in said
    assert "ValueError" in said
    assert "panels/guard.py, line" in said
    assert ("cannot read …/x" in said) is says
    for word in ("/home/somebody", "hf_abcdefgh", "Traceback", str(Path.cwd()), "site-packages"):
        assert word not in said


def _careless() -> None:
    raise ValueError("cannot read /home/somebody/x with hf_abcdefgh")


def test_words_are_of_what_went_wrong_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def say(log: logging.Logger) -> None:
        log.info("a job started")
        log.warning("a kernel ended: died")

    assert _said(monkeypatch, "text", say) == ["embtie: a kernel ended: died"]


def test_what_others_say_is_an_object_too_from_a_warning_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def say(_: logging.Logger) -> None:
        logging.getLogger("other").info("/home/somebody")
        logging.getLogger("other").warning("cannot read /home/somebody/x")

    (line,) = _said(monkeypatch, "json", say)
    assert json.loads(line)["from"] == "other"
    assert json.loads(line)["message"] == "cannot read …/x"


def _said(monkeypatch: pytest.MonkeyPatch, form: str, say) -> list[str]:
    monkeypatch.setenv(FORMAT, form)
    stream = io.StringIO()
    write_log(stream, [logging.getLogger("other")])
    say(logging.getLogger("embtie"))
    return stream.getvalue().splitlines()
