"""How embtie is to be cited, and the papers whose measures it implements."""

from pathlib import Path
from typing import Any

import yaml

import embtie_widgets as ew
from embtie_widgets import guide
from embtie_widgets.requests.kinds import KINDS

ROOT = Path(__file__).parents[2]


def citation() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8")))


def papers() -> list[str]:
    return [one["identifiers"][0]["value"] for one in citation()["references"]]


def test_it_is_the_citation_of_this_version() -> None:
    assert citation()["version"] == ew.__version__
    assert citation()["license"] == "Apache-2.0"


def test_every_paper_has_what_a_list_of_references_needs() -> None:
    for paper in citation()["references"]:
        assert paper["type"] == "article"
        assert paper["title"]
        assert paper["authors"]
        assert 2000 < paper["year"] < 2100
    assert len(set(papers())) == len(papers())


def test_every_guide_rests_on_a_paper_of_the_list() -> None:
    for kind in KINDS:
        told = guide.source(kind).partition("## Source")[2]
        assert any(paper in told for paper in papers()), kind


def test_the_readme_lists_the_papers_of_the_questions() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for paper in papers()[:4]:
        assert f"[{paper}](https://arxiv.org/abs/{paper.removeprefix('arXiv:')})" in readme
