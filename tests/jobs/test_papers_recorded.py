"""Paper tables from the files that the papers' authors released: each known by what it holds, each
number held against one that is computed here in another way."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embtie_widgets as ew
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.papers import run_papers
from embtie_widgets.jobs.papers_items import ITEMS as MADE
from embtie_widgets.jobs.papers_records import DRIFT, GRADIENT, SWEEP, records_in
from embtie_widgets.requests.papers import ITEMS, PaperTablesRequest
from embtie_widgets.results.papers import PaperItem, PaperNumber

PYTHIA = "EleutherAI/pythia-1b"


def made(name: str, **options: Any) -> PaperItem:
    """One item, made as a run makes it; nothing may go wrong with it."""
    result = run_papers(PaperTablesRequest(items=(name,), **options), lambda *_: None)
    assert not result.failed
    return result.items[name]


def by_place(item: PaperItem) -> dict[tuple[str, str], PaperNumber]:
    return {(number.row, number.column): number for number in item.numbers}


def series(folder: Path, model: str, steps: list[int], **curves: list[float]) -> None:
    """A drift series as the authors write them, under a name that says nothing."""
    names = ("input_vs_init", "output_vs_init", "input_consecutive", "output_consecutive")
    flat = {name: curves.get(name, [1.0] * len(steps)) for name in names}
    folder.mkdir(exist_ok=True)
    (folder / f"x{len(list(folder.iterdir()))}.json").write_text(
        json.dumps({"model_id": model, "steps": steps, **flat})
    )


def log(folder: Path, norms: list[tuple[float, float]]) -> None:
    """A gradient log as the authors write it: the proxy's norm and the output's, step by step."""
    folder.mkdir(exist_ok=True)
    with (folder / "y.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "loss", "embedding_grad_l2_norm", "output_proj_grad_l2_norm"])
        writer.writerows([i + 1, 0.0, *pair] for i, pair in enumerate(norms))


# Every item.


def test_every_item_is_made_and_its_print_needs_no_torch() -> None:
    from tests.fresh import run_fresh

    assert set(MADE) == set(ITEMS)
    run_fresh(
        "from embtie_widgets.jobs.papers_items import ITEMS\n"
        "for name, item in ITEMS.items():\n"
        "    made = item.as_printed()\n"
        "    assert made.name == name and made.title and made.numbers, name\n"
        "    assert all(n.ends[0] <= n.ends[1] for n in made.numbers), name\n",
        "torch",
        "transformers",
    )


# Which files are known.


def test_files_are_known_by_what_they_hold_and_others_are_passed_over(tmp_path: Path) -> None:
    series(tmp_path, PYTHIA, [0, 1_000])
    log(tmp_path, [(1.0, 1.0)])
    (tmp_path / "broken.csv").write_bytes(b"\0\xff\0")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    (tmp_path / "vocabulary.json").write_text('{"a": 0}')
    (tmp_path / "folder.json").mkdir()
    found = records_in(str(tmp_path))
    assert set(found.files) == {(DRIFT, PYTHIA), (GRADIENT, "")}
    assert found.find(SWEEP) is None
    assert "does not hold it" in found.lack(SWEEP).reason
    assert "No folder" in records_in("").lack(SWEEP).reason


def test_a_file_that_cannot_be_read_is_named_where_something_is_missing(tmp_path: Path) -> None:
    series(tmp_path, PYTHIA, [0, 1_000])
    (tmp_path / "x0.json").write_bytes((tmp_path / "x0.json").read_bytes()[:60])
    for number in range(7):
        (tmp_path / f"y{number}.csv").touch()
    (tmp_path / ".hidden.csv").touch()
    reason = made("figure-9", data=str(tmp_path), stand_in=False).numbers[0].reason
    assert "from 'x0.json', 'y0.csv'" in reason
    assert "'y3.csv' and 3 more: cut short" in reason
    assert "hidden" not in reason
    assert str(tmp_path) not in reason


def test_a_folder_that_is_not_there_is_said_before_anything_is_computed(tmp_path: Path) -> None:
    with pytest.raises(EmbtieError, match="no folder called 'gone'") as told:
        ew.run(PaperTablesRequest(items=("figure-4",), data=str(tmp_path / "gone")))
    assert str(tmp_path) not in str(told.value)


def test_a_visitor_names_a_folder_of_the_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out = tmp_path / "runs"
    laid_out.mkdir()
    series(laid_out / "papers", PYTHIA, [0, 1_000, 2_000])
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    monkeypatch.setenv("EMBTIE_RUNS", str(laid_out))
    series(tmp_path / "elsewhere", PYTHIA, [0, 1_000])
    for name in (str(tmp_path / "elsewhere"), "../elsewhere", "gone"):
        with pytest.raises(EmbtieError, match="its owner has laid out") as told:
            records_in(name)
        assert told.value.hint is not None
        assert "pload" not in told.value.hint
    assert records_in("papers").find(DRIFT, PYTHIA) is not None
    item = made("figure-9", data="papers", stand_in=False)
    assert by_place(item)["step 1,000", "input, to step 0"].origin == "recorded"
    assert str(tmp_path) not in repr(item)


# Drift.


def test_a_series_gives_the_lines_of_the_figure_and_what_differs_is_told(tmp_path: Path) -> None:
    steps = [0, 1_000, 5_000, 15_000]
    series(
        tmp_path,
        PYTHIA,
        steps,
        input_vs_init=[1.0, 0.9224, 0.5, 0.32],
        input_consecutive=[1.0, 0.9224, 0.964, 0.98],
    )
    found = by_place(made("figure-9", data=str(tmp_path)))
    first = found["step 1,000", "input, to step 0"]
    assert (first.verdict, first.value, first.source) == (
        "agrees", 0.9224, "the released series, 4 checkpoints"
    )  # fmt: skip
    off = found["step 5,000", "input, to step 0"]
    assert (off.verdict, off.difference) == ("differs", pytest.approx(-0.054))
    assert off.reason


def test_a_change_over_another_distance_is_not_held_against_the_print(tmp_path: Path) -> None:
    series(tmp_path, PYTHIA, [0, 1_000, 5_000, 15_000], input_vs_init=[1.0, 0.9, 0.554, 0.32])
    found = by_place(made("figure-9", data=str(tmp_path)))
    assert found["step 5,000", "input, to step 0"].verdict == "agrees"
    far = found["step 5,000", "input, to the one before"]
    assert (far.verdict, far.value) == ("missing", None)
    assert "4,000" in far.missing
    assert found["step 1,000", "input, to the one before"].value is not None


def test_the_released_series_are_those_of_the_figures(shared: Path, tmp_path: Path) -> None:
    for file in (shared / "data").glob("evolution_*.json"):
        shutil.copy(file, tmp_path / f"a{file.stat().st_size}.json")
    counts = {"figure-3": 12, "figure-8": 8, "figure-9": 12}
    for name, count in counts.items():
        item = made(name, data=str(tmp_path))
        assert item.count("agrees") == count == len(item.numbers)
    raw = json.loads((shared / "data" / "evolution_pythia-1b.json").read_text())
    numbers = by_place(made("figure-9", data=str(tmp_path)))
    for step in (1_000, 5_000, 15_000):
        at = raw["steps"].index(step)
        assert numbers[f"step {step:,}", "output, to step 0"].value == raw["output_vs_init"][at]


# Gradient shares.


def test_shares_of_a_log_are_means_of_each_steps_share(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    norms = chance.uniform(0.1, 1.0, (1_000, 2))
    log(tmp_path, [(float(a), float(b)) for a, b in norms])
    found = by_place(made("figure-4", data=str(tmp_path)))
    share, ratio = norms[:, 1] / norms.sum(1), norms[:, 1] / norms[:, 0]
    row = "steps 101 to 200"
    assert found[row, "output's share"].value == pytest.approx(share[100:200].mean())
    whole = "steps 1 to 1,000"
    assert found[whole, "output over input, mean"].value == pytest.approx(ratio.mean())
    assert found[whole, "output over input, median"].value == pytest.approx(np.median(ratio))
    last = np.array([norms[max(0, i - 19) : i + 1].sum(0) for i in range(1_000)])
    smooth = last[:, 1] / last.sum(1)
    assert found[whole, "share of smoothed norms"].value == pytest.approx(smooth.mean())
    assert found[whole, "its most"].value == pytest.approx(smooth.max())


def test_steps_that_a_log_lacks_are_missing(tmp_path: Path) -> None:
    log(tmp_path, [(1.0, 3.0)] * 100)
    found = by_place(made("figure-4", data=str(tmp_path)))
    assert found["steps 1 to 50", "output's share"].value == pytest.approx(0.75)
    late = found["steps 2,001 to 5,000", "output's share"]
    assert (late.verdict, late.value) == ("missing", None)
    half = found["steps 1 to 1,000", "output's share"]
    assert (half.verdict, half.value) == ("missing", None)
    assert "100" in half.reason


def test_a_log_with_a_gap_tells_how_many_of_the_steps_it_has(tmp_path: Path) -> None:
    nothing = (float("nan"), 3.0)
    log(tmp_path, [(1.0, 3.0)] * 20 + [nothing] * 10 + [(1.0, 3.0)] * 970)
    found = by_place(made("figure-4", data=str(tmp_path), stand_in=False))
    assert found["steps 1 to 50", "output's share"].reason == "The log has 40 of these 50 steps."
    assert found["steps 101 to 200", "output's share"].reason == "No reason is known."
    assert found["step 50", "|G_out|"].value == 3.0
    assert found["step 1,000", "|g|"].value == 1.0


def test_the_released_log_gives_every_printed_share(shared: Path) -> None:
    item = made("figure-4", data=str(shared / "data"))
    assert (item.count("agrees"), item.count("print only")) == (19, 2)


# The centering paper.


def test_sensitivities_are_the_printed_ones_to_the_third_decimal(shared: Path) -> None:
    """Computed anew from the file, by the formula alone."""
    rows = list(csv.DictReader((shared / "data" / "oec_loss_overview.csv").open()))
    item = made("centering-sensitivity", data=str(shared / "data"))
    numbers = by_place(item)
    words = {"none": "baseline", "z-loss": "zloss", "mu-centering": "mucentering"}
    for size in ("16M", "29M", "57M", "109M", "221M"):
        first = 10.85 if size == "221M" else 10.83
        for method, word in words.items():
            losses = [
                float(row["test_loss"])
                for row in rows
                if f"-{size}-" in row["name"] and f"-{word}-" in row["name"]
            ]
            assert len(losses) == 7
            capped = np.minimum(losses, first)
            expected = float((capped - capped.min()).sum() / 6)
            number = numbers[size, f"untied, {method}"]
            assert number.value == pytest.approx(expected, abs=1e-12)
            assert f"{expected:.3f}" == number.printed
            assert number.verdict == "agrees"
    assert item.count("agrees") == 22
    assert numbers["16M", "untied, best rate"].value == 1e-2
    assert numbers["221M", "untied, best rate"].value == 1e-3
    assert {n.verdict for n in item.numbers if n.column.startswith("tied")} == {"print only"}


@pytest.mark.parametrize(
    ("name", "agree"),
    [("centering-coefficients", 5), ("centering-losses", 120), ("centering-bound", 35)],
)
def test_the_released_runs_give_their_tables(shared: Path, name: str, agree: int) -> None:
    item = made(name, data=str(shared / "data"))
    assert item.count("agrees") == agree
    assert item.count("agrees") + item.count("print only") == len(item.numbers)


def test_extra_time_is_that_of_all_runs_of_a_method(shared: Path) -> None:
    rows = list(csv.DictReader((shared / "data" / "oec_loss_overview.csv").open()))

    def seconds(word: str) -> float:
        return sum(float(r["time"]) for r in rows if "-29M-" in r["name"] and word in r["name"])

    number = by_place(made("centering-time", data=str(shared / "data")))["29M, untied", "z-loss"]
    expected = 100 * (seconds("-zloss-") / seconds("-baseline-") - 1)
    assert number.value == pytest.approx(expected)
    assert number.verdict == "close"


def test_without_the_file_only_what_nobody_released_is_in_print_only() -> None:
    item = made("centering-sensitivity")
    assert (item.count("missing"), item.count("print only")) == (22, 40)
    assert {n.missing_bytes for n in item.numbers if n.verdict == "missing"} == {62_692}
    losses = by_place(made("centering-losses"))
    assert losses["16M at 0.1, none", "loss"].verdict == "stand-in"
    assert losses["221M at 0.1, none", "loss"].verdict == "missing"
    assert by_place(made("centering-losses", stand_in=False))[
        "16M at 0.1, none", "loss"
    ].verdict == "missing"  # fmt: skip
