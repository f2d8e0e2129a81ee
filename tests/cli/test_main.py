import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from embtie_widgets.app.settings import ServeSettings
from embtie_widgets.app.variables import variable
from embtie_widgets.cli import main
from embtie_widgets.errors import Cancelled, EmbtieError

COMMAND = Path(sys.executable).with_name("embtie")


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the serve command end in this error."""

    def fail(_arguments: object) -> int:
        raise error

    monkeypatch.setattr("embtie_widgets.cli.arguments.serve", fail)


def test_the_installed_command_says_its_version() -> None:
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()[0], done.stderr) == (0, "embtie", "")


def test_the_installed_command_says_one_sentence_about_a_missing_request() -> None:
    done = subprocess.run(
        [COMMAND, "run", "nowhere.json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "There is no file 'nowhere.json' there." in done.stderr
    assert "Traceback" not in done.stderr


def _served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ServeSettings, bool]]:
    """What would be served, and whether it is the lessons; nothing is said around it."""
    for field in fields(ServeSettings):
        monkeypatch.delenv(variable(field.name), raising=False)
    seen: list[tuple[ServeSettings, bool]] = []
    monkeypatch.setattr(
        "embtie_widgets.app.serve.serve",
        lambda known, *, lessons: seen.append((known, lessons)),
    )
    return seen


def test_without_a_command_the_dashboard_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _served(monkeypatch)
    assert main([]) == 0
    assert seen == [(ServeSettings(port=8866, host="127.0.0.1"), False)]


def test_lessons_have_a_port_beside_the_dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _served(monkeypatch)
    assert main(["lessons"]) == 0
    assert seen == [(ServeSettings(port=8867), True)]


@pytest.mark.parametrize("command", [["serve"], [], ["lessons"]])
def test_serve_passes_on_what_was_typed_and_needs_no_name(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _served(monkeypatch)
    typed = ["--port", "9000", "--host", "0.0.0.0", "--no-browser", "--idle-minutes", "5"]
    assert main([*command, *typed]) == 0
    known = ServeSettings(port=9000, host="0.0.0.0", open_browser=False, idle_minutes=5)
    assert seen == [(known, command == ["lessons"])]


@pytest.mark.parametrize("port", ["65536", "-1", "8e3", "٣", "www"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", port]) == 2
    said = capsys.readouterr().err
    assert "embtie: the command line: port cannot be" in said
    assert "0 to 65535" in said


def test_a_fault_is_a_sentence_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(monkeypatch, EmbtieError("Port 8866 is taken.", "Give another one with --port."))
    assert main(["serve"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "embtie: Port 8866 is taken.",
        "        Give another one with --port.",
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Cancelled()])
def test_stopping_is_no_fault(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(monkeypatch, error)
    assert main(["serve"]) == 130
    assert capsys.readouterr().err == "embtie: stopped.\n"


def test_an_error_of_our_own_making_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["serve"])


def test_a_reader_that_leaves_early_is_no_fault() -> None:
    done = subprocess.run(
        f"'{COMMAND}' doctor | true; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
