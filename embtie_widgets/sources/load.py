"""One call from a reference to the two matrices of a model."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources import hub, live, matrices
from embtie_widgets.sources.files import Files, FolderFiles
from embtie_widgets.sources.folder import read_checkpoint
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.named_models import BUNDLED, model_path, token_list_path
from embtie_widgets.sources.reading import check_start, sentences
from embtie_widgets.sources.snapshots import Snapshot, find_snapshot, read_snapshot
from embtie_widgets.sources.sourced import Sourced, finish
from embtie_widgets.sources.spelt import misspelt, nearest
from embtie_widgets.sources.tokens import read_vocabulary

_DATA = Path(__file__).resolve().parents[1] / "data" / "nano"
_LONGEST = 1024
_KINDS = (
    "Expected a bundled name (nano-tied, nano-untied), a Hugging Face folder, a .gguf, .npy or "
    ".safetensors file, a pair of matrix files, or a hub id such as EleutherAI/pythia-70m."
)


def load(
    ref: Any, revision: str | None = None, *, tokens: Any = None, progress: Progress = silent
) -> Loaded:
    """The input and output matrix of a model, exactly as stored.

    `ref` is a bundled name, a Hugging Face folder, a GGUF file, a hub id, a matrix file or a
    pair (input, output) or triple (input, output, tokens) of them, a `ModelRef`, or a loaded
    model.  `tokens` replaces the model's own token list: a list by row, a mapping from token to
    row, a tokenizer, or the path of a .txt or .json file.  What is fetched from the hub is told
    to `progress` in bytes, long lists of tokens by their number; it may stop the work there.
    """
    if not isinstance(revision, str | None):
        raise EmbtieError(
            f"A revision is a name, not a {type(revision).__name__}.",
            "Write it as text, such as 'step1000' or a commit.",
        )
    model = ref if isinstance(ref, ModelRef) else None
    if model is not None:
        if revision is not None and revision != model.revision:
            raise EmbtieError("Two revisions were given.", "Set it in the reference alone.")
        revision = model.revision
        ref = (model.ref, model.output_file) if model.output_file else model.ref
    sourced, own_tokens = _read(ref, revision, progress)
    named = isinstance(ref, str | Path)
    sourced.origin = model or (ModelRef(str(ref), revision) if named else None)
    tokens = tokens if tokens is not None else _listed(model) or own_tokens
    if tokens is not None:
        sourced.vocabulary = read_vocabulary(tokens, progress)
    return finish(sourced, bool(model and model.treat_as_tied), progress)


def _listed(model: ModelRef | None) -> Path | None:
    if model is None or model.tokens_file is None:
        return None
    return token_list_path(model.tokens_file, model.ref)


def _read(ref: Any, revision: str | None, progress: Progress) -> tuple[Sourced, Any]:
    if isinstance(ref, str | Path):
        return _read_named(str(ref), revision, progress), None
    _no_revision(revision, "A model in memory or in files")
    if isinstance(ref, Sequence) and len(ref) in (1, 2, 3):
        E, U, tokens = [*ref, None, None][:3]
        return matrices.read_pair(_file(E), None if U is None else _file(U)), tokens
    if live.is_model(ref):
        return live.read_model(ref), None
    raise EmbtieError(f"A model cannot be loaded from a {type(ref).__name__}.", _KINDS)


@dataclass(frozen=True)
class Place:
    """Where a named checkpoint's files are."""

    kind: str
    files: Files
    revision: str | None = None
    notes: tuple[str, ...] = ()
    snapshot: Snapshot | None = None


