"""Norms against frequency, carried out end to end on models written for the purpose."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import norms as job
from embtie_widgets.jobs.exports import counts_csv
from embtie_widgets.jobs.first import first_result
from embtie_widgets.jobs.norms_cost import estimate_norms
from embtie_widgets.requests import CorpusRef, NormFrequencyRequest
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.sources.load import load
from tests.fresh import run_fresh
from tests.sources.models import edit_tensors, llama, saved

WORDS = [f"w{i}" for i in range(60)]
TEXT = " ".join(word for i, word in enumerate(WORDS[:50]) for _ in range(2 * i + 1))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))


def word_level(words: list[str]) -> Tokenizer:
    """A tokenizer that cuts at spaces; row 0 is for what it does not know."""
    vocabulary = {word: row for row, word in enumerate(["?", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Writes a small model with a tokenizer of these words; gives its reference."""

    def model(name: str, words: list[str] = WORDS, tied: bool = False) -> str:
        folder = saved(llama(tied, vocab_size=len(words) + 1), tmp_path / name)
        word_level(words).save(str(folder / "tokenizer.json"))
        return str(folder)

    return model


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "words.txt"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture
def asked(write: Callable[..., str], text: str) -> NormFrequencyRequest:
    """An untied model, and a tied one that has the same words backwards but for the last ten."""
    b = write("b", WORDS[:50][::-1], tied=True)
    return NormFrequencyRequest(write("a"), b, corpus=text)


def test_the_bundled_pair_comes_with_counts_and_gives_the_numbers_of_numpy() -> None:
    found = ew.run(NormFrequencyRequest())
    a, b = load("nano-untied"), load("nano-tied")
    for name, matrix in (("In", a.input), ("Out", a.output), ("Tied", b.input)):
        lengths = np.linalg.norm(matrix.double().numpy(), axis=1)
        np.testing.assert_allclose(found.matrices[name].norm, lengths, rtol=1e-9)
        assert found.frobenius[name] == pytest.approx(np.linalg.norm(matrix.double().numpy()))
    np.testing.assert_array_equal(found.token_counts, a.token_counts)
    assert found.corpora["A"].total == found.token_counts.sum()
    rows = (found.matrices[name].norm for name in ("Out", "Tied"))
    assert found.between["Out, Tied"].pearson == pytest.approx(np.corrcoef(*rows)[0, 1])
    assert not found.counted_twice
    assert found.groups[0]["In"] > 0


def test_the_result_that_ships_is_what_the_bundled_pair_gives() -> None:
    shipped, now = first_result(NormFrequencyRequest()), ew.run(NormFrequencyRequest())
    assert shipped is not None
    assert shipped.summary() == now.summary()
    assert (shipped.tokens, shipped.hashes, shipped.models) == (now.tokens, now.hashes, now.models)
    assert shipped.groups == now.groups
    for name, one in now.matrices.items():
        np.testing.assert_allclose(shipped.matrices[name].norm, one.norm, rtol=1e-12)


def test_the_result_that_ships_needs_no_torch() -> None:
    code = (
        "import embtie_widgets as ew;"
        "panel = ew.NormFrequencyPanel();"
        "assert panel.result is not None and 'Spearman' in panel.headline.value"
    )
    run_fresh(code, "torch")


def test_every_model_has_its_own_counts_where_the_tokenizers_differ(
    asked: NormFrequencyRequest,
) -> None:
    found = ew.run(asked)
    truth = {f"w{i}".encode(): 2 * i + 1 for i in range(50)}
    words = [key for key in found.tokens if key in truth]
    assert len(words) == 50
    for name in ("In", "Out", "Tied"):
        held = dict(zip(found.tokens, found.matrices[name].counts.tolist(), strict=True))
        assert {key: held[key] for key in words} == truth
    assert found.corpora["A"].total == 2500
    rows = {key: row for row, key in enumerate(load(asked.b).tokens or [])}
    assert [rows[key] for key in found.tokens] == found.rows_b.tolist()


def test_a_text_that_two_tokenizers_cut_differently_gives_tied_counts_of_its_own(
    write: Callable[..., str], text: str
) -> None:
    asked = NormFrequencyRequest(write("a"), write("b", WORDS[5:], tied=True), corpus=text)
    found = ew.run(asked)
    assert found.counted_twice
    place = found.tokens.index(b"?")
    assert found.matrices["In"].counts[place] == 0
    assert found.matrices["Tied"].counts[place] == 1 + 3 + 5 + 7 + 9
    assert list(found.corpora) == ["A", "B"]


