import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TOP_LEVEL = {
    "notebooks",
    "embtie_widgets",
    "environment.yml",
    "tests",
    "README.md",
    "pyproject.toml",
    "LICENSE",
    "CITATION.cff",
}
# Written in pieces, so that this file does not find itself; "somebody" is a made-up user.
MACHINE_PATHS = re.compile(
    "|".join(["/" + part for part in ("work/", "root/", r"home/(?!somebody)\w", r"Users/\w")])
)


def tracked_files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listing.returncode != 0:
        pytest.skip("this is not a git checkout")
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def texts() -> Iterator[tuple[Path, str]]:
    for path in tracked_files():
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def test_the_top_level_holds_only_what_belongs_there() -> None:
    visible = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert visible <= TOP_LEVEL


def test_everything_that_belongs_at_the_top_level_is_there() -> None:
    assert all((ROOT / name).exists() for name in TOP_LEVEL)


def test_the_license_is_apache_2() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_no_file_mentions_a_machine() -> None:
    found = [
        (path.name, match[0]) for path, text in texts() if (match := MACHINE_PATHS.search(text))
    ]
    assert not found


def test_notebooks_store_no_output_and_say_how_to_start() -> None:
    notebooks = [path for path in tracked_files() if path.suffix == ".ipynb"]
    assert notebooks
    for path in notebooks:
        notebook = json.loads(path.read_text())
        assert "widgets" not in notebook["metadata"], path.name
        words = "".join(map("".join, (cell["source"] for cell in notebook["cells"])))
        assert "Run to start the app" in words, path.name
        for cell in notebook["cells"]:
            assert not cell.get("outputs"), path.name
            assert cell.get("execution_count") is None, path.name
