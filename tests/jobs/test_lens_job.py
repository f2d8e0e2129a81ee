"""The lens carried out end to end on models written for the purpose."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import lens as job
from embtie_widgets.jobs import lens_plan, lens_training
from embtie_widgets.jobs.lens_cost import estimate_lens, size_of
from embtie_widgets.jobs.lens_files import trained_lens
from embtie_widgets.jobs.lens_plan import plan
from embtie_widgets.jobs.lens_sides import hash_of
from embtie_widgets.jobs.lens_store import forget, recalled
from embtie_widgets.jobs.runner import Job
from embtie_widgets.jobs.uploads import LENS, UPLOADED, keep_upload
from embtie_widgets.requests import CorpusRef, LensRequest
from embtie_widgets.requests.code import to_code
from embtie_widgets.results.lens import Lens
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.sources.models import let_go, sizes_of
from tests.jobs.lens_models import WORDS, words, write_model, write_tokenizer
from tests.jobs.trainings import Ear
from tests.sources.models import edit_tensors


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are kept, and nothing is known from another test."""
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    forget()


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return write_model(tmp_path / "untied"), write_model(tmp_path / "tied", tied=True, seed=1)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "words.txt"
    path.write_text(words(3_000))
    return path


@pytest.fixture
def logit(pair: tuple[str, str], text: Path) -> LensRequest:
    return LensRequest(*pair, lens="logit", corpus=CorpusRef(str(text)), length=16, positions=400)


@pytest.fixture
def tuned(logit: LensRequest) -> LensRequest:
    return replace(logit, lens="tuned", steps=6, train_tokens=800)


def same(one: Lens, other: Lens) -> bool:
    fields = ("kl_bits", "intervals", "entropy_bits", "agreement", "mean_rank", "per_token")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in fields)


def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on no model may be opened."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a model was opened")

    monkeypatch.setattr(job, "open_model", refuse)


def test_both_models_get_their_curve_from_the_embedding_to_the_end(logit: LensRequest) -> None:
    result = ew.run(logit)
    assert list(result.lenses) == ["A", "B"]
    assert (result.failed, result.progress, result.settings["cached"]) == ({}, "", False)
    for lens in result.lenses.values():
        assert lens.points == ["embedding", "1", "2"]
        assert lens.kl_bits[0] > lens.kl_bits[-1]
        assert lens.kl_bits[-1] == pytest.approx(0, abs=1e-6)
        assert lens.last_layer_check < 1e-4
        assert lens.floor is not None
        assert lens.readings is not None
        assert lens.tokens[0] in {word.encode() for word in WORDS}
    assert result.models["A"]["tied"] == "untied"
    assert result.models["B"]["tied"] == "tied"
    assert (result.models["A"]["layers"], result.models["A"]["rows"]) == (2, 41)
    assert result.text["name"] == "words.txt"
    assert len(result.to_frame()) == 6


def test_a_result_comes_back_whole_from_its_bytes(tuned: LensRequest) -> None:
    result = ew.run(tuned)
    again = from_bytes(to_bytes(result))
    assert all(same(result.lenses[side], again.lenses[side]) for side in "AB")
    assert again.settings == result.settings
    assert again.facts() == result.facts()
    assert np.array_equal(again.training["A"]["kl_bits"], result.training["A"]["kl_bits"])


def test_a_short_training_says_how_much_it_read(
    tuned: LensRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lens_plan, "BUDGET", 1e7)
    heard = Ear()
    request = replace(tuned, train_tokens=0, steps=100)
    result = ew.run(request, progress=heard)
    learned = result.lenses["A"].settings["training"]
    planned = plan(request, size_of(sizes_of(request.a)))
    assert 2 <= planned.tokens < 1_000
    assert planned.steps == 1
    assert learned["steps"] == learned["done"] == planned.steps
    assert learned["positions"] + learned["held_positions"] <= planned.tokens
    told = f"{planned.tokens:,} of 50,000 tokens read for training, 1 of 100 steps"
    assert any(told in note for note in result.notes)
    assert "training" not in " ".join(ew.run(tuned).notes)
    assert heard.parts[0].training["A"]["step"].tolist() == [0]


def test_what_a_run_costs_is_known_once_its_models_were_looked_for(tuned: LensRequest) -> None:
    assert estimate_lens(tuned) is None
    assert job.look_up(tuned) is None
    cost = estimate_lens(tuned)
    assert cost is not None
    assert cost.seconds > 0


