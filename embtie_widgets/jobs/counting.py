"""From a text to how often each row's token occurs in it."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import CorpusRef, ModelRef
from embtie_widgets.results import Counts
from embtie_widgets.sources.load import load
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.tokenizing import tokenizer_of


def count_tokens(corpus: Any, model: ModelRef | Loaded, progress: Progress = silent) -> Counts:
    """How often each token of the model occurs in the corpus, by row of the model.

    `corpus` is a `CorpusRef` or the text that names one.  Counts of the same text by the same
    tokenizer are found again.
    """
    corpus = CorpusRef.from_value(corpus)
    loaded = model if isinstance(model, Loaded) else load(model, progress=progress)
    if corpus.ref == "":
        return _own(loaded)
    text = Path(corpus.ref).read_text(encoding="utf-8")
    tokenizer = tokenizer_of(loaded)
    ids = tokenizer.tokenizer.encode(text, add_special_tokens=False).ids
    progress("counting tokens", len(text), len(text))
    found = np.bincount(ids, minlength=len(loaded.input)).astype(np.int64)
    rows = len(loaded.input)
    return Counts(
        counts=found[:rows],
        total=int(found.sum()),
        unknown=int(found[rows:].sum()),
        documents=1,
        bytes=len(text.encode()),
        name=Path(corpus.ref).name,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        tokenizer=tokenizer.sha256,
        tokens=None if loaded.tokens is None else tuple(loaded.tokens),
        notes=(),
        settings={"corpus": corpus.to_dict()},
    )


def _own(loaded: Loaded) -> Counts:
    """The counts that come with the model."""
    if loaded.token_counts is None:
        raise EmbtieError(
            f"{loaded.name} brings no token counts of its own.",
            "Name a corpus: 'bundled', a text file or folder, or a ready count file.",
        )
    counts = loaded.token_counts
    return Counts(
        counts=counts,
        total=int(counts.sum()),
        unknown=0,
        documents=0,
        bytes=0,
        name=f"the training text of {loaded.name}",
        sha256="",
        tokenizer="",
        tokens=None if loaded.tokens is None else tuple(loaded.tokens),
        notes=(),
        settings={"corpus": CorpusRef().to_dict()},
    )
