import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.training.corpus import (
    END_OF_TEXT,
    BatchOrder,
    Corpus,
    all_windows,
    as_corpus,
    corpus_from_text,
    read_text,
    split_documents,
)

TEXT = "\n\n".join(f"Chapter {i}. Naïve cats, {i * i} of them; 測試." for i in range(60))


def test_pieces_are_cut_at_blank_lines_and_give_the_text_back() -> None:
    pieces = split_documents(TEXT, size=200)
    assert len(pieces) > 5
    assert "".join(pieces) == TEXT
    assert all(piece.startswith("Chapter") for piece in pieces)


def test_the_tokenizer_loses_no_byte_and_the_end_token_stands_once_a_document() -> None:
    corpus = corpus_from_text(TEXT, 300)
    assert corpus.tokenizer is not None
    assert corpus.ids.max() < 300
    assert corpus.tokenizer.decode(corpus.ids.tolist()) == TEXT
    assert corpus.tokenizer.token_to_id(END_OF_TEXT) == 0
    assert corpus.counts(300)[0] == 1
    assert corpus.counts(300).sum() == len(corpus.ids)


def test_the_same_text_gives_the_same_ids() -> None:
    assert corpus_from_text(TEXT, 300).sha256 == corpus_from_text(TEXT, 300).sha256
    assert corpus_from_text(TEXT, 300).sha256 != corpus_from_text(TEXT[1:], 300).sha256


def test_every_kind_of_source_becomes_the_same_ids(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_text(TEXT, encoding="utf-8")
    packed.write_bytes(gzip.compress(TEXT.encode()))
    wanted = as_corpus(TEXT, 300).ids
    for source in (plain, packed, [TEXT], wanted.reshape(1, -1), torch.tensor(wanted)):
        assert np.array_equal(as_corpus(source, 300).ids, wanted)


def test_a_file_that_is_no_text_is_named_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b not really")
    (tmp_path / "latin.txt").write_bytes("é".encode("latin-1"))
    for name in ("broken.gz", "latin.txt", "missing.txt"):
        with pytest.raises(EmbtieError, match=name) as caught:
            read_text(tmp_path / name)
        assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("source", [None, 3.5, [1.5, 2.5], {"a": 1}, [[1, 2], [3]]])
def test_what_is_neither_text_nor_ids_is_refused(source: Any) -> None:
    with pytest.raises(EmbtieError):
        as_corpus(source, 300)


def test_each_epoch_visits_every_window_once_in_an_order_of_its_own() -> None:
    order = BatchOrder(np.arange(101), batch=5, length=10, seed=3)
    first, second = (torch.cat([order[2 * e + 1], order[2 * e + 2]])[:, 0] for e in (0, 1))
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(0, 100, 10))
    assert first.tolist() != second.tolist()


def test_a_batch_depends_on_seed_and_step_alone() -> None:
    ids = np.arange(501)
    one, other = BatchOrder(ids, 4, 10, seed=1), BatchOrder(ids, 4, 10, seed=1)
    late = one[30]
    assert torch.equal(late, other[30])
    assert torch.equal(late[:, 1:], late[:, :-1] + 1)
    assert not torch.equal(late, BatchOrder(ids, 4, 10, seed=2)[30])


def test_held_out_windows_cover_each_target_once() -> None:
    windows = torch.cat(list(all_windows(np.arange(31), batch=2, length=10)))
    assert windows[:, 1:].flatten().tolist() == list(range(1, 31))


def test_a_corpus_shorter_than_a_window_is_refused() -> None:
    with pytest.raises(EmbtieError, match="8 tokens"):
        BatchOrder(Corpus(np.arange(8)).ids, batch=1, length=8, seed=0)
