"""Three visitors at once, who do what twenty do in `soak.py`; nothing is timed here."""

import argparse
from pathlib import Path

from tests.aside import awaited
from tests.browser.servers import running
from tests.load import soak

_KEEP = 2.0
_PATIENCE = 60.0


def test_everybody_is_served_and_nothing_is_left_over(tmp_path: Path) -> None:
    asked = argparse.Namespace(visitors=3, browsers=0, minutes=0.0)
    told = {"EMBTIE_CACHE": str(tmp_path / "cache")}
    with running(tmp_path, told=told, keep_seconds=_KEEP, ready=1) as server:
        tally = awaited(soak.soak(server, asked))
        left = awaited(soak.left_over(server, _PATIENCE, 1))
    assert not tally.faults
    assert len(tally.pages) == 3
    steps = {"map": len(soak.MAPS), "lasso": len(soak.MAPS), "tab": len(soak.TABS)}
    assert {name: len(times) for name, times in tally.acts.items()} == {
        name: 3 * count for name, count in steps.items()
    }
    assert left == 0
