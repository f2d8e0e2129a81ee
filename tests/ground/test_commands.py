import doctest
import re
import subprocess
from pathlib import Path

import pytest

from embtie_widgets.requests.kinds import KINDS

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


def test_the_python_of_the_readme_prints_what_the_readme_says() -> None:
    failed, tried = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert tried
    assert not failed


def fields_in_readme(kind: str) -> str:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (said,) = re.findall(rf"^\| `?{kind}`? \| (.*) \|$", readme, re.MULTILINE)
    return str(said)


@pytest.mark.parametrize("kind", KINDS)
def test_the_readme_names_every_field_of_a_request(kind: str) -> None:
    said = fields_in_readme(kind)
    if said.endswith("and those of a training"):
        said += fields_in_readme("a training")
    assert set(re.findall(r"`(\w+)`", said)) == set(KINDS[kind].request().to_dict())
