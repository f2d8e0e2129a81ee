"""The speed of a comparison of geometries is learnt only from what was all done anew."""

from pathlib import Path

import numpy as np
import pytest

import embtie_widgets as ew
from embtie_widgets.jobs import estimate
from embtie_widgets.requests.geometry import GeometryRequest


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    """The seconds that were learnt from."""
    seconds: list[float] = []
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(estimate.experience, "took", lambda work, took: seconds.append(took))
    return seconds


def test_a_run_that_finds_lists_of_an_earlier_one_teaches_no_speed(
    told: list[float], tmp_path: Path
) -> None:
    random = np.random.default_rng(0)
    for name in ("a", "b", "c"):
        np.save(tmp_path / f"{name}.npy", random.normal(size=(60, 8)))
    models = {
        "a": {"ref": str(tmp_path / "a.npy"), "output_file": str(tmp_path / "b.npy")},
        "b": str(tmp_path / "c.npy"),
    }
    known = {"k": 5, "spectral_k": 6, "components": 4, "top": 3}
    ew.run(GeometryRequest(**models, **known))
    assert len(told) == 1
    ew.run(GeometryRequest(**models, **known | {"k": 4}))
    ew.run(GeometryRequest(**models, **known, sample=20))
    assert len(told) == 1
    ew.run(GeometryRequest(**models, **known | {"seed": 3}, center=True, spectral=False))
    assert len(told) == 2
