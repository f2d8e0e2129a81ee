"""Signatures of language models, carried out end to end."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import following, signature_text
from embtie_widgets.jobs.first import first_result
from embtie_widgets.jobs.signatures import look_up
from embtie_widgets.jobs.signatures_cost import estimate_signatures
from embtie_widgets.requests import CorpusRef, SignaturesRequest
from embtie_widgets.results.staircase import StaircaseReport
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.training.run_store import RunStore
from tests.fresh import run_fresh
from tests.jobs.trainings import Ear, cache_below, small, trained_from_here

SMALL: dict[str, Any] = {"anchors": 12, "statistics": 60_000, "probe_steps": 20}


def pearson(first: Any, second: Any) -> float:
    """Of the pairs of rows, in numpy alone."""
    upper = np.triu_indices(len(first), 1)
    both = []
    for rows in (first, second):
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        both.append((unit @ unit.T)[upper])
    return float(np.corrcoef(*both)[0, 1])


# Checkpoints of models.


@pytest.fixture(scope="module")
def nano() -> StaircaseReport:
    found: StaircaseReport = ew.run(SignaturesRequest(**SMALL))
    return found


def test_the_bundled_twins_are_compared_checkpoint_by_checkpoint(nano: StaircaseReport) -> None:
    assert list(nano.runs) == ["nano-untied", "nano-tied"]
    for run in nano.runs.values():
        assert run.steps.tolist() == [0, 50, 150, 350, 700, 1000]
    untied, tied = nano.runs.values()
    assert (set(untied.matrices), untied.tied) == ({"embedding", "unembedding"}, False)
    assert (set(tied.matrices), tied.tied) == ({"tied"}, True)
    assert {track.signature for track in tied.tracks} == {"next", "previous"}
    assert len(nano.anchors) == len(nano.ids) == len(nano.tokens) == 12
    assert nano.task["tokens of text"] == 60_000


def test_its_numbers_are_those_of_counting_and_numpy(nano: StaircaseReport) -> None:
    text = signature_text.read_text(SignaturesRequest(**SMALL), "nano-tied", 4096).ids
    times = np.bincount(text)
    assert nano.task["rarest occurs"] == times[nano.ids].min()
    loaded = ew.load("nano-untied")
    matrices = {"embedding": loaded.input, "unembedding": loaded.output}
    for name, matrix in matrices.items():
        rows = matrix.double().numpy()[nano.ids]
        for direction, stream in (("next", text), ("previous", text[::-1])):
            table = np.zeros((len(nano.ids), 4096))
            for at, token in enumerate(nano.ids):
                after = stream[1:][stream[:-1] == token]
                table[at] = np.bincount(after, minlength=4096)
            track = nano.runs["nano-untied"].track(direction, name)
            assert track is not None
            assert track.by_step["pearson"][-1] == pytest.approx(pearson(rows, table), abs=1e-9)


def test_what_ships_is_what_the_shipped_pair_gives_today() -> None:
    request = SignaturesRequest()
    shipped, now = first_result(request), ew.run(request)
    assert (shipped.anchors, shipped.hashes, shipped.task) == (now.anchors, now.hashes, now.task)
    assert shipped.settings == now.settings | {"cached": True}
    for name, run in now.runs.items():
        for track in run.tracks:
            then = shipped.runs[name].track(track.signature, track.matrix)
            for measure, values in track.by_step.items():
                np.testing.assert_allclose(then.by_step[measure], values, atol=1e-6)


def test_input_rows_follow_what_comes_next_and_output_rows_what_came_before() -> None:
    """And the tied matrix is the output's: the bias that all of embtie is about."""
    shipped = first_result(SignaturesRequest())
    last = {
        (track.matrix, track.signature): track.by_step["pearson"][-1]
        for run in shipped.runs.values()
        for track in run.tracks
    }
    assert last["embedding", "next"] > last["embedding", "previous"] > 0.1
    for matrix in ("unembedding", "tied"):
        assert last[matrix, "previous"] > last[matrix, "next"] + 0.2
    floors = [t.by_step["floor"] for run in shipped.runs.values() for t in run.tracks]
    assert np.abs(floors).mean() < 0.05


def test_the_first_result_needs_no_torch() -> None:
    code = (
        "import embtie_widgets as ew; from embtie_widgets.jobs.run import first;"
        "assert len(first(ew.SignaturesRequest()).runs) == 2"
    )
    run_fresh(code, "torch", "transformers")


def test_order_1_is_held_out_by_anchors_and_says_what_its_labels_hold() -> None:
    asked = {**SMALL, "context": 8, "directions": ("next",), "revisions": ("step-000700",)}
    report = ew.run(SignaturesRequest(other="nano-untied", **asked))
    (run,) = report.runs.values()
    track = run.track("next, order 1", "embedding")
    assert {"held_out", "in_sample", "beyond", "floor"} <= set(track.by_step)
    assert len(track.similarity) == len(run.steps) == 1
    (share,) = report.task["share of labels held"].values()
    assert 0.8 < share < 1
    assert (
        run.track("next", "embedding").by_step["pearson"][0] <= track.by_step["in_sample"][0] + 0.05
    )


def test_a_model_without_checkpoints_is_one_point(shared: Path) -> None:
    report = ew.run(SignaturesRequest(model=str(shared / "models" / "nano-tied-x5"), **SMALL))
    (run,) = report.runs.values()
    assert len(run.steps) == 1
    assert np.isnan(run.steps[0])
    assert from_bytes(to_bytes(report)).to_frame().equals(report.to_frame())