def test_one_tokenizer_is_asked_once(
    write: Callable[..., str], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    plain = job.count_tokens

    def watched(corpus: Any, model: Any, progress: Any) -> Any:
        asked.append(model.name)
        return plain(corpus, model, progress)

    monkeypatch.setattr(job, "count_tokens", watched)
    found = ew.run(NormFrequencyRequest(write("a"), write("b", tied=True), corpus=text))
    assert asked == ["a"]
    assert not found.counted_twice
    assert found.notes == ()


def test_a_model_without_tokenizer_takes_the_counts_of_the_other_and_a_note_says_so(
    write: Callable[..., str], text: str
) -> None:
    b = write("b", tied=True)
    tokens = Path(b) / "tokens.txt"
    tokens.write_text("\n".join(["?", *WORDS]) + "\n")
    np.save(Path(b) / "matrix.npy", np.random.default_rng(0).normal(size=(61, 8)))
    loose = ew.ModelRef(str(Path(b) / "matrix.npy"), tokens_file=str(tokens), treat_as_tied=True)
    found = ew.run(NormFrequencyRequest(write("a"), loose, corpus=text))
    assert list(found.corpora) == ["A"]
    assert any("Only A has counts" in note for note in found.notes)
    assert found.matrices["Tied"].correlation.tokens == 50


def test_models_without_counts_are_told_what_to_choose(write: Callable[..., str]) -> None:
    with pytest.raises(EmbtieError, match="Neither a nor b brings counts") as told:
        ew.run(NormFrequencyRequest(write("a"), write("b", tied=True)))
    assert "bundled English text" in told.value.hint


def test_a_ready_count_file_by_token_serves_both(asked: NormFrequencyRequest, text: str) -> None:
    path = Path(text).with_suffix(".json")
    path.write_text(json.dumps({"w1": 7, "w2": 9, "w3": 10**12, "never": 4}))
    found = ew.run(replace(asked, corpus=str(path)))
    held = dict(zip(found.tokens, found.token_counts.tolist(), strict=True))
    assert (held[b"w1"], held[b"w2"], held[b"w3"], held[b"w4"]) == (7, 9, 10**12, 0)
    assert found.matrices["In"].correlation.tokens == 3
    assert found.corpora["A"].unknown == 4


@pytest.mark.parametrize("name", ["rows.npy", "rows.csv"])
def test_counts_by_row_are_never_those_of_two_vocabularies(
    name: str, write: Callable[..., str], tmp_path: Path
) -> None:
    counts = np.arange(1, len(WORDS) + 2)
    path = tmp_path / name
    if name.endswith(".npy"):
        np.save(path, counts)
    else:
        path.write_text("row,count\n" + "".join(f"{i},{n}\n" for i, n in enumerate(counts)))
    b = write("b", WORDS[::-1], tied=True)
    found = ew.run(NormFrequencyRequest(write("a"), b, corpus=str(path)))
    for one in found.matrices.values():
        assert np.array_equal(one.counts, counts[found.rows_a])
    assert list(found.corpora) == ["A"]
    assert f"{name} says no tokens: its rows are taken as those of a." in found.notes
    assert any("Only A has counts" in note for note in found.notes)
    same = ew.run(NormFrequencyRequest(write("a"), write("c", tied=True), corpus=str(path)))
    assert not any("says no tokens" in note for note in same.notes)


def test_the_exported_counts_can_be_named_as_a_corpus(
    asked: NormFrequencyRequest, tmp_path: Path
) -> None:
    first = ew.run(asked)
    table = tmp_path / "counts.csv"
    table.write_bytes(counts_csv(first.corpora["A"]))
    again = ew.run(replace(asked, corpus=str(table)))
    np.testing.assert_array_equal(again.token_counts, first.token_counts)


def test_a_corpus_that_is_not_there_is_told_before_a_model_is_loaded(
    asked: NormFrequencyRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "open_pair", lambda *_: pytest.fail("a model was loaded"))
    with pytest.raises(EmbtieError, match=r"gone\.txt"):
        ew.run(replace(asked, corpus="gone.txt"))


def test_counting_can_be_cancelled(asked: NormFrequencyRequest) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "counting tokens":
            raise Cancelled

    with pytest.raises(Cancelled):
        ew.run(asked, progress=stop)


def test_stages_are_told_in_their_order(asked: NormFrequencyRequest) -> None:
    stages: list[str] = []
    ew.run(asked, progress=lambda stage, *_: stages.append(stage))
    told = list(dict.fromkeys(stages))
    assert told.index("loading") < told.index("counting tokens") < told.index("correlating")


def test_a_result_is_kept_until_text_or_seed_change(asked: NormFrequencyRequest, text: str) -> None:
    first = ew.run(asked)
    again = ew.run(asked)
    assert (first.settings["cached"], again.settings["cached"]) == (False, True)
    assert not ew.run(replace(asked, seed=1)).settings["cached"]
    Path(text).write_text(TEXT + " w59 w59")
    changed = ew.run(asked)
    assert not changed.settings["cached"]
    assert changed.corpora["A"].total == first.corpora["A"].total + 2


def test_what_was_left_is_looked_up(asked: NormFrequencyRequest) -> None:
    assert job.look_up(asked) is None
    assert job.look_up(NormFrequencyRequest()) is None
    first = ew.run(asked)
    assert job.look_up(asked).summary() == first.summary()
    ew.run(NormFrequencyRequest())
    assert job.look_up(NormFrequencyRequest()).settings["cached"]


def test_what_was_left_of_another_text_is_not_given_out(
    asked: NormFrequencyRequest, text: str, tmp_path: Path
) -> None:
    counts = tmp_path / "counts.npy"
    np.save(counts, np.arange(61))
    ready = replace(asked, corpus=CorpusRef(str(counts)))
    for request in (asked, ready):
        ew.run(request)
        assert job.look_up(request) is not None
    Path(text).write_text(TEXT + " w59 w59")
    np.save(counts, np.arange(61)[::-1])
    for request in (asked, ready):
        assert job.look_up(request) is None
        fresh = ew.run(request)
        assert np.array_equal(job.look_up(request).token_counts, fresh.token_counts)


def test_a_visitor_is_told_nothing_of_texts_that_others_have_counted(
    asked: NormFrequencyRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    ew.run(asked)
    monkeypatch.setenv("EMBTIE_SERVED", "1")
    assert job.look_up(asked) is None
    with pytest.raises(EmbtieError, match="shared page") as told:
        ew.run(asked)
    assert str(Path(asked.corpus.ref).parent) not in str(told.value)


def test_wrong_norms_are_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = job.survey

    def wrong(matrix: torch.Tensor, progress: Any) -> Any:
        norms, total = plain(matrix, progress)
        return norms * 1.01, total

    monkeypatch.setattr(job, "survey", wrong)
    with pytest.raises(EmbtieError, match=r"identity check failed: row norms differ"):
        ew.run(NormFrequencyRequest())


def test_counts_that_do_not_add_up_are_withheld(
    asked: NormFrequencyRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = job.count_tokens
    monkeypatch.setattr(
        job, "count_tokens", lambda *given: replace(plain(*given), total=plain(*given).total + 1)
    )
    with pytest.raises(EmbtieError, match=r"rows hold 2,500 tokens, and 2,501 were"):
        ew.run(asked)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_gives_the_norms_of_the_stored_values(
    asked: NormFrequencyRequest, dtype: torch.dtype
) -> None:
    head = torch.randn(61, 8).to(dtype)
    edit_tensors(Path(asked.a.ref), **{"lm_head.weight": head})
    found = ew.run(asked)
    right = head.double().norm(dim=1).numpy()[found.rows_a]
    np.testing.assert_allclose(found.matrices["Out"].norm, right, rtol=1e-6)


def test_rows_not_finite_and_empty_ones_are_named_counted_and_change_nothing_else(
    asked: NormFrequencyRequest,
) -> None:
    before = ew.run(asked)
    empty = int(before.rows_a[before.token_counts == 0][0])
    head = load(asked.a).output
    assert head is not None
    broken = head.clone()
    broken[7, 0], broken[9, 3], broken[empty] = float("nan"), float("inf"), 0.0
    edit_tensors(Path(asked.a.ref), **{"lm_head.weight": broken})
    found = ew.run(asked)
    out = found.matrices["Out"]
    assert out.settings["rows_left_out"] == {"not finite": 2, "zero": 1}
    assert sum("Out: 2 rows are left out, being not finite" in note for note in found.notes) == 1
    assert found.summary()[1]["left_out"] == 3
    assert np.isnan(out.norm).sum() == 2
    assert found.matrices["In"].correlation == before.matrices["In"].correlation
    kept = out.used
    clean = np.corrcoef(out.log_count[kept], before.matrices["Out"].norm[kept])[0, 1]
    assert out.pearson == pytest.approx(clean, abs=1e-12)
    assert found.between["In, Out"].tokens == before.between["In, Out"].tokens - 3


def test_a_text_without_a_single_known_token_gives_no_correlation_and_no_crash(
    asked: NormFrequencyRequest, text: str
) -> None:
    Path(text).write_text("nothing of it")
    found = ew.run(asked)
    assert found.matrices["In"].correlation.tokens <= 1
    assert np.isnan(found.matrices["In"].pearson)


def test_the_result_is_stored_whole(asked: NormFrequencyRequest) -> None:
    found = ew.run(asked)
    again = from_bytes(to_bytes(found))
    assert again.summary() == found.summary()
    assert (again.tokens, again.notes, again.groups) == (found.tokens, found.notes, found.groups)
    np.testing.assert_array_equal(again.corpora["A"].counts, found.corpora["A"].counts)


def test_the_cost_is_known_once_the_models_are(asked: NormFrequencyRequest) -> None:
    assert estimate_norms(NormFrequencyRequest(a="never/opened")) is None
    ew.run(asked)
    own, read = estimate_norms(replace(asked, corpus=CorpusRef())), estimate_norms(asked)
    assert own is not None
    assert read is not None
    assert 0 < own.seconds < read.seconds
    with pytest.raises(EmbtieError):
        estimate_norms(replace(asked, corpus="gone.txt"))


def test_exchanged_models_keep_their_counts(asked: NormFrequencyRequest) -> None:
    turned = ew.run(replace(asked, a=asked.b, b=asked.a))
    assert turned.settings["exchanged"]
    straight = ew.run(asked)
    assert turned.matrices["Tied"].correlation == straight.matrices["Tied"].correlation
