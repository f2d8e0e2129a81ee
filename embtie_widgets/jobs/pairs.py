"""Two models opened for one comparison: matched rows, and which matrix stands for what."""

import hashlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.centring import Centring
from embtie_widgets.jobs.copied_rows import CopiedRows, without
from embtie_widgets.jobs.estimate import experience
from embtie_widgets.measures.kinds import kinds_of
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef, PairRequest
from embtie_widgets.sources.kept import keeps
from embtie_widgets.sources.load import load
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.matching import Match, match
from embtie_widgets.sources.named_models import BUNDLED, model_path, token_list_path


@dataclass(frozen=True)
class Roles:
    """Which matrices stand for In, Out and Tied, the row lists they are read by, and why.

    `stored` are the matrices as they were loaded, `hashes` theirs, `padding` has their rows without
    token, and `outputs` names those that are the output matrix of their model.  With a `centring`
    these are compared without mean row.  `copies` knows which rows copy the mean row.
    """

    stored: dict[str, torch.Tensor]
    rows: dict[str, np.ndarray[Any, np.dtype[np.int64]]]
    hashes: dict[str, str]
    notes: tuple[str, ...]
    copies: CopiedRows
    outputs: tuple[str, ...] = ()
    padding: dict[str, np.ndarray[Any, np.dtype[np.int64]]] = field(default_factory=dict)
    centring: Centring | None = None

    def matrices(self, progress: Progress = silent) -> dict[str, torch.Tensor]:
        """Every matrix as it is compared, whole."""
        centring = self.centring
        return self.stored if centring is None else self.stored | centring.matrices(progress)

    def values(self, progress: Progress = silent) -> dict[str, torch.Tensor]:
        """The matched rows of every matrix, (n, d) each, in the order of the match."""
        chosen = ((n, matrix, self.rows[n]) for n, matrix in self.matrices(progress).items())
        return {name: _take(matrix, rows, progress) for name, matrix, rows in chosen}

    def copied(self, gathered: bool = True) -> int:
        """Bytes that this copies: centred matrices that are still to be made and, if they are
        `gathered`, the matched rows that are not simply the first ones."""
        made = 0 if self.centring is None else self.centring.missing()
        rows = (
            matrix[:1].nbytes * len(self.rows[name])
            for name, matrix in self.stored.items()
            if gathered and not _first_ones(self.rows[name])
        )
        return made + sum(rows)

    def is_centred(self, name: str) -> bool:
        """Whether the matrix of this name is compared without its mean row."""
        return self.centring is not None and name in self.outputs

    def centred(self) -> "Roles":
        """The same with the output matrices centred."""
        outputs = {name: self.stored[name] for name in self.outputs}
        return replace(self, centring=Centring(outputs, self.padding))


