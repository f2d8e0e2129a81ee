import subprocess
import sys
from pathlib import Path

import pytest

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


def test_without_a_command_the_dashboard_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}
    monkeypatch.setattr("embtie_widgets.app.serve.serve", lambda **options: seen.update(options))
    assert main([]) == 0
    where = {"port": 8866, "host": "127.0.0.1"}
    assert seen == {**where, "open_browser": True, "idle_minutes": 20, "lessons": False}


def test_lessons_have_a_port_beside_the_dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}
    monkeypatch.setattr("embtie_widgets.app.serve.serve", lambda **options: seen.update(options))
    assert main(["lessons"]) == 0
    assert (seen["port"], seen["lessons"]) == (8867, True)


@pytest.mark.parametrize("command", [["serve"], [], ["lessons"]])
def test_serve_passes_on_what_was_typed_and_needs_no_name(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, object] = {}
    monkeypatch.setattr("embtie_widgets.app.serve.serve", lambda **options: seen.update(options))
    typed = ["--port", "9000", "--host", "0.0.0.0", "--no-browser", "--idle-minutes", "5"]
    assert main([*command, *typed]) == 0
    lessons = command == ["lessons"]
    where = {"port": 9000, "host": "0.0.0.0"}
    assert seen == {**where, "open_browser": False, "idle_minutes": 5, "lessons": lessons}


@pytest.mark.parametrize("port", ["65536", "-1", "8e3", "٣", "www"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["serve", "--port", port])
    assert stop.value.code == 2
    assert "0 to 65535" in capsys.readouterr().err


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
