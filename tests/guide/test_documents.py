"""README, guides, handbook, notebooks: every link leads somewhere, every block of code runs."""

import doctest
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from embtie_widgets.cli.arguments import parse
from embtie_widgets.requests.reading import read_request

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "embtie_widgets" / "guide" / "handbook"
# Where the code of a page is run: here as a doctest, or by a test that sets up what it needs.
DOCTESTS = [ROOT / "README.md", HANDBOOK / "python.md"]
RUN_ELSEWHERE = {
    "recording.md": "tests/training/test_recorder_handbook.py",
    "CONTRIBUTING.md": "tests/guide/test_contributing.py",
    "cluster.md": "tests/jobs/test_cluster_local.py",
    "serving.md": "tests/app/test_hub_sign_in.py",
}
KNOWN_PLACES = (
    "https://arxiv.org/abs/",
    "https://github.com/",
    "https://huggingface.co/",
    "https://papermill.readthedocs.io",
)


def tracked(*endings: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("this is not a git checkout")
    named = (ROOT / name for name in listed.stdout.split("\0"))
    return [path for path in named if path.suffix in endings and path.is_file()]


def prose(path: Path) -> str:
    """The text of a page; of a notebook its markdown cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def links(text: str) -> list[str]:
    """What a page points to, outside of code."""
    plain = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return re.findall(r"\]\(([^()\s]+)\)", plain)


def anchors(text: str) -> set[str]:
    """The names that headings can be reached by."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", prose(path), re.DOTALL | re.MULTILINE)


def test_every_link_to_a_file_leads_to_one() -> None:
    broken, seen = [], 0
    for path in tracked(".md", ".ipynb"):
        for link in links(prose(path)):
            target, _, anchor = link.partition("#")
            if "://" in target:
                continue
            seen += 1
            there = (path.parent / target).resolve() if target else path
            if not there.exists() or (anchor and anchor not in anchors(prose(there))):
                broken.append((path.name, link))
    assert seen > 50
    assert broken == []


def test_links_to_the_web_are_to_known_places() -> None:
    pages = tracked(".md", ".ipynb")
    told = {link for path in pages for link in links(prose(path)) if "://" in link}
    assert told
    assert [link for link in told if not link.startswith(KNOWN_PLACES)] == []


@pytest.mark.parametrize("path", DOCTESTS, ids=lambda path: path.name)
def test_the_python_of_a_page_prints_what_the_page_says(path: Path) -> None:
    failed, tried = doctest.testfile(
        str(path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert tried
    assert not failed


def test_every_block_of_python_is_run_somewhere() -> None:
    for path in tracked(".md"):
        for block in blocks(path, "python"):
            if block.startswith(">>> "):
                assert path in DOCTESTS, path.name
            else:
                compile(block, path.name, "exec")
                assert (ROOT / RUN_ELSEWHERE[path.name]).is_file()


def test_every_request_on_a_page_can_be_read() -> None:
    found = [(path, block) for path in tracked(".md") for block in blocks(path, "json")]
    assert found
    for _path, block in found:
        read_request(json.loads(block))


def test_every_command_on_a_page_can_be_typed() -> None:
    typed = 0
    for path in tracked(".md"):
        for line in "".join(blocks(path, "bash")).splitlines():
            command = shlex.split(line.replace(".venv/bin/", ""), comments=True)
            if command[:1] == ["embtie"]:
                parse(command[1:])
                typed += 1
    assert typed > 8


def test_the_readme_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["no-such-command"])
    commands = re.findall(r"'([\w-]+)'", capsys.readouterr().err.partition("choose from")[2])
    assert "serve" in commands
    listed = "".join(blocks(ROOT / "README.md", "bash"))
    assert [name for name in commands if f"embtie {name} " not in listed] == ["serve"]
