"""Fetching in advance is worth nothing where nothing can be kept."""

from pathlib import Path

import pytest

import embtie_widgets as ew
from embtie_widgets.jobs.fetch import fetch, plan
from embtie_widgets.requests import ModelRef
from tests.hub_server import hub_of
from tests.sources.models import llama, saved

REF = ModelRef("lab/model")


def test_a_cache_that_cannot_be_written_is_told_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "file"))
    with hub_of(monkeypatch, tmp_path / "home") as hub:
        hub.add(REF.ref, saved(llama(), tmp_path / "model"))
        with pytest.raises(ew.EmbtieError, match="nothing could be kept") as caught:
            plan(REF)
        assert "EMBTIE_CACHE" in caught.value.hint
        monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
        fetch(REF)
        assert plan(REF).moved == 0
