"""Pairing rows by bytes: every row accounted for, none used twice."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import embtie_widgets as ew
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.matching import Match, match_keys
from embtie_widgets.sources.tokens import read_vocabulary
from tests.sources.models import handmade, llama
from tests.sources.vocabularies import byte_level, sentencepiece


def total(counts: dict[str, int]) -> int:
    return sum(counts.values()) + counts["matched"]


def loaded(rows: int, tokens: Any = None, name: str = "m", **more: Any) -> Loaded:
    return Loaded(name, torch.randn(rows, 4), None, "input only", tokens, **more)


def pairs(found: Match) -> dict[bytes | None, tuple[int, int]]:
    rows = zip(found.rows_a.tolist(), found.rows_b.tolist(), strict=True)
    return dict(zip(found.keys, rows, strict=True))


def test_the_real_vocabularies_share_the_papers_number_of_tokens(shared: Path) -> None:
    gpt2 = read_vocabulary(shared / "data" / "gpt2_vocab.json").by_row(50_257)
    neox = read_vocabulary(shared / "data" / "gpt_neox_tokenizer.json").by_row(50_432)
    found = match_keys(gpt2, neox)
    assert found.counts["matched"] == len(found.rows_a) == 36_938
    assert found.counts["padding_b"] == 50_432 - 50_280
    assert total(found.counts) == 50_257 + 50_432
    strings = set(json.loads((shared / "data" / "gpt2_vocab.json").read_text()))
    other = json.loads((shared / "data" / "gpt_neox_tokenizer.json").read_text())["model"]
    assert len(strings & set(other["vocab"])) == 36_938


def test_an_added_run_of_marks_meets_the_run_of_spaces() -> None:
    pieces = sentencepiece()
    pieces.add_tokens(["▁▁"])
    found = match_keys(
        read_vocabulary(pieces).by_row(263), read_vocabulary(byte_level()).by_row(262)
    )
    assert pairs(found)[b"  "] == (262, 260)


def test_a_match_and_a_model_print_in_a_line() -> None:
    model = loaded(9_000, [b"%d" % row for row in range(9_000)])
    assert repr(model) == "Loaded('m', input only, 9000 x 4, float32, 9000 tokens)"
    assert repr(loaded(3)) == "Loaded('m', input only, 3 x 4, float32, no tokens)"
    shown = repr(ew.match(model, model))
    assert shown.startswith("Match(by bytes: matched=9000, only_a=0")
    assert len(shown) < 120


def test_families_meet_in_the_same_bytes() -> None:
    a, b = read_vocabulary(sentencepiece()), read_vocabulary(byte_level())
    found = match_keys(a.by_row(262), b.by_row(262), a.byte_rows, b.byte_rows)
    met = pairs(found)
    space = list(b.by_row(262)).index(b" ")
    assert met[b" the"] == (256, 257)
    assert met[b"the"] == (257, 258)
    assert met[b" "] == (258, space)
    assert met[b"a"][0] == 259
    assert met[b"\xe4"][0] == 0xE4
    assert found.counts == {
        "matched": 258,
        "only_a": 0,
        "only_b": 4,
        "padding_a": 0,
        "padding_b": 0,
        "ambiguous": 4,
    }
    assert (found.ambiguous_a, found.ambiguous_b) == (4, 0)
    assert total(found.counts) == 262 * 2


def test_the_byte_token_gives_way_to_text_wherever_it_stands() -> None:
    found = match_keys([b"a", b"a", None], [b"x", b"a"], byte_rows_a={0})
    assert pairs(found) == {b"a": (1, 1)}
    assert found.counts["ambiguous"] == 1
    assert len(found.notes) == 1


def test_of_two_equal_texts_the_lower_row_is_taken() -> None:
    found = match_keys([b"a", b"b", b"a"], [b"a", b"a"])
    assert pairs(found) == {b"a": (0, 0)}
    assert found.counts["ambiguous"] == 2


def drawn(random: np.random.Generator) -> tuple[list[bytes | None], set[int]]:
    pool = [None, *(bytes([byte]) for byte in range(12)), b"", b"ab"]
    keys = [pool[int(place)] for place in random.integers(len(pool), size=random.integers(30))]
    return keys, set(random.integers(30, size=5).tolist())


@pytest.mark.parametrize("seed", range(25))
def test_counts_add_up_and_no_row_is_used_twice(seed: int) -> None:
    random = np.random.default_rng(seed)
    (a, raw_a), (b, raw_b) = drawn(random), drawn(random)
    found = match_keys(a, b, raw_a, raw_b)
    assert set(found.counts) == {
        "matched",
        "only_a",
        "only_b",
        "padding_a",
        "padding_b",
        "ambiguous",
    }
    assert total(found.counts) == len(a) + len(b)
    assert found.ambiguous_a + found.ambiguous_b == found.counts["ambiguous"]
    assert len(set(found.rows_a.tolist())) == len(set(found.rows_b.tolist())) == len(found.keys)
    assert found.rows_a.tolist() == sorted(found.rows_a.tolist())
    assert found.rows_a.dtype == found.rows_b.dtype == np.int64
    for key, (row_a, row_b) in pairs(found).items():
        assert key == a[row_a] == b[row_b]
    other = match_keys(b, a, raw_b, raw_a)
    assert dict(zip(other.rows_b, other.rows_a, strict=True)) == dict(
        zip(found.rows_a, found.rows_b, strict=True)
    )


@pytest.mark.parametrize("extra_b", [47, 60])
def test_padding_rows_take_no_part_and_are_counted(tmp_path: Path, extra_b: int) -> None:
    random = np.random.default_rng(0)
    A = random.standard_normal((500, 32))
    Q, _ = np.linalg.qr(random.standard_normal((32, 32)))
    tokens = [f"t{row}" for row in range(500)]
    (tmp_path / "t.json").write_text(json.dumps(tokens))
    models = []
    for name, matrix, extra in (("a", A, 47), ("b", A @ Q, extra_b)):
        padding = 0.02 * random.standard_normal((extra, 32))
        np.save(tmp_path / f"{name}.npy", np.concatenate([matrix, padding]))
        models.append((tmp_path / f"{name}.npy", None, tmp_path / "t.json"))
    found = ew.match(*models)
    assert found.counts == {
        "matched": 500,
        "only_a": 0,
        "only_b": 0,
        "padding_a": 47,
        "padding_b": extra_b,
        "ambiguous": 0,
    }
    x, y = (ew.load(model).input for model in models)
    result = ew.align(x[found.rows_a], y[found.rows_b], map="orthogonal", center=False, holdout=0)
    assert result.mean == pytest.approx(1.0, abs=1e-9)


def test_without_token_lists_equal_heights_are_paired_by_row_with_a_note() -> None:
    found = ew.match(loaded(5), loaded(5, name="n"))
    assert found.policy == "rows"
    assert found.rows_a.tolist() == found.rows_b.tolist() == [0, 1, 2, 3, 4]
    assert found.keys == [None] * 5
    assert "m and n have no token list" in found.notes[0]


def test_without_token_lists_unequal_heights_are_refused_with_the_way_out() -> None:
    with pytest.raises(ew.EmbtieError, match="5 rows and n 6") as caught:
        ew.match(loaded(5), loaded(6, name="n"))
    assert "token list" in caught.value.hint
    with pytest.raises(ew.EmbtieError, match="only one has"):
        ew.match(loaded(5), loaded(6, [b"a"] * 6))


def test_one_token_list_names_the_rows_of_both() -> None:
    model = loaded(3, [b"a", b"b", None], padding=np.array([2]))
    found = ew.match(loaded(3, name="n"), model)
    assert found.keys == [b"a", b"b"]
    assert found.counts == {
        "matched": 2,
        "only_a": 1,
        "only_b": 0,
        "padding_a": 0,
        "padding_b": 1,
        "ambiguous": 0,
    }
    assert "n has no token list" in found.notes[0]


def test_only_rows_of_both_matrices_of_a_model_are_paired(tmp_path: Path) -> None:
    names = ("model.embed_tokens.weight", "lm_head.weight")
    tensors = {names[0]: torch.randn(40, 8), names[1]: torch.randn(32, 8)}
    config = {"architectures": ["LlamaForCausalLM"], "vocab_size": 40}
    a = ew.load(handmade(tmp_path, config, **tensors))
    found = ew.match(a, a)
    assert found.rows_a.max() == 31
    assert found.counts["padding_a"] == found.counts["padding_b"] == 8
    assert total(found.counts) == 80
    assert any("first 32 rows" in note for note in found.notes)
    keyed = [str(row).encode() for row in range(40)]
    b = ew.load(tmp_path, tokens=keyed)
    assert ew.match(b, b).counts == found.counts


def test_rows_added_at_the_mean_are_flagged_and_can_be_left_out() -> None:
    model = llama()
    model.resize_token_embeddings(40, mean_resizing=True)
    a = ew.load(model)
    assert a.near_copies.tolist() == list(range(32, 40))
    assert ew.match(a, a).counts["matched"] == 40
    found = ew.match(a, a, drop_copies=True)
    assert found.counts == {
        "matched": 32,
        "only_a": 0,
        "only_b": 0,
        "padding_a": 0,
        "padding_b": 0,
        "ambiguous": 16,
    }
    assert any("16 near-identical rows" in note for note in found.notes)
    b = ew.load(model, tokens=[str(row) for row in range(40)])
    keyed = ew.match(b, b, drop_copies=True)
    assert keyed.counts == found.counts
    assert keyed.ambiguous_a == keyed.ambiguous_b == 8


def test_a_trained_vocabulary_has_no_copies() -> None:
    model = hf.GPT2Model(hf.GPT2Config(vocab_size=500, n_embd=16, n_layer=1, n_head=2))
    assert ew.load(model).near_copies.tolist() == []


def test_exact_copies_are_flagged_and_bad_rows_do_not_hide_them() -> None:
    matrix = torch.randn(20, 4)
    matrix[3], matrix[7, 0], matrix[9, 1] = matrix[11], torch.nan, torch.inf
    one = Loaded("m", matrix, None, "input only")
    assert one.near_copies.tolist() == [3, 11]


def test_a_match_repeats_and_says_what_it_was_made_of() -> None:
    first, again = ew.match("nano-untied", "nano-tied"), ew.match("nano-untied", "nano-tied")
    assert first.counts == again.counts
    assert np.array_equal(first.rows_b, again.rows_b)
    assert first.hashes == again.hashes
    assert first.settings["a"]["name"] == "nano-untied"
    assert len(first.to_frame()) == first.counts["matched"]
    json.dumps(first.settings)
