"""What a researcher sees who prints a result: its numbers, and none of its arrays."""

from dataclasses import replace
from pathlib import Path

import embtie_widgets as ew
from embtie_widgets.results import CheckpointReport, ParameterReport, Parameters
from embtie_widgets.results.checkpoints import LOADED, SKIPPED, Checkpoint, SameBytes
from embtie_widgets.results.families import FamilyTable, SupportedFamily
from embtie_widgets.training.twins import Twins
from tests.sample_results import pair_result

COUNTED = Parameters(10_000, 8_000, 2_000, 4_000, 0.4, settings={"model": {"name": "a/b"}})


def test_an_alignment_prints_its_mean_between_what_unseen_rows_and_chance_reach() -> None:
    one = replace(
        pair_result().comparisons["In->Out"], mean=0.25, interval=(0.24, 0.27), heldout_mean=0.2
    )
    assert repr(one) == (
        "Alignment(linear map, 299 tokens, mean 0.2500 [0.2400, 0.2700], held-out 0.2000, "
        "floor 0.1700)"
    )
    bare = replace(one, heldout_mean=None, floor_mean=None)
    assert repr(bare).endswith("mean 0.2500 [0.2400, 0.2700])")


def test_a_pair_prints_one_line_a_comparison() -> None:
    first, *lines = repr(pair_result()).splitlines()
    assert first == "PairAlignment('nano-untied' with 'nano-tied', 300 common tokens)"
    assert [line.split()[0] for line in lines] == ["In->Out", "Out->Tied", "In->Tied"]
    for line, told in zip(lines, pair_result().summary(), strict=True):
        assert f"mean {told['mean']:.4f}" in line
        assert "floor 0.1700, 299 tokens" in line


def test_parameters_print_the_numbers() -> None:
    numbers = "untied 10,000, tied 8,000, tying saves 2,000; both matrices are 40.0% of the untied"
    assert repr(COUNTED) == f"Parameters('a/b', {numbers} form)"
    report = ParameterReport("a/b", COUNTED, {"x": COUNTED, "y": COUNTED}, (), {})
    assert repr(report) == f"ParameterReport('a/b', {numbers} form; 2 models beside it)"


def test_checkpoints_print_how_many_and_which_are_doubtful() -> None:
    rows = (Checkpoint("step0", state=LOADED), Checkpoint("step9"), Checkpoint("x", state=SKIPPED))
    same = (SameBytes(("input",), ("step0", "step9")),)
    assert repr(CheckpointReport("a/b", rows, same, (), {})) == (
        "CheckpointReport('a/b', 3 checkpoints from step0 to x: 1 loaded, 1 listed, 1 skipped, "
        "1 x the same bytes)"
    )
    assert repr(CheckpointReport("a/b", (), (), (), {})) == (
        "CheckpointReport('a/b', 0 checkpoints: none)"
    )


def test_a_series_prints_in_a_line() -> None:
    found = ew.load_series("nano-tied", ["step-000000", "step-000050"])
    assert repr(found) == "Series('nano-tied', step-000000 to step-000050, 2 loaded, 0 skipped)"


def test_the_families_print_their_number() -> None:
    rows = (
        SupportedFamily("a", "A", "e", tied_default=True, readout="exact"),
        SupportedFamily("b", "B", "e", tied_default=None, readout="exact"),
        SupportedFamily("c", "C", "e", tied_default=False),
    )
    assert repr(FamilyTable(rows)).startswith(
        "FamilyTable(3 families, 1 tied by default, 2 with an exact readout;"
    )


def test_twins_print_their_last_losses() -> None:
    metrics = [{"run": run, "loss": loss} for run in ("untied", "tied") for loss in (9.0, 4.25)]
    twins = Twins(tuple(metrics), {}, Path("x"), {}, {"steps": 1000}, {})
    assert repr(twins) == "Twins(1,000 steps, untied loss 4.2500, tied loss 4.2500)"