def test_the_same_model_twice_gives_equal_curves(tuned: LensRequest) -> None:
    result = ew.run(replace(tuned, b=tuned.a))
    assert same(result.lenses["A"], result.lenses["B"])


def test_paper_and_corrected_logit_lens_part_at_the_last_point_alone(logit: LensRequest) -> None:
    corrected, paper = ew.run(logit), ew.run(replace(logit, mode="paper"))
    for side in "AB":
        one, other = corrected.lenses[side].kl_bits, paper.lenses[side].kl_bits
        assert np.allclose(one[:-1], other[:-1], atol=1e-6)
        assert other[-1] > one[-1] + 1e-3


def test_copied_code_gives_the_same_numbers(
    tuned: LensRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ew.run(tuned)
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    forget()
    names: dict[str, Any] = {}
    exec(to_code(tuned), names)
    assert names["result"].settings["cached"] is False
    for side in "AB":
        assert np.allclose(
            names["result"].lenses[side].kl_bits, result.lenses[side].kl_bits, atol=1e-6
        )


def test_asked_again_it_comes_from_the_cache_and_no_model_is_opened(
    tuned: LensRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ew.run(tuned)
    closed(monkeypatch)
    again = ew.run(tuned)
    assert again.settings["cached"] is True
    assert all(same(first.lenses[side], again.lenses[side]) for side in "AB")


def test_another_partner_opens_the_other_model_alone(
    logit: LensRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ew.run(logit)
    opened, open_model = [], job.open_model

    def watched(ref: Any, **how: Any) -> Any:
        opened.append(Path(ref.ref).name)
        return open_model(ref, **how)

    monkeypatch.setattr(job, "open_model", watched)
    ew.run(replace(logit, b=write_model(tmp_path / "third", seed=3)))
    assert opened == ["third"]


def test_another_text_in_the_same_file_is_another_result(logit: LensRequest, text: Path) -> None:
    first = ew.run(logit)
    text.write_text(words(3_000, seed=5))
    second = ew.run(logit)
    assert second.settings["cached"] is False
    assert not same(first.lenses["A"], second.lenses["A"])


def test_another_body_of_the_model_is_another_result_though_its_matrices_are_the_same(
    logit: LensRequest,
) -> None:
    first = ew.run(logit)
    changed = {"model.layers.0.mlp.down_proj.weight": torch.randn(16, 16)}
    edit_tensors(Path(logit.a.ref), **changed)
    second = ew.run(logit)
    assert second.settings["cached"] is False
    assert not same(first.lenses["A"], second.lenses["A"])
    assert same(first.lenses["B"], second.lenses["B"])


def test_another_tokenizer_of_the_same_model_is_another_result(logit: LensRequest) -> None:
    first = ew.run(logit)
    write_tokenizer(Path(logit.a.ref), WORDS[::-1])
    second = ew.run(logit)
    assert not same(first.lenses["A"], second.lenses["A"])
    said = next(note for note in second.notes if "different tokens" in note)
    for side, known in (("A", WORDS[::-1]), ("B", WORDS)):
        lens = second.lenses[side]
        pieces = [lens.ids[lens.piece == piece] for piece in np.unique(lens.piece)]
        letters = sum(len(" ".join(known[row - 1] for row in ids)) for ids in pieces)
        name = second.models[side]["name"]
        assert f"{name} reads 400 tokens, some {letters:,} letters" in said


def test_another_saved_lens_under_the_same_name_is_another_result(
    tuned: LensRequest, tmp_path: Path, text: Path
) -> None:
    path = tmp_path / "mine.safetensors"
    ew.train_lens(tuned.a.ref, text.read_text(), 0, length=16, start="zero").save(path)
    request = replace(tuned, translators_a=str(path))
    first = ew.run(request)
    assert first.lenses["A"].settings["translators"] == "saved"
    ew.train_lens(tuned.a.ref, text.read_text(), 5, length=16).save(path)
    second = ew.run(request)
    assert second.settings["cached"] is False
    assert second.lenses["A"].kl_bits[0] < first.lenses["A"].kl_bits[0]


def test_a_lens_that_is_trained_saved_and_loaded_gives_the_same_numbers(
    tuned: LensRequest, tmp_path: Path
) -> None:
    trained = ew.run(tuned)
    paths = {}
    for side in "AB":
        paths[side] = tmp_path / f"{side}.safetensors"
        paths[side].write_bytes(trained_lens(trained, side))
    loaded = ew.run(replace(tuned, translators_a=str(paths["A"]), translators_b=str(paths["B"])))
    for side in "AB":
        assert np.allclose(loaded.lenses[side].per_token, trained.lenses[side].per_token, atol=1e-6)
    assert loaded.training == {"A": {}, "B": {}}


def test_an_uploaded_lens_is_run_like_one_that_is_named(
    tuned: LensRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = ew.run(tuned)
    named = keep_upload(LENS, trained_lens(trained, "A"), "mine.safetensors")
    assert named.startswith(UPLOADED)
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    tuned = replace(tuned, text=words(800), corpus=CorpusRef())
    found = ew.run(replace(tuned, translators_a=named))
    assert found.lenses["A"].settings["translators"] == "saved"
    for wrong in (UPLOADED + "0" * 64, UPLOADED + "../../x"):
        with pytest.raises(EmbtieError, match="not here any more"):
            ew.run(replace(tuned, translators_a=wrong))
    for content, name in ((b"x" * 99, "a.pt"), (b"", "a.safetensors")):
        with pytest.raises(EmbtieError, match="expected a"):
            keep_upload(LENS, content, name)
    broken = keep_upload(LENS, b"x" * 99, "broken.safetensors")
    result = ew.run(replace(tuned, translators_a=broken))
    assert list(result.failed) == ["A"]
    assert "broken.safetensors" in result.failed["A"]
    assert broken.removeprefix(UPLOADED) not in str(result.failed)


def test_a_lens_of_another_model_is_refused_and_the_other_keeps_its_curve(
    tuned: LensRequest, tmp_path: Path, text: Path
) -> None:
    path = tmp_path / "mine.safetensors"
    ew.train_lens(tuned.a.ref, text.read_text(), 1, length=16).save(path)
    result = ew.run(replace(tuned, translators_b=str(path)))
    assert list(result.lenses) == ["A"]
    assert "another output matrix" in result.failed["B"]
    assert str(tmp_path) not in result.failed["B"]


def test_a_model_without_tokenizer_does_not_take_the_others_curve(
    logit: LensRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = write_model(tmp_path / "bare", tokenizer=False)
    result = ew.run(replace(logit, b=bare))
    assert list(result.lenses) == ["A"]
    assert "tokenizer" in result.failed["B"]
    assert result.models["B"]["name"] == "bare"
    assert not result.settings["cached"]
    write_tokenizer(Path(bare))
    again = ew.run(replace(logit, b=bare))
    assert list(again.lenses) == ["A", "B"]


def test_a_model_that_fails_its_check_leaves_a_reason_in_place_of_its_curve(
    logit: LensRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = job.measure_lens

    def checked(model: Any, pieces: Any, **how: Any) -> Lens:
        if model.config.tie_word_embeddings:
            raise EmbtieError("Its last layer does not give its own logits.", "Report it.")
        return measure(model, pieces, **how)

    monkeypatch.setattr(job, "measure_lens", checked)
    result = ew.run(logit)
    assert (list(result.lenses), list(result.failed)) == (["A"], ["B"])
    assert result.failed["B"] == "Its last layer does not give its own logits. Report it."
    assert not job.look_up(logit)


def test_two_models_that_both_fail_are_an_error(logit: LensRequest, tmp_path: Path) -> None:
    bare = write_model(tmp_path / "bare", tokenizer=False)
    with pytest.raises(EmbtieError, match="tokenizer"):
        ew.run(replace(logit, a=bare, b=bare))


def test_what_is_mistyped_is_told_before_a_model_is_opened(
    tuned: LensRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed(monkeypatch)
    for wrong in (
        replace(tuned, corpus=CorpusRef("gone.txt")),
        replace(tuned, translators_b=str(tmp_path / "gone.safetensors")),
        replace(tuned, text="w1"),
    ):
        with pytest.raises(EmbtieError) as caught:
            ew.run(wrong)
        assert str(tmp_path) not in str(caught.value)


def test_while_it_trains_the_curve_grows_and_says_how_far_it_has_come(
    tuned: LensRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lens_training, "_PICTURE_SECONDS", 0.0)
    ear = Ear()
    result = job.run_lens(tuned, ear)
    said = [part.progress for part in ear.parts]
    assert "1 of 2 models" in said
    assert all(said)
    training = [part for part in ear.parts if "of 6 steps of untied" in part.progress]
    assert training
    lengths = [len(part.training["A"]["step"]) for part in training]
    assert lengths == sorted(lengths)
    assert training[-1].training["A"]["kl_bits"].shape == (lengths[-1], 2)
    assert training[-1].lenses == {}
    after = ear.parts[said.index("1 of 2 models")]
    assert list(after.lenses) == ["A"]
    assert result.progress == ""
    steps = result.training["A"]["step"]
    assert (steps[-1], list(steps)) == (6, sorted(set(steps)))
    assert from_bytes(to_bytes(training[-1])).progress == training[-1].progress


def test_cancel_keeps_what_is_learned_and_the_same_request_goes_on_from_it(
    tuned: LensRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = replace(tuned, steps=40)
    taken: list[int] = []
    train = lens_training.train_translators

    def watched(*given: Any, resume: Any = None, watch: Any = None, **how: Any) -> Any:
        taken.append(0 if resume is None else 1)
        return train(*given, resume=resume, watch=watch, **how)

    monkeypatch.setattr(lens_training, "train_translators", watched)
    ear = Ear(lambda stage, done: stage == "training the lens" and done >= 10)
    with pytest.raises(Cancelled):
        job.run_lens(request, ear)
    assert job.look_up(request) is None
    whole = job.run_lens(request, Ear())
    assert taken == [0, 1, 0]
    assert whole.training["A"]["step"][-1] == 40
    assert "stopped" not in str(whole.lenses["A"].settings)
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    forget()
    at_once = job.run_lens(request, Ear())
    assert np.allclose(whole.lenses["A"].kl_bits, at_once.lenses["A"].kl_bits, atol=0.02)


def test_a_cancelled_job_ends_as_cancelled_with_its_last_part_told(tuned: LensRequest) -> None:
    told: list[Any] = []

    class Listener:
        def progressed(self, stage: Any) -> None:
            if stage.total == 40 and stage.done >= 5:
                running.cancel()

        def previewed(self, preview: Any) -> None:
            told.append(preview)

        def finished(self, outcome: Any) -> None:
            told.append(outcome)

    running = Job(replace(tuned, steps=40), Listener())
    running.work(ew.run)
    assert told[-1].cancelled
    assert all(preview.partial for preview in told[:-1])


def test_with_the_cache_off_a_trained_lens_can_still_be_saved(
    tuned: LensRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", "off")
    result = ew.run(tuned)
    path = tmp_path / "mine.safetensors"
    path.write_bytes(trained_lens(result, "B"))
    assert len(ew.load_lens(path)) == 2
    logit = ew.run(replace(tuned, lens="logit"))
    with pytest.raises(EmbtieError, match="not trained here"):
        trained_lens(logit, "A")


def test_an_earlier_result_is_found_and_only_where_it_is_the_same(
    logit: LensRequest, text: Path
) -> None:
    assert job.look_up(logit) is None
    ew.run(logit)
    found = job.look_up(logit)
    assert found is not None
    assert found.settings["cached"] is True
    assert job.look_up(replace(logit, positions=401)) is None
    text.write_text(words(3_000, seed=9))
    assert job.look_up(logit) is None


def test_a_visitor_is_shown_no_result_of_somebodys_text(
    logit: LensRequest, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pasted = replace(logit, corpus=CorpusRef(), text=words(900))
    for request in (logit, pasted):
        ew.run(request)
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    assert job.look_up(logit) is None
    assert job.look_up(pasted) is not None


def test_pasted_text_goes_before_the_corpus(logit: LensRequest) -> None:
    result = ew.run(replace(logit, text=words(500, seed=2), corpus=CorpusRef("gone.txt")))
    assert result.text["name"] == "pasted text"


def test_the_hash_of_a_saved_lens_is_that_of_what_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "params.pt").write_bytes(b"1")
    before = hash_of(folder)
    shutil.copytree(folder, tmp_path / "copy")
    assert hash_of(tmp_path / "copy") == before
    (folder / "params.pt").write_bytes(b"2")
    assert hash_of(folder) != before


def test_what_is_known_of_a_training_is_found_by_what_decides_it(
    tuned: LensRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ew.run(tuned)
    key = result.hashes["translators A"]
    assert recalled(key) is not None
    let_go()
    for other in ({"steps": 5}, {"seed": 1}, {"recipe": "published"}, {"train_tokens": 600}):
        changed = ew.run(replace(tuned, **other))
        assert changed.hashes["translators A"] != key
    mode = ew.run(replace(tuned, mode="paper"))
    assert mode.hashes["translators A"] == key
