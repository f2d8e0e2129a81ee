import ast
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rattler import MatchSpec

ROOT = Path(__file__).parents[2]

# Needed, though no line of ours imports them: the dashboard is served by voila or JupyterLab, Dask
# makes certificates with cryptography, and the rest are tools that are run.
RUN_NOT_IMPORTED = {"cryptography", "jupyterlab", "voila"}
TOOLS = {
    "hatchling",
    "import-linter",
    "mypy",
    "pandas-stubs",
    "ruff",
    "types-psutil",
    "types-pyyaml",
    "types-tqdm",
}
CONDA_NAMES = {
    "torch": "pytorch",
    "huggingface-hub": "huggingface_hub",
    "jupyter-server": "jupyter_server",
}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def named(lines: list[str]) -> dict[str, Requirement]:
    return {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines}


def needs() -> dict[str, Requirement]:
    return named(project()["dependencies"])


def extra(name: str = "test") -> dict[str, Requirement]:
    return named(project()["optional-dependencies"][name])


def imported_packages(folder: str) -> set[str]:
    """The distributions that the code under the folder imports, ours left out."""
    modules = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules.add(node.module.split(".")[0])
    modules -= set(sys.stdlib_module_names) | {"embtie_widgets", "tests"}
    homes = metadata.packages_distributions()
    return {canonicalize_name(homes[module][0]) for module in modules}


def test_every_import_of_the_package_is_declared() -> None:
    optional = set(extra("corpora")) | set(extra("evaluate")) | set(extra("hub"))
    assert imported_packages("embtie_widgets") <= set(needs()) | optional


@pytest.mark.parametrize("name", ["corpora", "evaluate", "hub"])
def test_what_can_be_done_without_is_used_and_tested(name: str) -> None:
    assert set(extra(name)) <= imported_packages("embtie_widgets")
    assert set(extra(name)) <= set(extra())


def test_every_import_of_the_tests_is_declared() -> None:
    assert imported_packages("tests") <= set(needs()) | set(extra())


def test_every_declared_need_is_used() -> None:
    assert set(needs()) - RUN_NOT_IMPORTED <= imported_packages("embtie_widgets")


def test_every_test_need_is_used() -> None:
    by_the_package = set(extra("corpora")) | set(extra("hub"))
    assert set(extra()) - by_the_package - TOOLS <= imported_packages("tests")


def environment() -> list[str]:
    value = yaml.safe_load((ROOT / "environment.yml").read_text())
    return [line for line in value["dependencies"] if isinstance(line, str)]


def test_conda_gets_the_same_packages_in_the_same_ranges() -> None:
    python = Requirement(f"python{project()['requires-python']}")
    wanted = {CONDA_NAMES.get(name, name): need.specifier for name, need in needs().items()}
    wanted |= {"python": python.specifier, "pip": Requirement("pip").specifier}
    given = {need.name: need.specifier for need in map(Requirement, environment())}
    assert given == wanted


@pytest.mark.parametrize("line", environment())
def test_conda_can_read_each_line(line: str) -> None:
    assert MatchSpec(line).name.normalized == Requirement(line).name.lower()


def test_conda_leaves_to_pip_only_the_project_itself() -> None:
    value = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert [part["pip"] for part in value["dependencies"] if isinstance(part, dict)] == [
        ["-e .[test]"]
    ]