@dataclass(frozen=True)
class OpenPair:
    """Both models, their match, and the roles of their matrices."""

    a: Loaded
    b: Loaded
    matched: Match
    roles: Roles
    notes: tuple[str, ...]
    exchanged: bool = False

    @cached_property
    def centred(self) -> "OpenPair":
        """The same pair with its output matrices centred; the loaded ones stay as they are."""
        return replace(self, roles=self.roles.centred())

    @cached_property
    def uncopied(self) -> "OpenPair":
        """The same pair without the tokens that have a row which copies the mean row."""
        kept = self.roles.copies.kept(self.roles.rows)
        rows = {name: rows[kept] for name, rows in self.roles.rows.items()}
        return replace(
            self, matched=without(self.matched, kept), roles=replace(self.roles, rows=rows)
        )

    def asked(self, request: PairRequest) -> "OpenPair":
        """This pair as the request wants it compared."""
        if request.leave_out_copies:
            self.roles.copies.rows()  # before the lock, since it reads the matrices
        with _lock:
            pair = self.centred if request.mu_centered else self
            return pair.uncopied if request.leave_out_copies else pair

    @cached_property
    def kinds(self) -> "np.ndarray[Any, np.dtype[np.uint8]] | None":
        """(n,) the kind of each matched token, by its code; None where no tokens are known.

        A token is special, or a raw byte, where one of the two models says so.
        """
        sides = ((self.a, self.matched.rows_a), (self.b, self.matched.rows_b))
        if all(model.tokens is None for model, _ in sides):
            return None
        special, raw = (
            np.any([np.isin(rows, list(getattr(model, name))) for model, rows in sides], axis=0)
            for name in ("special", "byte_rows")
        )
        return kinds_of(self.matched.keys, special, raw)

    @cached_property
    def fingerprint(self) -> dict[str, str]:
        """Hashes of all that a result depends on beside the request: matrices, rows, tokens, and
        what the configuration said."""
        told = repr((describe(self.a), describe(self.b), self.notes, self.matched.notes))
        parts = {
            "rows a": self.matched.rows_a.tobytes(),
            "rows b": self.matched.rows_b.tobytes(),
            "tokens": repr(self.matched.keys).encode(),
            "kinds": b"" if self.kinds is None else self.kinds.tobytes(),
            "told": told.encode(),
        }
        return self.roles.hashes | {k: hashlib.sha256(v).hexdigest() for k, v in parts.items()}


# So many rows are gathered between two reports.
_TAKEN = 4096
_recent: dict[tuple[Any, ...], tuple[object, OpenPair]] = {}
_lock = threading.Lock()


@keeps
def _forget() -> None:
    with _lock:
        _recent.clear()


def open_pair(request: PairRequest, progress: Progress = silent) -> OpenPair:
    """Load both models, match their vocabularies and hand out the roles.

    The pair that was opened last is handed out again while its files are as they were.
    """
    with _lock:
        stamp, known = _recent.get(_name(request), (None, None))
    now = _stamp(request)
    if known is not None and now is not None and stamp == now:
        return known.asked(request)
    pair = _opened(request, progress)
    with _lock:
        _recent.clear()
        _recent[_name(request)] = now, pair
    return pair.asked(request)


def _stamp(request: PairRequest) -> tuple[Any, ...] | None:
    """Size and time of every file of both models; None for models that are not all here."""
    if not (is_here(request.a) and is_here(request.b)):
        return None
    try:
        return tuple(fact for ref in (request.a, request.b) for fact in _file_facts(ref))
    except OSError:
        return None


def _file_facts(ref: ModelRef) -> Iterator[tuple[str, int, int]]:
    named = [] if ref.ref in BUNDLED else [ref.ref]
    paths = [model_path(one) for one in (*named, *filter(None, [ref.output_file]))]
    lists = [] if ref.tokens_file is None else [token_list_path(ref.tokens_file, ref.ref)]
    for path in (*paths, *lists):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            known = file.stat()
            yield str(file), known.st_size, known.st_mtime_ns


def _opened(request: PairRequest, progress: Progress) -> OpenPair:
    progress("loading", 0, 2)
    a = load(request.a, progress=progress)
    progress("loading", 1, 2)
    b = load(request.b, progress=progress)
    for ref, loaded in ((request.a, a), (request.b, b)):
        experience.saw(ref, (len(loaded.input), int(loaded.input.shape[1])))
    a, b, swapped = _untied_first(a, b, request.role_b)
    for loaded in (a, b):
        loaded.read_hashes(progress)
    progress("matching", 0, 1)
    matched = match(a, b, progress=progress)
    if not len(matched.rows_a):
        raise EmbtieError(
            f"{a.name} and {b.name} have no token in common.",
            "Choose models with related vocabularies, or check their token lists.",
        )
    return OpenPair(a, b, matched, _roles(a, b, matched, request.role_b), swapped, bool(swapped))


def is_here(ref: ModelRef) -> bool:
    """Whether a model can be opened without asking the hub."""
    return ref.ref in BUNDLED or os.path.exists(model_path(ref.ref))


