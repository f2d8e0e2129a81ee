"""Recorded sweeps as results: the paper's tables from its released runs, and gaps shown as such."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.centering_file import file_sweep
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.results.centering import DIVERGED, DONE, FAILED, MISSING, CenteringReport
from embtie_widgets.results.centering_published import ENDS, PUBLISHED, RATES, SIZES
from embtie_widgets.results.storage import from_bytes, to_bytes

Swept = Callable[..., CenteringReport]
# Of the baseline at each learning rate, rising.
B_RATIOS = {
    "16M": (0.97, 0.82, 0.75, 0.62, 0.66, 0.26, 0.65),
    "29M": (0.98, 0.82, 0.92, 0.73, 0.49, 0.30, 0.44),
    "57M": (0.96, 0.81, 0.79, 0.67, 0.60, 0.66, 0.57),
    "109M": (0.97, 0.74, 0.67, 0.74, 0.72, 0.61, 0.70),
    "221M": (0.95, 0.74, 0.84, 0.91, 0.68, 0.70, 0.70),
}


@pytest.fixture(scope="module")
def released(shared: Path) -> CenteringReport:
    file = str(shared / "data" / "oec_loss_overview.csv")
    return file_sweep(CenteringRequest(source="file", file=file))


@pytest.fixture
def swept(tmp_path: Path) -> Swept:
    def read(text: str, *columns: str) -> CenteringReport:
        path = tmp_path / "sweep.csv"
        path.write_text(text, encoding="utf-8")
        return file_sweep(CenteringRequest(source="file", file=str(path), columns=columns))

    return read


# The released sweep.


def test_the_papers_sensitivities_come_out_to_the_third_decimal(released: CenteringReport) -> None:
    found = {(s.size, s.tied, s.method, s.coefficient): s for s in released.sensitivity}
    printed = {(p.size, p.tied, p.method, p.coefficient): p.value for p in PUBLISHED}
    assert len(found) == 20
    for line, one in found.items():
        assert one.rates == pytest.approx(RATES)
        assert one.unknown == 0
        # The runs have three decimals themselves, so that a sum of six may fall either side.
        assert one.value == pytest.approx(printed[line], abs=5.1e-4)
    assert {method for _, _, method, _ in found} == {"none", "z-loss", "mu-centering", "mu-loss"}


def test_its_statistics_are_those_printed(released: CenteringReport) -> None:
    runs = {(run.size, run.lr, run.method): run for run in released.runs if not run.tied}
    assert len(ENDS) == 24
    for one in ENDS:
        run = runs[one.size, one.lr, one.method]
        names = ("logit_mean", "logit_std", "logit_max", "mu_output")
        assert run.loss == one.loss
        printed = [getattr(one, name) for name in names]
        assert [run.numbers[name] for name in names] == pytest.approx(printed, abs=0.6)


def test_its_b_ratios_are_those_printed(released: CenteringReport) -> None:
    for size, wanted in B_RATIOS.items():
        line = [r for r in released.runs if (r.size, r.method) == (size, "none")]
        assert [run.numbers["bound_ratio"] for run in line] == pytest.approx(wanted, abs=0.006)
    centred = [run for run in released.runs if run.method == "mu-centering"]
    assert not any("bound_ratio" in run.numbers for run in centred)


def test_what_runs_away_is_common_to_all_tokens(released: CenteringReport) -> None:
    share = {(r.size, r.method, r.lr): r.numbers["common_fraction"] for r in released.runs}
    for size in SIZES:
        assert share[size, "none", 3e-1] > 0.999
        assert share[size, "mu-centering", 3e-1] < 1e-4


def test_it_is_shown_in_the_order_of_a_request_without_the_place_of_the_file(
    released: CenteringReport,
) -> None:
    assert tuple(dict.fromkeys(run.size for run in released.runs)) == SIZES
    first = [(run.lr, run.method) for run in released.runs[:5]]
    assert first == [(3e-4, m) for m in ("none", "mu-centering", "mu-loss", "z-loss")] + [
        (1e-3, "none")
    ]
    assert released.settings["file"] == "oec_loss_overview.csv"
    assert len(released.hashes["file"]) == 64
    assert math.isnan(released.initial_loss)  # two of them
    assert to_bytes(from_bytes(to_bytes(released))) == to_bytes(released)


# Any sweep.


def test_cells_that_the_grid_lacks_are_missing_and_count_as_unknown(swept: Swept) -> None:
    made = swept("lr,method,loss\n0.1,none,3\n0.2,none,4\n0.1,z-loss,3\n0.3,z-loss,5\n")
    states = {(run.method, run.lr): run.state for run in made.runs}
    assert len(states) == 6
    assert [what for what, state in states.items() if state == MISSING] == [
        ("z-loss", 0.2),
        ("none", 0.3),
    ]
    base, weighed = made.sensitivity
    assert (base.value, base.unknown, base.rates) == (1.0, 1, (0.1, 0.2))
    assert weighed.value == 2.0


def test_the_grid_of_one_size_is_not_that_of_another(swept: Swept) -> None:
    made = swept("lr,method,loss,size\n0.1,none,3,S\n0.2,none,4,S\n0.3,z-loss,3,L\n")
    assert [run.state for run in made.runs] == [DONE] * 3


def test_runs_lost_or_no_better_than_guessing_have_diverged(swept: Swept) -> None:
    text = "lr,loss,initial_loss\n0.1,3,8\n0.2,nan,8\n0.3,9,8\n0.4,OOM,8\n"
    made = swept(text)
    assert [run.state for run in made.runs] == [DONE, DIVERGED, DIVERGED, FAILED]
    assert "9.00" in made.runs[2].reason
    (line,) = made.sensitivity
    assert line.value == 5.0  # of 0, 5 and 5 over two
    assert line.unknown == 1
    assert made.initial_loss == 8.0


def test_without_an_initial_loss_losses_count_as_they_are_and_it_is_said(swept: Swept) -> None:
    made = swept("lr,loss\n0.1,3\n0.2,50\n")
    assert made.sensitivity[0].value == 47.0
    assert math.isnan(made.sensitivity[0].initial_loss)
    assert any("counts as it is" in note for note in made.notes)


def test_a_lost_run_needs_one_which_may_be_given(swept: Swept) -> None:
    text = "lr,loss\n0.1,3\n0.2,nan\n"
    made = swept(text)
    assert math.isnan(made.sensitivity[0].value)
    assert any("has no sensitivity" in note for note in made.notes)
    given = swept(text, "lr=lr", "loss=loss", "initial_loss=8")
    assert given.sensitivity[0].value == 5.0
    assert not any("initial_loss" in note for note in given.notes)


def test_the_mean_over_stored_rows_stands_for_the_other_and_it_is_said(swept: Swept) -> None:
    made = swept("lr,loss,mu_output_all\n0.1,3,2\n0.2,3,4\n")
    assert [run.numbers["mu_output"] for run in made.runs] == [2, 4]
    assert any("all stored rows" in note for note in made.notes)


def test_seeds_have_lines_of_their_own(swept: Swept) -> None:
    made = swept("lr,loss,seed\n0.1,3,1\n0.2,4,1\n0.1,3,2\n0.2,6,2\n")
    assert [(line.seed, line.value) for line in made.sensitivity] == [(1, 1.0), (2, 3.0)]


def test_what_is_no_sweep_is_told_in_words(swept: Swept, tmp_path: Path) -> None:
    with pytest.raises(EmbtieError, match="known") as caught:
        swept("a,b\n1,2\n")
    assert str(tmp_path) not in str(caught.value)


def test_a_visitor_opens_no_file_by_its_place(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "a.csv").write_text("lr,loss\n0.1,3\n")
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    with pytest.raises(EmbtieError, match="shared page"):
        file_sweep(CenteringRequest(source="file", file=str(tmp_path / "a.csv")))


@pytest.mark.parametrize("rates", [1, 60])
def test_a_grid_too_wide_to_look_at_is_refused(swept: Swept, rates: int) -> None:
    many = 60 if rates > 1 else 201
    rows = (f"method {number},{number % rates + 1},3" for number in range(many))
    with pytest.raises(EmbtieError, match="lines of learning rates"):
        swept("\n".join(["method,lr,loss", *rows]))
