"""`ew.staircase`: which signatures the embeddings follow, of whatever holds checkpoints."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.signature_text import Text, read_text
from embtie_widgets.jobs.signatures import follow_runs, run_signatures
from embtie_widgets.jobs.staircase import run_staircase
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef, SignaturesRequest, StaircaseRequest
from embtie_widgets.results.staircase import StaircaseReport, StaircaseRun
from embtie_widgets.sources.paths import local_path
from embtie_widgets.sources.tokenizing import tokenizer_of
from embtie_widgets.training.corpus import as_corpus, corpus_from_documents, split_documents
from embtie_widgets.training.corpus import read_text as read_text_file
from embtie_widgets.training.run_store import RunStore, is_run
from embtie_widgets.training.twins import Twins

_TOKENIZER, _BUNDLED = "tokenizer.json", "nano-tied"


def staircase(
    run: Any, *, corpus: Any = None, progress: Progress = silent, **options: Any
) -> StaircaseReport | StaircaseRun:
    """Which order of probability signatures embeddings follow, step by step.

    `run` is a `StaircaseRequest` (a toy task) or a `SignaturesRequest`; `ew.train_twins`, a
    `RunStore`, or the folder of a run or of several; what names a model with checkpoints; or a
    result of these, which is given back.

    `corpus` is the text behind the statistics of a run, best the one that it learned from: strings
    or a pathlib.Path, cut by the run's tokenizer, or token ids; without it that is the sample that
    ships with embtie.  For a model it is a `CorpusRef`.  `options` are further fields of a
    `SignaturesRequest`: `anchors`, `chosen`, `directions`, `context`, ...

    Correlations by order stand in `.to_frame()`: held-out ones from order 1 on.  Source: Context
    Staircase, its alignment measure.
    """
    if isinstance(run, StaircaseReport | StaircaseRun):
        return run
    if isinstance(run, StaircaseRequest | SignaturesRequest):
        if options or corpus is not None:
            raise EmbtieError("A request was given, and options beside it.", "Put them into it.")
        if isinstance(run, StaircaseRequest):
            return run_staircase(run, progress)
        return run_signatures(run, progress)
    if not isinstance(run, Twins | RunStore | str | Path | ModelRef):
        raise EmbtieError(
            f"A {type(run).__name__} is no run.",
            "Give a request, what ew.train_twins gave, the folder of a run, or a model's name.",
        )
    folder = _folder(run)
    if folder is None:
        named = run if isinstance(run, ModelRef) else ModelRef(str(run))
        if corpus is not None:
            options["corpus"] = corpus
        return run_signatures(SignaturesRequest(model=named, **options), progress)
    request = SignaturesRequest(source="run", file=str(folder), **options)
    reader = _Reader(request, folder, corpus, progress)
    return follow_runs(request, folder, reader, progress)


def _folder(run: Any) -> Path | None:
    """Where a run, or several, lie; None for a model."""
    if isinstance(run, Twins | RunStore):
        return run.folder
    if isinstance(run, ModelRef):
        return None
    path = local_path(run)
    inside = path.is_dir() and any(is_run(one) for one in path.iterdir())
    return path if inside or is_run(path) else None


class _Reader:
    """The text of runs in a folder, for a matrix of so many rows."""

    def __init__(
        self, request: SignaturesRequest, folder: Path, corpus: Any, progress: Progress
    ) -> None:
        self._request, self._folder = request, folder
        self._corpus, self._progress = corpus, progress

    def __call__(self, rows: int) -> Text:
        if self._corpus is None:
            return read_text(self._request, self._tokenizer(), rows, self._progress)
        documents = _documents(self._corpus)
        if documents is None:
            return Text.of(as_corpus(self._corpus, rows), self._request, rows)
        own = tokenizer_of(ModelRef(self._tokenizer() or _BUNDLED), self._progress).tokenizer
        return Text.of(corpus_from_documents(documents, own, "text"), self._request, rows)

    def _tokenizer(self) -> str:
        """That of the request, else the one that lies beside the run."""
        places = [self._folder, *sorted(p for p in self._folder.iterdir() if p.is_dir())]
        own = next((str(place) for place in places if (place / _TOKENIZER).is_file()), "")
        return self._request.tokenizer or own


def _documents(corpus: Any) -> list[str] | None:
    """Text that is still to be cut; None for what is token ids already."""
    if isinstance(corpus, Path):
        return split_documents(read_text_file(corpus))
    if isinstance(corpus, str):
        return split_documents(corpus)
    worded = isinstance(corpus, Sequence) and len(corpus) > 0 and isinstance(corpus[0], str)
    return list(corpus) if worded else None