def recent_pair(request: PairRequest) -> OpenPair:
    """The pair of this request as it was last opened here, or opened now."""
    with _lock:
        _, known = _recent.get(_name(request), (None, None))
    return open_pair(request) if known is None else known.asked(request)


def _name(request: PairRequest) -> tuple[Any, ...]:
    return (request.a, request.b, request.role_b)


def describe(loaded: Loaded) -> dict[str, Any]:
    """What is known of a model, as plain values."""
    output = loaded.output
    return {
        "name": loaded.name,
        "source": loaded.settings.get("source", ""),
        "revision": loaded.revision,
        "tied": loaded.tied,
        "config_says": loaded.settings.get("config says", ""),
        "tied_by_choice": loaded.settings.get("tied by choice", False),
        "rows": len(loaded.input),
        "width": int(loaded.input.shape[1]),
        "output_rows": None if output is None else len(output),
        "dtype": str(loaded.input.dtype).removeprefix("torch."),
        "unique_parameters": loaded.unique_parameters,
        "stored_parameters": loaded.stored_parameters,
        "scales": dict(loaded.scales),
        "notes": list(loaded.notes),
    }


def _untied_first(a: Loaded, b: Loaded, role: str) -> tuple[Loaded, Loaded, tuple[str, ...]]:
    """The untied model as A, since it gives In and Out, where exactly one is untied."""
    if role == "auto" and a.tied == "tied" and b.tied == "untied":
        note = f"A is tied and B is not, so they changed places: {b.name} gives In and Out."
        return b, a, (note,)
    return a, b, ()


def _roles(a: Loaded, b: Loaded, matched: Match, role: str) -> Roles:
    matrices, rows, hashes = {"In": a.input}, {"In": matched.rows_a}, {"In": a.hashes["input"]}
    notes = []
    if a.output is not None:
        matrices["Out"], rows["Out"], hashes["Out"] = a.output, matched.rows_a, a.hashes["output"]
    else:
        notes.append(f"{a.name} has no output matrix here ({a.tied}), so Out is left out.")
    side = "output" if role == "output" else "input"
    chosen = b.output if side == "output" else b.input
    if chosen is None:
        raise EmbtieError(
            f"{b.name} has no output matrix ({b.tied}), and Tied was to be taken from there.",
            "Choose its input matrix.",
        )
    if b.tied != "tied":
        notes.append(f"{b.name} is not tied ({b.tied}): Tied stands for its {side} matrix.")
    matrices["Tied"], rows["Tied"], hashes["Tied"] = chosen, matched.rows_b, b.hashes[side]
    heads = [one for one in (a.output, b.output) if one is not None]
    outputs = tuple(n for n, m in matrices.items() if any(m is head for head in heads))
    models = {name: b if name == "Tied" else a for name in matrices}
    padding = {name: _without_token(models[name], len(one)) for name, one in matrices.items()}
    copies = CopiedRows(matrices, hashes)
    return Roles(matrices, rows, hashes, tuple(notes), copies, outputs, padding)


def _without_token(model: Loaded, rows: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The rows of a matrix of so many that no token owns, those below the other matrix too."""
    beyond = np.arange(min(len(model.input), rows), rows)
    return np.concatenate([model.padding[model.padding < rows], beyond])


def _take(
    matrix: torch.Tensor, rows: "np.ndarray[Any, np.dtype[np.int64]]", progress: Progress
) -> torch.Tensor:
    """Those rows; a view where they are simply the first ones."""
    if _first_ones(rows):
        return matrix[: len(rows)]
    taken = matrix.new_empty(len(rows), matrix.shape[1])
    for start in range(0, len(rows), _TAKEN):
        progress("taking matched rows", start, len(rows))
        taken[start : start + _TAKEN] = matrix[torch.from_numpy(rows[start : start + _TAKEN])]
    return taken


def _first_ones(rows: "np.ndarray[Any, np.dtype[np.int64]]") -> bool:
    return bool(len(rows) and rows[-1] == len(rows) - 1 and (np.diff(rows) == 1).all())