def find(ref: str, revision: str | None = None, progress: Progress = silent) -> Place | Path:
    """The files that a name stands for, or the one file; an EmbtieError where there are none."""
    if ref in BUNDLED:
        return _local(FolderFiles(_DATA / ref, name=ref), "bundled", revision)
    if not ref.strip() or not ref.isprintable() or len(ref) > _LONGEST:
        raise EmbtieError("The model's name is empty or no plain text.", _KINDS)
    path = model_path(ref)
    with sentences(path):
        local = "folder" if path.is_dir() else "file" if path.is_file() else ""
    if local == "folder":
        return _local(FolderFiles(path), "folder", revision)
    wrong = None if local else misspelt(ref)
    if wrong is not None:
        raise wrong
    if local == "file" or _names_a_file(ref):
        _no_revision(revision, "A file")
        return path
    if not hub.is_hub_id(ref):
        last = re.split(r"[\\/]", ref.rstrip("\\/"))[-1]
        part = "" if last == ref else " (the last part of the path given)"
        raise EmbtieError(f"There is no folder or file '{last}'{part} here.", _KINDS)
    files, commit, notes = _open_hub(ref, revision, progress)
    return Place("hub", files, commit, tuple(notes))


def _local(files: FolderFiles, kind: str, revision: str | None) -> Place:
    """The model in a folder, or one of the checkpoints that lie there."""
    if revision is None:
        return Place(kind, files)
    snapshot = find_snapshot(files.folder, revision, files.name)
    if snapshot.path.is_dir():
        return Place(kind, FolderFiles(snapshot.path, name=files.name), snapshot.name)
    return Place(kind, files, snapshot.name, snapshot=snapshot)


def _open_hub(ref: str, revision: str | None, progress: Progress) -> tuple[Files, str, list[str]]:
    """The hub's files; a name without owner may have been meant for a bundled model."""
    try:
        return hub.open_hub(ref, revision, progress)
    except EmbtieError as error:
        if "/" in ref:
            raise
        bundled = f"The bundled models are {' and '.join(BUNDLED)}."
        hint = " ".join(filter(None, (nearest(ref, BUNDLED), error.hint, bundled)))
        raise EmbtieError(error.message, hint) from None


def _read_named(ref: str, revision: str | None, progress: Progress) -> Sourced:
    place = find(ref, revision, progress)
    if isinstance(place, Path):
        return _read_file(place)
    if place.snapshot is None:
        sourced = read_checkpoint(place.files, place.kind, progress)
        sourced.trained = end_of_training(ref)
    else:
        sourced = read_snapshot(place.files, place.snapshot, place.kind, progress)
    sourced.revision = place.revision
    sourced.notes = [*place.notes, *sourced.notes]
    counts = _DATA / "token_counts.npy"
    if place.kind == "bundled" and counts.is_file():
        sourced.token_counts = np.load(counts, allow_pickle=False).astype(np.int64)
    return sourced


def end_of_training(ref: str) -> str:
    """Where a bundled model without revision stands in its training; empty for any other."""
    step = last_step(ref)
    return "" if step is None else f"the end of the training, step {step:,}"


def last_step(ref: str) -> int | None:
    """The step that a bundled model without revision stands at; None for any other."""
    if ref not in BUNDLED:
        return None
    try:
        provenance = json.loads((_DATA / "provenance.json").read_text(encoding="utf-8"))
        return int(provenance["settings"]["steps"])
    except (OSError, ValueError, KeyError):  # the doctor tells of it; the matrices can be read
        return None


def _read_file(path: Path) -> Sourced:
    check_start(path)
    if is_gguf(path):
        # The reader is heavy to import and few need it.
        from embtie_widgets.sources.gguf_file import read_gguf

        return read_gguf(path)
    if path.suffix in matrices.SUFFIXES:
        return matrices.read_pair(path, None)
    raise EmbtieError(f"'{path.name}' is no file that embtie reads.", _KINDS)


def _names_a_file(ref: str) -> bool:
    return Path(ref).suffix in (*matrices.SUFFIXES, ".gguf", ".bin", ".pt", ".json", ".txt")


def is_gguf(path: Path) -> bool:
    """By its name or its first letters."""
    with sentences(path), path.open("rb") as file:
        return path.suffix == ".gguf" or file.read(4) == b"GGUF"


def _file(value: Any) -> Path:
    if not isinstance(value, str | Path):
        raise EmbtieError(f"A matrix file was expected, not a {type(value).__name__}.", _KINDS)
    return model_path(value)


def _no_revision(revision: str | None, what: str) -> None:
    if revision is not None:
        raise EmbtieError(
            f"{what} has no revisions, but '{revision}' was asked for.",
            "Leave the revision out, or name a model on the hub.",
        )
