import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def readme_commands() -> list[str]:
    """The two lines of the README that do everything on a fresh machine."""
    return re.findall(r"^python3 -m venv .*$", (ROOT / "README.md").read_text(), re.MULTILINE)


def steps(command: str) -> list[str]:
    return command.split(" && ")


def test_the_readme_has_one_line_to_serve_and_one_to_test() -> None:
    serve, check = map(steps, readme_commands())
    assert serve[-1].endswith("/bin/embtie")
    assert check[-1].endswith("/bin/pytest")


def test_each_line_makes_and_uses_its_own_environment() -> None:
    folders = []
    for command in readme_commands():
        make, *rest = steps(command)
        folders.append(make.removeprefix("python3 -m venv "))
        assert all(step.startswith(f"{folders[-1]}/bin/") for step in rest)
    assert len(set(folders)) == 2


def test_ci_runs_the_line_of_the_readme_last() -> None:
    plan = subprocess.run(
        ["bash", ".ci/run", "--plan"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    _, check = readme_commands()
    places = [plan.index(step) for step in steps(check)]
    assert places == sorted(places)
    assert places[-1] == len(plan) - 1
