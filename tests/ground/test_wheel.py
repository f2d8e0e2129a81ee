import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "embtie_widgets"
MIB = 2**20


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `pip install .` builds."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("embtie-*.whl"))


@pytest.fixture(scope="module")
def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def relative(paths: list[Path]) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in paths}


@pytest.mark.parametrize("pattern", ["*.py", "*.js", "*.css"])
def test_every_source_file_is_in_the_wheel(pattern: str, contents: set[str]) -> None:
    wanted = relative(list(PACKAGE.rglob(pattern)))
    assert wanted
    assert wanted <= contents


def test_the_bundled_pair_is_in_the_wheel(contents: set[str]) -> None:
    wanted = relative([path for path in (PACKAGE / "data").rglob("*") if path.is_file()])
    assert any(name.endswith("provenance.json") for name in wanted)
    assert wanted <= contents


def test_every_notebook_is_in_the_wheel(contents: set[str]) -> None:
    folder = ROOT / "notebooks"
    notebooks = {path.relative_to(folder).as_posix() for path in folder.rglob("[!.]*.ipynb")}
    assert "lessons/index.ipynb" in notebooks
    assert {f"embtie_widgets/app/notebooks/{name}" for name in notebooks} <= contents


def test_the_licence_is_in_the_wheel(contents: set[str]) -> None:
    assert any(name.endswith("/licenses/LICENSE") for name in contents)


def test_nothing_but_the_package_is_in_the_wheel(contents: set[str]) -> None:
    assert {name.split("/")[0].split("-")[0] for name in contents} <= {"embtie_widgets", "embtie"}
    parts = {part for name in contents for part in name.split("/")}
    assert not [part for part in parts if part.startswith(".") or part == "__pycache__"]


def test_the_wheel_stays_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 28 * MIB
