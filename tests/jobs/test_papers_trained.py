"""Paper tables on trainings that are not public: what chance reaches, and labelled stand-ins."""

import math
from pathlib import Path

import pytest
from huggingface_hub import constants

import embtie_widgets as ew
from embtie_widgets.jobs.first import first_result
from embtie_widgets.jobs.run import estimate
from embtie_widgets.requests import (
    BottleneckRequest,
    DriftRequest,
    GradientFlowRequest,
    LensRequest,
    NormFrequencyRequest,
    ScalingRequest,
)
from embtie_widgets.requests.papers import PaperTablesRequest
from tests.jobs.test_papers_recorded import by_place, made

FLOOR = 8 / (3 * math.pi) * math.sqrt(2_048 / 50_280)


def test_what_stands_at_chance_is_said_to_say_nothing() -> None:
    """Of table 6, the three cosines to the input; of table 2 none."""
    six = made("table-6", stand_in=False)
    assert {n.verdict for n in six.numbers} == {"print only"}
    assert all(n.floor == pytest.approx(FLOOR, abs=1e-6) for n in six.numbers)
    at_chance = [n for n in six.numbers if "is what chance reaches" in n.reason]
    assert [n.column for n in at_chance] == ["to the untied input"] * 3
    assert all(abs(float(n.printed) - FLOOR) < 0.002 for n in at_chance)
    two = by_place(made("table-2", stand_in=False))
    assert "0.045 above what chance reaches" in two["no scaling", "to the untied input"].reason
    assert not any("is what chance" in n.reason for n in two.values())


def test_scaling_stand_ins_are_the_twins_of_the_same_factor_and_no_other() -> None:
    report = first_result(ScalingRequest())
    runs = {run.factor: run for run in report.whole}
    assert set(runs) == {1.0, 5.0}
    two, six = by_place(made("table-2")), by_place(made("table-6"))
    for row, factor in (("no scaling", 1.0), ("input x5", 5.0)):
        for column, to in (("to the untied input", "input"), ("to the untied output", "output")):
            number, near = two[row, column], runs[factor].nearness[to]
            assert (number.value, number.floor) == (near.mean, near.floor)
            assert (number.verdict, number.origin) == ("stand-in", "stand-in")
            assert number.difference is None
            assert "twins trained here" in number.reason
    assert six["input x10", "to the untied output"].verdict == "print only"
    assert made("table-2").hashes == report.hashes


def test_scores_and_coupling_are_in_print_only_each_with_its_reason() -> None:
    seven = made("table-7")
    assert seven.count("print only") == len(seven.numbers) == 18
    assert "warmed up for 2,500 steps" in seven.numbers[0].reason
    assert by_place(seven)["BoolQ, accuracy", "input x5"].printed == ".548"
    coupling = made("table-coupling")
    assert coupling.count("print only") == len(coupling.numbers) == 20
    assert by_place(coupling)["TyDi QA F1", "decoupled"].ends == (58.1, 58.1)


def test_norms_stand_in_by_the_medians_of_the_bundled_pair() -> None:
    pair = first_result(NormFrequencyRequest())
    numbers = made("figure-5").numbers
    inside, tied = pair.matrices["In"].curve.median, pair.matrices["Tied"].curve.median
    expected = [inside.min(), inside.max(), tied[0], tied.max(), tied[-1]]
    assert [n.value for n in numbers] == pytest.approx(expected)
    assert {n.verdict for n in numbers} == {"stand-in"}
    assert {n.verdict for n in made("figure-5", stand_in=False).numbers} == {"print only"}


def test_shares_stand_in_over_the_steps_that_the_twins_have() -> None:
    run = first_result(GradientFlowRequest()).runs["tied"]
    found = by_place(made("figure-4"))
    for first, last in ((1, 50), (1, 100), (101, 200)):
        number = found[f"steps {first} to {last}", "output's share"]
        assert number.value == pytest.approx(run.mean("proxy_share", first, last))
        assert number.verdict == "stand-in"
    assert found["steps 201 to 500", "output's share"].verdict == "missing"


def test_drift_stands_in_by_the_first_and_the_last_of_the_bundled_checkpoints() -> None:
    drift = first_result(DriftRequest()).runs["nano-untied"]
    found = by_place(made("figure-3"))
    for row, place in (("step 2,000", 1), ("step 20,000", -1)):
        assert found[row, "input, to step 0"].value == drift.input_to_first[place]
        assert found[row, "output, to the one before"].value == drift.output_to_previous[place]
    assert found["step 10,000", "input, to step 0"].verdict == "missing"


def test_the_lens_stands_in_at_the_ends_and_shows_both_slips() -> None:
    """As measured here by the same requests; by the corrected evaluation the end is 0."""
    paper, meant = (ew.run(LensRequest(mode=mode, floor=False)) for mode in ("paper", "corrected"))
    item = made("figure-2")
    found = by_place(item)
    for side, column in (("A", "untied"), ("B", "tied")):
        bits, right = paper.lenses[side].kl_bits, meant.lenses[side].kl_bits
        for row, place in (("embedding", 0), ("layer 1", 1), ("layer 16", 2)):
            assert found[row, column].value == pytest.approx(bits[place])
            assert found[row, column].verdict == "stand-in"
        assert f"it is {right[1]:.2f}." in found["layer 1", column].reason
        assert "it is 0.00." in found["layer 16", column].reason
        assert bits[1] > 2 * right[1]
        assert found["layer 8", column].verdict == "missing"
    assert "allenai/OLMo-1B-hf" in found["embedding", "tied"].missing


def test_the_ratio_stands_in_by_the_bundled_model_with_its_line() -> None:
    one = first_result(BottleneckRequest()).models["nano-untied"].bottleneck
    number = by_place(made("bottleneck-ratio"))["Qwen3", "not transmitted, r"]
    assert (number.value, number.floor) == (one.destroyed, one.line)
    assert number.verdict == "stand-in"
    assert "below the line" in number.reason
    assert number.missing_bytes


def test_lens_figures_are_dear_once_and_what_needs_no_run_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    one = estimate(PaperTablesRequest(items=("figure-7",)))
    all_three = estimate(PaperTablesRequest(items=("figure-2", "figure-6", "figure-7")))
    assert one == all_three
    assert one.seconds > 1
    assert one.bytes > 0
    cheap = ("figure-3", "figure-4", "table-6", "centering", "bottleneck-ratio")
    assert estimate(PaperTablesRequest(items=cheap)).seconds == 0
    assert estimate(PaperTablesRequest(items=("figure-2",), stand_in=False)).seconds == 0
    local = tmp_path / "models--openai-community--gpt2" / "snapshots" / "a"
    local.mkdir(parents=True)
    (local / "model.safetensors").touch()
    assert estimate(PaperTablesRequest(items=("bottleneck-ratio",))) is None
