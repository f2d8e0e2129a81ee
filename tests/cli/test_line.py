import io
import sys

import pytest

from embtie_widgets.cli.line import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine() as progress:
        for done in range(3):
            progress("reading", done, 2)
        progress("fitting", 0, 5)
        progress("fitting", 5, 5)
    return stream.getvalue()


def test_a_terminal_sees_each_stage_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal())
    assert "reading" in text
    assert "fitting" in text
    assert "\n" not in text


def test_the_line_is_wiped_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, blank, end = shown(monkeypatch, Terminal()).split("\r")
    assert (blank.strip(), end) == ("", "")


def test_stages_as_lines_are_written_once_each_also_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with ProgressLine(lines=True) as progress:
        for done in range(3):
            progress("reading", done, 2)
        progress("fitting", 0, 5)
    assert capsys.readouterr().out == "Reading\nFitting\n"


def test_a_file_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO()) == ""
