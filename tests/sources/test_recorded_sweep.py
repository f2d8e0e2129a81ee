"""Recorded sweeps: the released one, our own exports, mapped tables, and what is told of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.results.centering import DIVERGED, DONE, FAILED, MISSING, CenteringRun
from embtie_widgets.sources import recorded_sweep
from embtie_widgets.sources.recorded import peek, read_recorded
from embtie_widgets.sources.recorded_methods import method_of, named, weight_of
from embtie_widgets.sources.recorded_sweep import RecordedSweep, read_sweep
from tests.sample_centering import one_rate, report

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return written


@pytest.fixture
def read(write: Write) -> Callable[..., RecordedSweep]:
    return lambda text, columns=None, name="a.csv": read_sweep(write(name, text), columns)


def states(sweep: RecordedSweep) -> list[str]:
    return [run.state for run in sweep.runs]


def same(a: CenteringRun, b: CenteringRun) -> bool:
    return (*a.group, a.lr, a.state) == (*b.group, b.lr, b.state)


# Known at once.


def test_the_released_sweep_says_what_each_run_is_and_all_that_is_known_of_it(
    shared: Path,
) -> None:
    sweep = read_sweep(shared / "data" / "oec_loss_overview.csv")
    assert sweep.format == "paper-sweep"
    assert len(sweep.runs) == 140
    assert {run.tied for run in sweep.runs} == {False}
    by_what = {(run.size, run.method, run.lr): run for run in sweep.runs}
    run = by_what["57M", "z-loss", 3e-1]
    assert (run.coefficient, run.seed, run.loss) == (1e-4, 1, 4.578)
    wanted = {"logit_mean": -29, "logit_std": 38, "logit_max": 346, "mu_output_all": 1043}
    assert {name: round(run.numbers[name]) for name in wanted} == wanted
    run = by_what["16M", "none", 3e-4]
    assert run.coefficient is None
    assert run.numbers["bound_ratio"] == 0.969
    assert run.numbers["mu_input"] == 0.049
    assert run.about["seconds"] == 4877.4
    assert sweep.initial_losses["221M"] == 10.85


def test_the_released_sweep_is_known_in_a_form(shared: Path) -> None:
    seen = peek(shared / "data" / "oec_loss_overview.csv", "sweep")
    assert seen.is_known
    assert "Output Embedding Centering" in seen.words
    assert seen.guess["loss"] == "test_loss"
    with pytest.raises(EmbtieError, match="where the sweep is shown"):
        read_recorded(shared / "data" / "oec_loss_overview.csv", "gradient")


def test_the_table_of_a_report_is_read_as_it_was(tmp_path: Path) -> None:
    made = report(seeds=(0, 3), tying=(False, True))
    made.to_frame().to_csv(tmp_path / "sweep.csv", index=False)
    sweep = read_sweep(tmp_path / "sweep.csv")
    assert sweep.format == "own-sweep"
    assert all(map(same, sweep.runs, made.runs))
    for one, other in zip(sweep.runs, made.runs, strict=True):
        assert one.loss == pytest.approx(other.loss, nan_ok=True)
        assert one.numbers["mu_output"] == pytest.approx(other.numbers["mu_output"])


def test_the_curves_of_a_report_are_curves_again(tmp_path: Path) -> None:
    made = one_rate(1e-2)
    path = tmp_path / "curves.csv"
    path.write_text('# {"kind": "centering"}\n' + made.curves_frame().to_csv(index=False))
    sweep = read_sweep(path)
    assert sweep.format == "own-sweep-curves"
    for one, other in zip(sweep.runs, made.runs, strict=True):
        np.testing.assert_allclose(one.curves["mu_output"], other.curves["mu_output"])
        np.testing.assert_allclose(one.curves["loss"], other.curves["loss"])
        assert one.loss == other.curves["loss"][-1]
        assert (one.lr, one.step) == (1e-2, 300)
    assert any("last step" in note for note in sweep.notes)


# Any other table.


def test_columns_are_known_by_their_names_whatever_the_file_is(read: Any) -> None:
    rows = [
        {"learning_rate": 0.01, "method": "Baseline", "eval_loss": 3.5, "mu_output": 2, "seed": 4},
        {
            "learning_rate": 0.1,
            "method": "μ-loss",
            "eval_loss": 3.4,
            "mu_output": 1,
            "lambda": 1e-3,
        },
    ]
    for text, name in (
        (json.dumps(rows), "a.json"),
        ("\n".join(map(json.dumps, rows)), "a.jsonl"),
        (pd.DataFrame(rows).to_csv(sep="\t"), "a.tsv"),
    ):
        first, second = read(text, name=name).runs
        assert (first.method, first.lr, first.loss, first.seed) == ("none", 0.01, 3.5, 4)
        assert (second.method, second.coefficient, second.seed) == ("mu-loss", 1e-3, None)
        assert second.numbers == {"mu_output": 1}
        assert first.tied is None


def test_a_parquet_table_is_read(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"lr": [0.1, 0.2], "method": ["none", "sgd"], "loss": [3.0, np.nan]})
    frame.to_parquet(tmp_path / "a.parquet")
    assert states(read_sweep(tmp_path / "a.parquet")) == [DONE, DIVERGED]


def test_columns_are_taken_as_they_are_mapped(read: Any) -> None:
    text = "a,b,c,loss\nz-loss,0.1,3.3,9\n"
    (run,) = read(text, {"method": "a", "lr": "b", "loss": "c"}).runs
    assert (run.method, run.lr, run.loss) == ("z-loss", 0.1, 3.3)


def test_tying_is_read_however_it_is_said(read: Any) -> None:
    words = ("tied", "True", "1", "untied", "false", "0", "perhaps", "")
    rows = "".join(f"{i + 1},3,{word}\n" for i, word in enumerate(words))
    found = [run.tied for run in read(f"lr,loss,tied\n{rows}").runs]
    assert found == [True] * 3 + [False] * 3 + [None] * 2


@pytest.mark.parametrize(
    ("cell", "state", "reason"),
    [
        ("nan", DIVERGED, "no finite number"),
        ("-inf", DIVERGED, "no finite number"),
        ("diverged", DIVERGED, "'diverged'"),
        ("OOM", FAILED, "'OOM'"),
        ("", MISSING, "gives no loss"),
        ("3.5", DONE, ""),
    ],
)
def test_what_stands_for_a_loss_tells_the_state(
    read: Any, cell: str, state: str, reason: str
) -> None:
    run = read(f"lr,method,loss,seed\n0.1,none,{cell},1\n").runs[0]
    assert run.state == state
    assert reason in run.reason


def test_null_is_missing_and_nan_is_diverged_in_json(read: Any) -> None:
    text = '[{"lr": 0.1, "loss": null}, {"lr": 0.2, "loss": NaN}, {"lr": 0.3, "loss": 3}]'
    assert states(read(text, name="a.json")) == [MISSING, DIVERGED, DONE]


def test_a_column_of_states_has_the_last_word(read: Any) -> None:
    text = "lr,loss,status\n0.1,3,finished\n0.2,3,crashed\n0.3,,finished\n0.4,9,Diverged\n0.5,3,?\n"
    assert states(read(text)) == [DONE, FAILED, MISSING, DIVERGED, DONE]


def test_of_a_run_that_stands_twice_the_last_row_counts(read: Any) -> None:
    sweep = read("lr,method,loss\n0.1,none,4\n0.1,none,3\n")
    assert [run.loss for run in sweep.runs] == [3]
    assert any("the last of each counts" in note for note in sweep.notes)


def test_the_initial_loss_stands_in_a_column_or_is_given(read: Any) -> None:
    text = "lr,loss,size,loss0\n0.1,3,a,8\n0.2,3,b,9\n"
    assert read(text, {"lr": "lr", "loss": "loss", "size": "size", "initial_loss": "loss0"}
                ).initial_losses == {"a": 8, "b": 9}  # fmt: skip
    named = {"lr": "lr", "loss": "loss", "initial_loss": "10.8"}
    assert read(text, named).initial_losses == {"": 10.8}
    assert read(text).initial_losses == {}
    with pytest.raises(EmbtieError, match="no column 'that'"):
        read(text, named | {"initial_loss": "that"})


def test_rows_that_say_nothing_are_left_out_and_told(read: Any) -> None:
    sweep = read("lr,method,loss\n0.1,none,3\n,none,3\nfast,none,3\n")
    assert len(sweep.runs) == 1
    assert any("2 rows without a learning rate" in note for note in sweep.notes)


def test_names_that_are_no_markup_and_no_paths_stay_as_they_are(read: Any) -> None:
    (run,) = read("lr,method,loss\n0.1,<b>mine</b>,3\n").runs
    assert run.method == "<b>mine</b>"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("method,loss\nnone,3\n", "no column|none of them is known"),
        ("lr,method\n0.1,none\n", "no column that is known to be loss"),
        ("name,loss\nmy run,3\n", "names in 'a.csv' do not say"),
        ("lr,loss\n0,3\n", "no learning rate above 0"),
        ("a,b\n1,2\n", "none of them is known"),
    ],
)
def test_tables_that_are_no_sweep_are_refused_in_words(
    read: Any, text: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(EmbtieError, match=words) as caught:
        read(text)
    assert str(tmp_path) not in str(caught.value)


def test_very_many_runs_are_refused(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_sweep, "MOST_RUNS", 1)
    with pytest.raises(EmbtieError, match="2 runs"):
        read("lr,loss\n0.1,3\n0.2,3\n")


# Names.


@pytest.mark.parametrize(
    ("written", "method"),
    [
        ("baseline", "none"),
        ("Mu_Centering", "mu-centering"),
        ("µ-loss", "mu-loss"),
        ("zloss", "z-loss"),
        ("logit soft-capping", "soft-cap"),
        ("softcap+mu centering", "mu-centering+soft-cap"),
        ("coupled-adam + sgd", "coupled-adam + sgd"),
        ("muon", "muon"),
        (" ", "recorded"),
    ],
)
def test_methods_are_known_by_many_names(written: str, method: str) -> None:
    assert method_of(written) == method


def test_names_of_the_released_kind_say_all() -> None:
    found = named("worA0A-109M-13p1B-100k-bs64-lr3-mucentering-g0e+00-s1")
    assert found == ("mu-centering", 3e-4, "109M", 1, None, False)
    assert named("wtr40A-16M-13p1B-100k-bs64-lr3-zloss-g1e-01-s2").tied is None  # type: ignore
    assert named("lr3-zloss") is None


def test_only_weighed_methods_have_a_coefficient() -> None:
    assert weight_of("none", 0.0) is None
    assert weight_of("z-loss+soft-cap", 0.1) == 0.1
    assert weight_of("my own", 0.1) == 0.1