def test_one_model_that_fails_leaves_the_other(tmp_path: Path) -> None:
    report = ew.run(SignaturesRequest(model="nano-tied", other=str(tmp_path / "gone"), **SMALL))
    assert list(report.runs) == ["nano-tied"]
    assert list(report.failed) == ["gone"]
    with pytest.raises(EmbtieError):
        ew.run(SignaturesRequest(model=str(tmp_path / "gone"), **SMALL))


def test_chosen_tokens_are_found_by_their_text_and_what_is_seldom_is_told() -> None:
    chosen = (" the", "␣of", " and", " to", "zzqx", " the")
    with pytest.raises(EmbtieError, match="No token is 'zzqx'"):
        ew.run(SignaturesRequest(model="nano-tied", chosen=chosen, **SMALL))
    text = signature_text.read_text(SignaturesRequest(**SMALL), "nano-tied", 4096)
    seldom = int(np.flatnonzero(np.asarray(text.rows.counts) == 1)[0])
    name = signature_text.display_token(text.rows.tokens[seldom], limit=0)
    asked = SignaturesRequest(model="nano-tied", chosen=(*chosen[:4], name), **SMALL)
    found = signature_text.anchors_of(asked, text, [])
    assert found.names == ("␣the", "␣of", "␣and", "␣to")
    assert len(found.notes) == 1


def test_a_word_that_is_a_token_only_after_a_space_is_found_without_it() -> None:
    text = signature_text.read_text(SignaturesRequest(**SMALL), "nano-tied", 4096)
    known = {key.decode(errors="replace") for key in text.rows.tokens if key is not None}
    often = np.argsort(-np.asarray(text.rows.counts))[:300]
    words = [text.rows.tokens[row].decode(errors="replace") for row in often]
    words = [word[1:] for word in words if word[0] == " " and word[1:].isalpha()]
    bare = [word for word in words if word not in known][:3]
    assert len(bare) == 3
    asked = SignaturesRequest(model="nano-tied", chosen=tuple(bare), **SMALL)
    assert signature_text.anchors_of(asked, text, []).names == tuple(f"␣{word}" for word in bare)


def test_only_tokens_of_a_kind_are_compared() -> None:
    text = signature_text.read_text(SignaturesRequest(**SMALL), "nano-tied", 4096)
    asked = SignaturesRequest(kind_of="word start", **SMALL)
    found = signature_text.anchors_of(asked, text, [])
    assert len(found.names) == 12
    assert all(name.startswith("␣") for name in found.names)
    with pytest.raises(EmbtieError, match="of the kind 'verbs'"):
        signature_text.anchors_of(SignaturesRequest(kind_of="verbs", **SMALL), text, [])


def test_a_short_text_says_that_too_few_tokens_can_be_compared(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("One sentence, and no more. " * 2)
    with pytest.raises(EmbtieError, match="at least 3 are needed"):
        ew.run(SignaturesRequest(corpus=CorpusRef(str(path)), **SMALL))


def test_it_can_be_called_off() -> None:
    with pytest.raises(Cancelled):
        ew.run(SignaturesRequest(**SMALL), progress=Ear(lambda stage, _: stage == "checkpoints"))


# Trained here, and by others.


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with cache_below(tmp_path_factory.mktemp("signatures")) as folder:
        yield {**small(folder), "source": "train", "steps": 6, **SMALL}


def test_twins_are_trained_live_and_known_again(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, request = Ear(), SignaturesRequest(**place)
    report = ew.run(request, progress=heard)
    assert list(report.runs) == ["untied", "tied"]
    assert len(report.runs["untied"].steps) > 2
    assert set(report.runs["untied"].curves) == {"step", "loss"}
    assert heard.parts
    assert all(part.progress for part in heard.parts)
    trained = trained_from_here(monkeypatch)
    again = ew.run(request)
    assert trained == []
    assert again.to_frame().equals(report.to_frame())
    assert again.settings["cached"]
    assert look_up(request) is None  # the text is not one that ships
    assert estimate_signatures(request) is not None


def test_a_recorded_run_is_followed_with_the_text_of_its_tokenizer(
    place: dict[str, Any], tiny_twins: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.01)
    asked = SignaturesRequest(source="run", file=str(tiny_twins.folder), **SMALL)
    with pytest.raises(EmbtieError, match="the model has 320 rows"):
        ew.run(asked)
    with pytest.raises(EmbtieError, match="other tokens"):
        ew.run(replace(asked, **{k: place[k] for k in ("corpus", "tokenizer", "vocabulary")}))
    report = ew.staircase(tiny_twins, **SMALL)
    assert set(report.runs) == {"untied", "tied"}
    assert report.runs["tied"].steps.tolist() == [0, 10, 30]
    own = ew.staircase(tiny_twins.folder / "tied", corpus=[" the 1 and 2 of them"] * 300, **SMALL)
    assert set(own.runs) == {"tied"}
    assert own.task["tokens of text"] != report.task["tokens of text"]


def test_a_run_without_checkpoints_says_so(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "run", name="mine", tied=True, of=2)
    store.append({"step": 1, "loss": 3.0})
    store.set_state("done", 2)
    with pytest.raises(EmbtieError, match="kept no checkpoint"):
        ew.run(SignaturesRequest(source="run", file=str(tmp_path / "run"), **SMALL))


# The call.


def test_the_call_takes_requests_models_and_results(nano: StaircaseReport) -> None:
    assert ew.staircase(nano) is nano
    assert ew.staircase(SignaturesRequest(**SMALL)).to_frame().equals(nano.to_frame())
    assert list(ew.staircase("nano-tied", **SMALL).runs) == ["nano-tied"]
    for wrong in (3, [1, 2]):
        with pytest.raises(EmbtieError, match="is no run"):
            ew.staircase(wrong)
    with pytest.raises(EmbtieError, match="options beside it"):
        ew.staircase(SignaturesRequest(), anchors=5)
