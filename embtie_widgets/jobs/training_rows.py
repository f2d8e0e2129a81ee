"""What is known of the rows of a matrix that is trained: tokens, their counts, their kinds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.measures.kinds import kinds_of
from embtie_widgets.sources.tokens import read_vocabulary
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.run_store import RunStore

Vector = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Rows:
    """What results say of V rows.

    tokens  the byte keys, None for one that is not known; empty where not even V is known
    counts  (V,) how often each occurs in the text; None where that is not known
    kinds   (V,) by code in `results.groups`; None without tokens
    """

    tokens: tuple[bytes | None, ...] = ()
    counts: Vector | None = None
    kinds: Vector | None = None


def rows_of_corpus(corpus: Corpus, rows: int) -> Rows:
    """Of a model of so many rows that learns from the text."""
    counts = corpus.counts(rows)
    if corpus.tokenizer is None:
        return Rows((None,) * rows, counts)
    vocabulary = read_vocabulary(corpus.tokenizer)
    tokens = vocabulary.by_row(rows)
    return rows_of(tokens, vocabulary.special_rows, vocabulary.byte_rows, counts)


def rows_of_run(store: RunStore) -> Rows:
    """As the run itself has kept them."""
    counts, tokens = store.counts(), list(store.tokens())
    if tokens:
        vocabulary = read_vocabulary(tokens)
        return rows_of(tokens, vocabulary.special_rows, vocabulary.byte_rows, counts)
    known = [len(values) for values in (*store.row_values().values(), counts) if values is not None]
    return Rows((None,) * max(known, default=0), counts)


def rows_of(
    tokens: list[bytes | None], special: Iterable[int], raw: Iterable[int], counts: Vector | None
) -> Rows:
    """From tokens by row, and the rows that are special or raw bytes."""
    places = np.arange(len(tokens))
    masks = (np.isin(places, list(some)) for some in (special, raw))
    return Rows(tuple(tokens), counts, kinds_of(tokens, *masks))


def shape_of(settings: Mapping[str, Any]) -> tuple[int, int]:
    """Rows and width of the matrices; 0 where they are not written down."""
    model = settings.get("model")
    fields = model if isinstance(model, dict) else {}
    rows = settings.get("rows", fields.get("vocab_size"))
    width = settings.get("width", fields.get("hidden_size", fields.get("n_embd")))
    return (rows if isinstance(rows, int) else 0), (width if isinstance(width, int) else 0)
