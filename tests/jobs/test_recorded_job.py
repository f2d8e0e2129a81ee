"""Recorded files as results: the paper's figures from its released logs, and what may be
opened."""

from pathlib import Path

import numpy as np
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.recorded import (
    look_into,
    look_into_run,
    recorded_drift,
    recorded_flow,
    recorded_path,
)
from embtie_widgets.jobs.uploads import TABLE, keep_upload
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.training.run_store import RunStore

# The output's share after one step and to another.
SHARES = {
    (0, 50): 0.917,
    (0, 100): 0.902,
    (100, 200): 0.825,
    (200, 500): 0.718,
    (500, 1_000): 0.630,
    (0, 1_000): 0.703,
    (1_000, 2_000): 0.614,
    (2_000, 5_000): 0.631,
    (5_000, 10_000): 0.629,
}


def test_the_papers_log_has_its_shares_and_ratios(shared: Path) -> None:
    run, read = recorded_flow(shared / "data" / "olmo1b_gradient_provenance.csv")
    shares = {(share["first"], share["last"]): share for share in run.about["shares"]}
    assert {ends: round(share["share"], 3) for ends, share in shares.items()} == SHARES
    first = shares[0, 1_000]
    assert first["share"] == pytest.approx(0.7033, abs=5e-5)
    assert first["ratio"] == pytest.approx(3.248, abs=5e-4)
    assert first["median_ratio"] == pytest.approx(2.073, abs=5e-4)
    assert first["smoothed"] == pytest.approx(0.711, abs=5e-4)
    assert first["smoothed_range"] == pytest.approx((0.59, 0.93), abs=0.005)
    assert first["proxy"]
    assert run.curves["proxy_share"][0] == pytest.approx(0.72, abs=0.005)
    norms = [(run.curves[name][step - 1]) for step in (50, 1_000) for name in ("proxy_norm",)]
    assert norms == pytest.approx([0.015, 0.026], abs=5e-4)
    assert (run.tied, run.knows("input_norm")) == (True, False)
    assert len(read.sha256) == 64


def test_a_drift_series_is_a_drift_with_its_distances(shared: Path) -> None:
    drift, read = recorded_drift(shared / "data" / "evolution_pythia-1b.json")
    assert drift.since.tolist() == [0] + [1_000] * 15
    assert drift.settings["model"] == read.model == "EleutherAI/pythia-1b"
    # Late in the run the input changes faster than the output.
    assert drift.input_to_previous[-1] < drift.output_to_previous[-1]
    assert "input 0.320, output 0.210" in repr(drift)
    assert from_bytes(to_bytes(drift)).settings == drift.settings


def test_a_mapped_drift_lacks_what_the_file_lacks(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("when,turn\nstep20,0.5\nstep0,1\n")
    columns = {"step": "when", "output_to_first": "turn"}
    drift, _ = recorded_drift(path, columns)
    assert drift.output_to_first.tolist() == [1, 0.5]
    assert np.isnan(drift.input_to_first).all()
    assert (drift.since.tolist(), drift.names) == ([0, 20], ("step0", "step20"))
    assert drift.settings["columns"] == columns


def test_a_visitor_opens_uploads_and_what_is_laid_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    RunStore.create(folder / "mine", name="tied", tied=True, of=300)
    for path in (folder / "a.csv", tmp_path / "secret.csv"):
        path.write_text("step,grad_out\n1,2\n")
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    monkeypatch.setenv("EMBTIE_RUNS", str(folder))
    assert look_into("a.csv", "gradient").height == 1
    assert look_into_run("mine") == "The run 'tied': 0 of 300 steps, running."
    RunStore.create(folder / "twins" / "a", name="tied", tied=True, of=None)
    RunStore.create(folder / "twins" / "b", name="untied", tied=False, of=None)
    both = "The run 'a': 0 steps, running. The run 'b': 0 steps, running."
    assert look_into_run("twins") == both
    uploaded = keep_upload(TABLE, b"step,grad_out\n1,2\n2,3\n", "b.csv")
    assert look_into(uploaded, "gradient").height == 2
    for name in ("../secret.csv", str(tmp_path / "secret.csv"), "gone"):
        with pytest.raises(EmbtieError, match="none called"):
            recorded_path(name)
        with pytest.raises(EmbtieError, match="none called"):
            look_into_run(name)
