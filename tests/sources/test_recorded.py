"""Recorded files: those that are known at once, mapped tables, and what is left of damaged ones."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import tables
from embtie_widgets.sources.recorded import Recorded, peek, read_recorded

Write = Callable[[str, str | bytes], Path]
NAN = float("nan")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


def log(rows: str, head: str = "step,grad_in,grad_out") -> str:
    return f"{head}\n{rows}"


def refused(path: Path, *arguments: Any) -> str:
    with pytest.raises(EmbtieError) as caught:
        read_recorded(path, *arguments)
    assert str(path.parent) not in str(caught.value)
    return str(caught.value)


def said(read: Recorded, words: str) -> bool:
    return any(words in note for note in read.notes)


# Known at once.


def test_the_papers_gradient_log_is_known_and_its_input_norm_is_a_proxy(shared: Path) -> None:
    read = read_recorded(shared / "data" / "olmo1b_gradient_provenance.csv")
    assert read.format == "paper-gradient"
    assert set(read.columns) == {"step", "proxy_norm", "output_norm"}
    assert len(read.columns["step"]) == 10_010
    assert read.columns["output_norm"][0] == 0.2805805504322052
    assert said(read, "loss is 0 in every row")
    assert said(read, "proxy")


@pytest.mark.parametrize(
    ("model", "step", "values"),
    [  # the paper's drift
        ("OLMo-1B-0724-hf", 2_000, (0.991, 0.958, 0.991, 0.958)),
        ("OLMo-1B-0724-hf", 10_000, (0.937, 0.740, 0.997, 0.993)),
        ("OLMo-1B-0724-hf", 20_000, (0.865, 0.561, 0.996, 0.997)),
        ("OLMo-7B-0424-hf", 10_000, (0.965, 0.772, 0.965, 0.772)),
        ("OLMo-7B-0424-hf", 50_000, (0.752, 0.366, 0.974, 0.989)),
        ("pythia-1b", 1_000, (0.922, 0.787, 0.922, 0.787)),
        ("pythia-1b", 5_000, (0.554, 0.406, 0.964, 0.976)),
        ("pythia-1b", 15_000, (0.320, 0.210, 0.980, 0.987)),
    ],
)
def test_the_papers_drift_series_have_its_values(
    shared: Path, model: str, step: int, values: tuple[float, ...]
) -> None:
    read = read_recorded(shared / "data" / f"evolution_{model}.json", "drift")
    assert (read.format, read.notes) == ("paper-drift", ())
    assert read.model.endswith(model)
    at = list(read.columns["step"]).index(step)
    names = ("input_to_first", "output_to_first", "input_to_previous", "output_to_previous")
    assert [round(read.columns[name][at], 3) for name in names] == list(values)


def test_the_released_sweep_is_read_as_metrics_by_run(shared: Path) -> None:
    read = read_recorded(shared / "data" / "oec_loss_overview.csv", "metrics")
    assert read.format == "paper-sweep"
    assert read.names[0] == "wor40A-16M-13p1B-100k-bs64-lr10-baseline-g0e+00-s1"
    assert read.columns["loss"][0] == 3.881
    assert read.columns["O.logits_mean_std"][0] == 2.8594
    assert said(read, "called '-'")


def test_a_log_of_this_laboratory_is_known_with_all_its_curves(write: Write) -> None:
    row = {"step": 1, "input_norm": 1.0, "output_norm": 2.0, "update_share": 0.5, "by_band": {}}
    lines = "\n".join(json.dumps(row | {"step": step}) for step in (1, 2, 3))
    read = read_recorded(write("metrics.jsonl", lines + "\n"))
    assert read.format == "own-gradient"
    assert set(read.columns) == {"step", "input_norm", "output_norm", "update_share"}


def test_an_export_with_its_line_of_settings_shows_the_tied_run(write: Write) -> None:
    text = '# {"kind": "gradient-flow"}\nrun,step,input_norm,output_norm\n'
    text += "untied,1,5,6\nuntied,2,5,6\ntied,1,7,8\ntied,2,7,8\n"
    read = read_recorded(write("flow.csv", text))
    assert read.columns["input_norm"].tolist() == [7, 7]
    assert said(read, "2 runs; that called 'tied'")


def test_the_state_of_a_trainer_keeps_the_loss_where_an_evaluation_has_the_same_step(
    write: Write,
) -> None:
    history = [{"step": 5, "loss": 2.0}, {"step": 10, "loss": 1.5}, {"step": 10, "eval_loss": 1.7}]
    read = read_recorded(write("state.json", json.dumps({"log_history": history})), "metrics")
    assert read.columns["loss"].tolist() == [2.0, 1.5]
    np.testing.assert_array_equal(read.columns["eval_loss"], [NAN, 1.7])


# Mapped.


def test_columns_are_taken_as_they_are_mapped(write: Write) -> None:
    path = write("a.csv", "n,x = y,z,loss\n1,3,4,9\n2,5,6,9\n")
    read = read_recorded(path, "gradient", {"step": "n", "input_norm": "x = y", "output_norm": "z"})
    assert read.format == "table"
    assert read.columns["input_norm"].tolist() == [3, 5]
    assert "loss" not in read.columns


def test_headers_that_others_use_are_known(write: Write) -> None:
    read = read_recorded(write("a.csv", "train/global_step,Grad In,GRAD_OUT\n10,1,2\n20,3,4\n"))
    assert read.mapping == {
        "step": "train/global_step", "input_norm": "Grad In", "output_norm": "GRAD_OUT",
    }  # fmt: skip


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_and_spaces_around_them_do_not_matter(write: Write, separator: str) -> None:
    text = "step , grad_in, grad_out\n1, 2, 3\n2, 4, 5\n".replace(",", separator)
    assert read_recorded(write("a.csv", text)).columns["output_norm"].tolist() == [3, 5]


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_lines_may_end_as_other_systems_end_them(write: Write, ends: str) -> None:
    read = read_recorded(write("a.csv", log("1,2,3\n2,4,5\n").replace("\n", ends)))
    assert read.columns["output_norm"].tolist() == [3, 5]


def test_a_column_that_is_not_there_is_told_with_those_that_are(write: Write) -> None:
    path = write("a.csv", log("1,2,3\n"))
    message = refused(path, "gradient", {"step": "step", "output_norm": "gone"})
    assert "no column 'gone'; it has 'step', 'grad_in', 'grad_out'" in message
    assert "known are" in refused(path, "gradient", {"nonsense": "step"})
    assert "is mapped" in refused(path, "gradient", {"step": "step"})


def test_unknown_headers_ask_for_a_mapping_and_a_known_file_for_its_view(write: Write) -> None:
    assert "Say which column is which" in refused(write("a.csv", "a,b\n1,2\n"))
    series = {"steps": [0, 1], **{f"{role}_{of}": [1, 0.5] for role in ("input", "output")
                                  for of in ("vs_init", "consecutive")}}  # fmt: skip
    path = write("evolution.json", json.dumps(series))
    assert "Open it where the drift is shown" in refused(path)
    assert read_recorded(path, "drift").format == "paper-drift"


def test_a_table_without_steps_is_numbered_and_says_so(write: Write) -> None:
    read = read_recorded(write("a.csv", "grad_in,grad_out\n1,2\n3,4\n"))
    assert read.columns["step"].tolist() == [1, 2]
    assert said(read, "numbered from 1")


def test_a_table_without_headers_is_numbered_too(write: Write) -> None:
    path = write("a.csv", "1,2,3\n2,4,5\n")
    assert peek(path).headers == ("column 1", "column 2", "column 3")
    read = read_recorded(path, "gradient", {"step": "column 1", "output_norm": "column 3"})
    assert read.columns["output_norm"].tolist() == [3, 5]


def test_peek_shows_what_a_form_asks_and_what_would_be_taken_for_what(write: Write) -> None:
    seen = peek(write("a.csv", log("1,2.123456789,3\n2,4,5\n3,6,7\n4,8,9\n")))
    assert seen.guess == {"step": "step", "input_norm": "grad_in", "output_norm": "grad_out"}
    assert seen.rows[0] == ("1", "2.12346", "3")
    assert (len(seen.rows), seen.height) == (3, 4)
    assert "update_share" not in seen.names


# Order, names and gaps of steps: C040.


def test_rows_in_mixed_order_are_sorted_by_their_numbers(write: Write) -> None:
    read = read_recorded(write("a.csv", log("1000,3,3\n2,1,1\n512,2,2\n")))
    assert read.columns["step"].tolist() == [2, 512, 1000]
    assert read.columns["input_norm"].tolist() == [1, 2, 3]
    assert said(read, "sorted")


def test_a_change_from_the_one_before_is_a_gap_where_the_file_had_another_before_it(
    write: Write,
) -> None:
    """As text step1000 sorts before step2, and its change is from what stood before it there."""
    rows = "step0,1,1\nstep1000,0.5,0.5\nstep2,0.9,0.7\nstep2000,0.4,0.6\nstep3000,0.3,0.8\n"
    path = write("a.csv", "checkpoint,input_vs_init,input_consecutive\n" + rows)
    read = read_recorded(path, "drift")
    assert read.columns["step"].tolist() == [0, 2, 1000, 2000, 3000]
    assert read.names == ("step0", "step2", "step1000", "step2000", "step3000")
    assert read.columns["input_to_first"].tolist() == [1, 0.9, 0.5, 0.4, 0.3]
    np.testing.assert_array_equal(read.columns["input_to_previous"], [1, NAN, NAN, NAN, 0.8])
    assert said(read, "the row before in the file is not the step before")


def test_steps_are_read_out_of_the_names_of_checkpoints(write: Write) -> None:
    names = (
        "step0", "step1", "step2", "step512", "step1000-tokens4B", "step2000", "step143000",
        "step117850-tokens494B", "step330000-tokens1384B", "stage2-ingredient1-step23852-tokens51B",
        "main",
    )  # fmt: skip
    text = "checkpoint,input_to_first\n" + "".join(f"{name},0.5\n" for name in sorted(names))
    read = read_recorded(write("a.csv", text), "drift")
    steps = [0, 1, 2, 512, 1000, 2000, 117850, 143000, 330000]
    assert read.columns["step"].tolist() == steps
    assert said(read, "Left out, giving no step there: 'main', 'stage2-ingredient1-step23852")
    assert said(read, "those of stage 1")


def test_gaps_in_the_steps_are_named(write: Write) -> None:
    steps = [*range(1, 50), 249, *range(250, 280), 290]
    read = read_recorded(write("a.csv", log("".join(f"{s},1,2\n" for s in steps))))
    assert said(read, "2 gaps in the steps, which are usually 1 apart; the widest is from 49 to")
    assert read.columns["step"].tolist() == steps


def test_of_repeated_steps_the_last_with_a_value_counts(write: Write) -> None:
    read = read_recorded(write("a.csv", log("1,1,1\n2,2,2\n3,3,3\n2,20,\n3,30,33\n")))
    assert read.columns["step"].tolist() == [1, 2, 3]
    assert read.columns["input_norm"].tolist() == [1, 20, 30]
    assert read.columns["output_norm"].tolist() == [1, 2, 33]
    assert said(read, "2 steps stand several times")


def test_rows_without_a_whole_step_are_left_out(write: Write) -> None:
    rows = "1,1,1\n,2,2\n2.5,3,3\n-4,4,4\nx,5,5\ninf,6,6\n1e300,7,7\n7,8,8\n"
    read = read_recorded(write("a.csv", log(rows)))
    assert read.columns["step"].tolist() == [1, 7]
    assert said(read, "6 rows without a whole step left out")


def test_a_column_of_no_steps_is_refused(write: Write) -> None:
    path = write("a.csv", "step,grad_out\n0.25,1\n0.5,2\n")
    assert "'step' holds no steps" in refused(path)
    assert "'step' holds no steps" in refused(write("b.csv", "step,grad_out\na,1\nb,2\n"))


def test_a_series_that_begins_late_and_one_that_stands_still_are_said(write: Write) -> None:
    rows = "10,0.9,0.9,0.9,0.9\n20,0.9,0.9,1,1\n30,0.8,0.8,0.9,0.9\n"
    head = "steps,input_vs_init,output_vs_init,input_consecutive,output_consecutive\n"
    read = read_recorded(write("a.csv", head + rows), "drift")
    assert said(read, "begins at step 10, after")
    assert said(read, "At step 20 nothing has turned")


# Damaged and hostile.


def test_gaps_text_and_impossible_numbers_become_gaps_that_are_counted(write: Write) -> None:
    rows = "1,1,1\n2,,2\n3,NaN,3\n4,abc,4\n5,-1,5\n6,inf,6\n7,7,7\n"
    read = read_recorded(write("a.csv", log(rows)))
    np.testing.assert_array_equal(read.columns["input_norm"], [1, NAN, NAN, NAN, NAN, NAN, 7])
    assert read.columns["output_norm"].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert said(
        read,
        "'grad_in': 1 cell text where a number is expected; 1 cell out of bounds: a length is 0 or "
        "more; 1 cell infinite; 2 cells empty or NaN.",
    )


def test_cosines_outside_their_bounds_are_gaps_but_for_rounding(write: Write) -> None:
    read = read_recorded(write("a.csv", "step,input_to_first\n0,1.0002\n1,1.2\n2,-0.5\n"), "drift")
    np.testing.assert_array_equal(read.columns["input_to_first"], [1, NAN, -0.5])


def test_a_file_without_one_usable_number_is_refused(write: Write) -> None:
    assert "no number that can be used" in refused(write("a.csv", log("1,x,y\n2,z,\n")))


def test_lines_of_other_length_are_left_out_or_filled(write: Write) -> None:
    read = read_recorded(write("a.csv", log("1,1,1\n2,2\n3,3,3,3\n4,4,4\n")))
    assert read.columns["step"].tolist() == [1, 2, 4]
    np.testing.assert_array_equal(read.columns["output_norm"], [1, NAN, 4])
    assert said(read, "1 line with too many fields")


def test_a_line_that_was_cut_off_is_not_trusted(write: Write) -> None:
    read = read_recorded(write("a.csv", log("1,1.25,1\n2,2.25,2\n3,3.")))
    assert read.columns["step"].tolist() == [1, 2]
    assert said(read, "cut off")
    lines = '{"step": 1, "output_norm": 2}\n[]\n{"step": 2, "output_no'
    read = read_recorded(write("a.jsonl", lines))
    assert read.columns["step"].tolist() == [1]
    assert said(read, "2 lines left out")


def test_json_columns_of_unequal_length_are_used_as_far_as_all_reach(write: Write) -> None:
    content = {"step": [1, 2, 3], "output_norm": [1.0, [2.0]], "model_id": "<b>m</b>"}
    read = read_recorded(write("a.json", json.dumps(content)))
    np.testing.assert_array_equal(read.columns["output_norm"], [1, NAN])
    assert said(read, "2 to 3 values")
    assert read.model == "<b>m</b>"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", ""),
        ("a.csv", "step,grad_out\n"),
        ("a.csv", "\n\n\n"),
        ("a.csv", "x" * 200_000 + ",b\n1,2\n"),
        ("a.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff"),
        ("a.csv", "step,a\0b\n1,2\n"),
        ("a.csv", "<!DOCTYPE html><html>"),
        ("a.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:1\n"),
        ("a.csv", 'step,grad_out\n1,"2\n3,4\n'),
        ("a.json", "{"),
        ("a.json", "7"),
        ("a.json", "[]"),
        ("a.json", "{}"),
        ("a.json", '[1, "a", null]'),
        ("a.json", '{"a": {"b": 1}}'),
        ("a.json", "[" * 100_000),
        ("a.jsonl", "x\ny\n"),
        ("a.parquet", b"PAR1" + b"\0" * 50 + b"PAR1"),
        ("a.parquet", ""),
        ("a.pt", b"\x80\x02."),
        ("a.csv.gz", b"\x1f\x8b"),
        ("a", "step,grad_out\n1,2\n"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(
    write: Write, name: str, content: str | bytes
) -> None:
    assert refused(write(name, content))


def test_json_that_is_no_table_is_not_called_broken(write: Write) -> None:
    assert "holds no table" in refused(write("manifest.json", '{\n "name": "run",\n "of": {}\n}'))
    assert "no valid JSON" in refused(write("torn.json", '{\n "name": "run",'))


def test_a_missing_file_and_a_folder_are_named_by_their_own_name(tmp_path: Path) -> None:
    assert "gone.csv" in refused(tmp_path / "gone.csv")
    (tmp_path / "b.csv").mkdir()
    assert "is a folder" in refused(tmp_path / "b.csv")


def test_a_table_that_would_not_fit_is_refused_before_it_is_read(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = write("a.csv", ",".join(f"c{i}" for i in range(2_001)) + "\n1\n")
    assert "2,001 columns" in refused(wide)
    # Few bytes, but each short row is filled up to the width of the head.
    short = write("b.csv", ",".join(f"c{i}" for i in range(1_999)) + "\n" + "1\n" * 20_000)
    assert "cells are read" in refused(short)
    many = write("c.json", json.dumps([{f"k{i}": 1} for i in range(2_001)]))
    assert "2,001 columns" in refused(many)
    monkeypatch.setattr(tables, "MOST_BYTES", 5)
    assert "at most" in refused(write("d.csv", log("1,2,3\n")))


def test_hostile_headers_are_left_out_or_kept_as_mere_text(write: Write) -> None:
    rows = [{"step": 1, "<script>": 2, "a\u202eb": 3, "": 4, "x" * 600: 5, "output_norm": 6}]
    read = read_recorded(write("a.json", json.dumps(rows)))
    assert read.headers == ("step", "<script>", "output_norm")
    assert said(read, "3 columns without a usable name")


def test_headers_that_stand_twice_are_told_apart(write: Write) -> None:
    read = read_recorded(write("a.csv", "step,grad_out,grad_out ,step\n1,2,3,4\n"))
    assert read.headers == ("step", "grad_out", "grad_out (2)", "step (2)")
    assert read.columns["output_norm"].tolist() == [2]


def test_numbers_without_end_and_truth_values_are_no_numbers(write: Write) -> None:
    rows = [{"step": i + 1, "output_norm": cell} for i, cell in enumerate([10**400, True, 3, "4"])]
    read = read_recorded(write("a.json", json.dumps(rows)))
    np.testing.assert_array_equal(read.columns["output_norm"], [NAN, NAN, 3, 4])


@pytest.mark.parametrize(
    ("coding", "note"), [("utf-8-sig", ""), ("utf-16", ""), ("cp1252", "Windows-1252")]
)
def test_other_encodings_are_read(write: Write, coding: str, note: str) -> None:
    text = "step,grad_out,größe\n1,2,3\n2,3,4\n"
    read = read_recorded(write("a.csv", text.encode(coding)))
    assert read.headers == ("step", "grad_out", "größe")
    assert any(note in one for one in read.notes) == bool(note)


def test_parquet_is_read_where_something_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    pytest.importorskip("pyarrow")
    pd.DataFrame({"step": [1, 2], "grad_out": [0.5, NAN]}).to_parquet(path)
    np.testing.assert_array_equal(read_recorded(path).columns["output_norm"], [0.5, NAN])
    monkeypatch.setattr(tables, "MOST_CELLS", 1)
    assert "cells are read" in refused(path)
    for name in ("pyarrow", "fastparquet"):
        monkeypatch.setitem(sys.modules, name, None)
    assert "not installed here" in refused(path)
