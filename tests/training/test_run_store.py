"""A run's folder: what is written comes back, at any moment and for another reader."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.results.groups import BANDS
from embtie_widgets.training.run_store import RunStore


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore.create(
        tmp_path / "tied", name="tied", tied=True, of=20, settings={"lr": 0.1}, device="cpu"
    )


def test_a_new_run_is_open_to_others_at_once(store: RunStore) -> None:
    other = RunStore.open(store.folder)
    assert other.manifest["state"] == "running"
    assert (other.manifest["of"], other.done, other.rows(), other.steps()) == (20, 0, [], [])
    assert other.flow_run().curves["step"].shape == (0,)


def test_rows_are_seen_by_another_reader_as_they_come(store: RunStore) -> None:
    other = RunStore.open(store.folder)
    store.append({"step": 1, "loss": torch.tensor(2.5), "run": "tied"})
    assert other.rows() == [{"step": 1, "loss": 2.5, "run": "tied"}]
    store.append({"step": 2, "loss": np.float32(2.25), "lr": 1e-3})
    assert other.done == 2
    curves = other.curves()
    assert set(curves) == {"step", "loss", "lr"}
    assert curves["step"].tolist() == [1, 2]
    assert math.isnan(curves["lr"][0])


def test_numbers_that_are_not_finite_come_back(store: RunStore) -> None:
    store.append({"step": 1, "loss": math.nan, "total_norm": math.inf, "lr": -math.inf})
    (row,) = RunStore.open(store.folder).rows()
    assert math.isnan(row["loss"])
    assert (row["total_norm"], row["lr"]) == (math.inf, -math.inf)


def test_a_torn_last_line_is_ignored_and_does_not_swallow_the_next(store: RunStore) -> None:
    store.append({"step": 1, "loss": 1.0})
    with (store.folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 2, "lo')
    again = RunStore.open(store.folder)
    assert [row["step"] for row in again.rows()] == [1]
    again.append({"step": 2, "loss": 3.0})
    assert [row["loss"] for row in RunStore.open(store.folder).rows()] == [1.0, 3.0]
    assert again.notes() == ()


def test_unreadable_lines_are_left_out_and_told(store: RunStore) -> None:
    store.append({"step": 1})
    with (store.folder / "metrics.jsonl").open("a") as file:
        file.write('not json\n[1]\n{"step": "x"}\n{"step": 1e400}\n')
    store.append({"step": 2, "huge": 10**400})
    other = RunStore.open(store.folder)
    assert [row["step"] for row in other.rows()] == [1, 2]
    assert "4 lines" in other.notes()[0]
    assert np.isnan(other.curves()["huge"]).all()


def test_what_a_run_says_of_itself_is_told_with_what_could_not_be_read(store: RunStore) -> None:
    store.set_state("done", 3, notes=["The gradient is not split.", 7])
    assert store.notes() == ("The gradient is not split.",)
    (store.folder / "metrics.jsonl").write_text("torn\n")
    assert len(store.notes()) == 2


def test_repeated_and_unsorted_steps_give_one_row_each_in_order(store: RunStore) -> None:
    for step, loss in ((2, 0.0), (4, 1.0), (3, 2.0), (4, 3.0)):
        store.append({"step": step, "loss": loss})
    curves = store.curves()
    assert curves["step"].tolist() == [2, 3, 4]
    assert curves["loss"].tolist() == [0.0, 2.0, 3.0]


def test_bands_have_gaps_where_a_row_lacks_them(store: RunStore) -> None:
    values = [0.5, math.nan, 1.0, 2.0, 3.0, 4.0]
    store.append({"step": 1, "by_band": {"input_norm": values}})
    store.append({"step": 2, "by_band": {"input_norm": [1.0]}})
    names, curves = RunStore.open(store.folder).bands()
    assert names == tuple(BANDS)
    np.testing.assert_array_equal(curves["input_norm"], [values, [math.nan] * len(BANDS)])


def test_a_step_logged_while_a_run_is_read_is_in_all_of_what_is_read_or_in_none(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, row = RunStore.rows, {"loss": 1.0, "by_band": {"input_norm": [1.0] * len(BANDS)}}
    store.append({"step": 1} | row)

    def read_while_it_grows(self: RunStore) -> list[dict[str, object]]:
        found = read(self)
        store.append({"step": len(found) + 1} | row)
        return found

    monkeypatch.setattr(RunStore, "rows", read_while_it_grows)
    run = RunStore.open(store.folder).flow_run()
    assert len(run.curves["step"]) == len(run.by_band["input_norm"]) == 1


@pytest.mark.parametrize("odd", [5, "much", [1], {"output_share": 3}, {"output_share": [1]}])
def test_bands_that_are_none_are_gaps(store: RunStore, odd: Any) -> None:
    store.append({"step": 1, "by_band": {"output_share": [0.5] * len(BANDS)}})
    store.append({"step": 2, "by_band": odd})
    shares = store.bands()[1]["output_share"]
    assert np.isfinite(shares[0]).all()
    assert np.isnan(shares[1]).all()


def test_checkpoints_come_back_in_the_order_of_their_steps(store: RunStore) -> None:
    late, early = torch.randn(5, 3), torch.randn(5, 3, dtype=torch.float64)
    store.keep(1000, late)
    store.keep(20, early, early)
    kept = RunStore.open(store.folder).checkpoints()
    assert [one.step for one in kept] == [20, 1000]
    assert torch.equal(kept[0].input, early)
    assert kept[0].input.dtype == torch.float64
    assert kept[1].input is kept[1].output


def test_an_untied_checkpoint_keeps_both_matrices(store: RunStore) -> None:
    into, out = torch.randn(5, 3).T, torch.randn(3, 5)
    store.keep(7, into, out)
    (kept,) = store.checkpoints()
    assert torch.equal(kept.input, into)
    assert torch.equal(kept.output, out)


def test_rows_of_the_matrix_keep_what_is_not_given_anew(store: RunStore) -> None:
    tokens = (b"a", None, b"", "é".encode())
    store.save_rows({}, counts=[3, 0, 1, 2], tokens=tokens)
    store.save_rows({"input": torch.arange(4.0), "times": np.ones(4)})
    other = RunStore.open(store.folder)
    assert other.tokens() == tokens
    assert other.counts() is not None
    assert other.counts().tolist() == [3, 0, 1, 2]  # type: ignore[union-attr]
    assert other.row_values()["input"].tolist() == [0, 1, 2, 3]
    assert set(other.flow_run().rows) == {"input", "times"}


def test_a_run_says_what_it_is(store: RunStore) -> None:
    store.append({"step": 5, "loss": 1.0, "mu": 3.0, "output_share": 0.7})
    store.set_state("stopped", 6)
    run = RunStore.open(store.folder).flow_run()
    assert set(run.curves) == {"step", "loss", "output_share"}
    assert run.tied is True
    about = {"lr": 0.1, "device": "cpu", "state": "stopped", "done": 6, "of": 20}
    assert run.about == about


def test_what_a_stopped_run_needs_comes_back_and_goes(store: RunStore) -> None:
    assert store.read_resume() is None
    store.save_resume({"weights": torch.ones(2), "done": 3})
    found = RunStore.open(store.folder).read_resume()
    assert found is not None
    assert found["done"] == 3
    store.drop_resume()
    assert store.read_resume() is None


def test_cutting_forgets_what_came_later_and_other_readers_notice(store: RunStore) -> None:
    other = RunStore.open(store.folder)
    for step in (1, 2, 3):
        store.append({"step": step, "loss": 1.0 * step})
        store.keep(step, torch.ones(2, 2))
    assert len(other.rows()) == 3
    store.cut(2)
    assert [row["step"] for row in other.rows()] == [1, 2]
    assert store.steps() == [1, 2]
    store.append({"step": 3, "loss": 9.0})
    assert other.rows()[-1]["loss"] == 9.0


def test_a_new_run_takes_the_place_of_the_old_and_leaves_other_files(store: RunStore) -> None:
    (store.folder / "config.json").write_text("{}")
    store.append({"step": 1})
    store.keep(1, torch.ones(2, 2))
    store.save_rows({"input": np.ones(2)})
    fresh = RunStore.create(store.folder, name="again", tied=None, of=None)
    assert (fresh.rows(), fresh.steps(), fresh.row_values()) == ([], [], {})
    assert (store.folder / "config.json").exists()


def test_a_folder_without_a_run_is_refused_in_words(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ew.EmbtieError, match="no folder of a run") as caught:
            RunStore.open(place)
        assert str(tmp_path) not in str(caught.value)


WHOLE = '{"format": 1, "name": "a", "state": "done", "done": 1, "settings": {}, "hashes": {}, '


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "[]", "{", '{"format": 9}', '{"format": 1, "name": 3}', '{"format": 1}'),
        WHOLE + '"tied": true, "of": "x"}',
        WHOLE + '"tied": "yes", "of": 3}',
        WHOLE + '"tied": true, "of": -1}',
        WHOLE + f'"tied": true, "of": 1{"0" * 400}}}',
        WHOLE.replace('1, "sett', '-2, "sett') + '"tied": true, "of": 3}',
    ],
)
def test_a_damaged_manifest_is_refused_in_words(store: RunStore, wrong: str) -> None:
    (store.folder / "manifest.json").write_text(wrong)
    with pytest.raises(ew.EmbtieError):
        RunStore.open(store.folder)


@pytest.mark.parametrize("name", ["rows.npz", "resume.pt", "checkpoints/step-000003.safetensors"])
def test_damaged_files_are_refused_in_words(store: RunStore, name: str) -> None:
    (store.folder / "checkpoints").mkdir()
    (store.folder / name).write_bytes(b"damaged, and long enough to look like something")
    read = {"rows.npz": store.row_values, "resume.pt": store.read_resume}
    with pytest.raises(ew.EmbtieError):
        read.get(name, store.checkpoints)()


def test_the_manifest_is_plain_json_with_what_the_contract_names(store: RunStore) -> None:
    read = json.loads((store.folder / "manifest.json").read_text())
    assert {"format", "embtie", "name", "tied", "state", "done", "of", "device"} <= set(read)
    assert {"settings", "hashes"} <= set(read)
    assert not list(store.folder.glob(".*"))


def test_checkpoints_beside_a_configuration_are_a_series(store: RunStore) -> None:
    (store.folder / "config.json").write_text(
        json.dumps({"model_type": "olmo", "vocab_size": 6, "tie_word_embeddings": True})
    )
    for step in (0, 5):
        store.keep(step, torch.randn(6, 3) + step)
    assert len(ew.load_series(str(store.folder)).loaded) == 2
