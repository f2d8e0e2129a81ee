"""One model of a lens request before it is opened: what it reads, and where its translators come
from.  All of that tells whether an earlier result is still the one that was asked for."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs import lens_cost
from embtie_widgets.jobs.cache import MEASURES
from embtie_widgets.jobs.lens_plan import Plan, plan
from embtie_widgets.jobs.uploads import LENS, UPLOADED, uploaded_path
from embtie_widgets.progress import Progress
from embtie_widgets.requests import LensRequest, ModelRef
from embtie_widgets.requests.lens import TRAIN, USUAL
from embtie_widgets.sources.models import model_hash, sizes_of
from embtie_widgets.sources.once import read_once
from embtie_widgets.sources.passages import Pieces, read_pieces
from embtie_widgets.sources.permission import lens_path
from embtie_widgets.sources.reading import sentences
from embtie_widgets.sources.tokenizing import ModelTokenizer, tokenizer_of
from embtie_widgets.sources.weights import file_hash

SIDES = ("A", "B")
# Positions whose likeliest tokens are kept by layer, for the grid.
READ = 512
_NANO = Path(__file__).parents[1] / "data" / "nano"
_BUNDLED = {
    "nano-tied": _NANO / "lens-tied.safetensors",
    "nano-untied": _NANO / "lens-untied.safetensors",
}


@dataclass(frozen=True)
class Source:
    """Where the translators of a tuned lens come from.

    kind  "bundled" or "saved", in `path`; or "trained", here
    key   the hash of what is in the path, or the name under which the training is kept
    """

    kind: str
    key: str
    path: Path | None = None


@dataclass(frozen=True)
class Side:
    """One of the two models, not opened yet.

    hash      of its weights and configuration
    measured  what it is measured on, and `trained` what translators learn from
    source    of the translators; None for a logit lens
    plan      of their training; None where there is none
    """

    side: str
    ref: ModelRef
    hash: str
    tokenizer: ModelTokenizer
    measured: Pieces
    trained: Pieces
    source: Source | None
    plan: Plan | None = None

    @property
    def fingerprint(self) -> dict[str, str]:
        """Hashes of all that its curve depends on beside the request."""
        found = {
            "": self.hash,
            "tokenizer ": self.tokenizer.sha256,
            "text ": self.measured.sha256,
            "training text ": self.trained.sha256,
        }
        if self.source is not None:
            found["translators "] = self.source.key
        return {f"{what}{self.side}": sha for what, sha in found.items()}

    def steps(self, request: LensRequest) -> int:
        """In how many steps translators are trained."""
        return request.steps if self.plan is None else self.plan.steps

    def key(self, request: LensRequest) -> str:
        """The name under which its lens is kept, whatever the other model is."""
        facts = {
            name: getattr(request, name)
            for name in ("lens", "mode", "floor", "precision", "device", "seed")
        }
        hashes = sorted(sha for sha in self.fingerprint.values())
        return key_of("lens", self.ref.to_dict(), hashes, facts | {"readings": READ})


def key_of(*facts: Any) -> str:
    """A name for what these plain values decide."""
    return hashlib.sha256(json.dumps([MEASURES, *facts], sort_keys=True).encode()).hexdigest()


def prepare(
    request: LensRequest, progress: Progress
) -> tuple[dict[str, Side], dict[str, EmbtieError]]:
    """Both sides, and why one cannot be; what is mistyped in the request itself is raised."""
    for side in SIDES:
        saved_path(request, side)
    sides: dict[str, Side] = {}
    failed: dict[str, EmbtieError] = {}
    read = _Reading(request, progress)
    with read_once():
        for side in SIDES:
            try:
                sides[side] = _side(request, side, read, progress)
            except Interrupted:
                raise
            except EmbtieError as error:
                failed[side] = error
    return sides, failed


class _Reading:
    """Cuts the text; for two models with one tokenizer once."""

    def __init__(self, request: LensRequest, progress: Progress) -> None:
        self._request, self._progress = request, progress
        self._known: dict[tuple[str, int], tuple[Pieces, Pieces]] = {}

    def __call__(self, tokenizer: ModelTokenizer, train_tokens: int) -> tuple[Pieces, Pieces]:
        """What is measured on, and what is trained on."""
        request, key = self._request, (tokenizer.sha256, train_tokens)
        if key not in self._known:
            self._known[key] = read_pieces(
                request.corpus,
                request.text,
                tokenizer,
                length=request.length,
                tokens=request.positions,
                train_tokens=train_tokens,
                progress=self._progress,
            )
        return self._known[key]


def _side(request: LensRequest, side: str, read: _Reading, progress: Progress) -> Side:
    ref: ModelRef = getattr(request, side.lower())
    tokenizer = _tokenizer(ref, progress)
    found = _ready(request, side) if request.lens == "tuned" else None
    sizes = sizes_of(ref, progress)
    lens_cost.saw(ref, sizes)
    trains = request.lens == "tuned" and found is None
    planned = plan(request, lens_cost.size_of(sizes)) if trains else None
    measured, trained = read(tokenizer, planned.tokens if planned else 0)
    progress("looking for an earlier result", 0, 1)
    own = model_hash(ref, progress)
    if planned is not None:
        names = ("recipe", "start", "seed", "precision", "device")
        facts = {name: getattr(request, name) for name in names} | {"steps": planned.steps}
        found = Source("trained", key_of("translators", own, trained.sha256, facts))
    return Side(side, ref, own, tokenizer, measured, trained, found, planned)


def _tokenizer(ref: ModelRef, progress: Progress) -> ModelTokenizer:
    try:
        return tokenizer_of(ref, progress)
    except Interrupted:
        raise
    except EmbtieError as error:
        raise EmbtieError(
            error.message,
            "A lens reads text: put the model's tokenizer beside it. ew.lens(...) takes token ids "
            "too.",
        ) from None


def saved_path(request: LensRequest, side: str) -> Path | None:
    """The saved lens that is named for a side; None where none is."""
    named: str = getattr(request, f"translators_{side.lower()}")
    if request.lens != "tuned" or named in (USUAL, TRAIN):
        return None
    path = uploaded_path(LENS, named) if named.startswith(UPLOADED) else lens_path(named)
    with sentences(path):
        path.stat()
    return path


def _ready(request: LensRequest, side: str) -> Source | None:
    """Translators that need no training."""
    path = saved_path(request, side)
    if path is not None:
        return Source("saved", hash_of(path), path)
    own = bundled_lens(getattr(request, side.lower()))
    if own is None or getattr(request, f"translators_{side.lower()}") == TRAIN:
        return None
    return Source("bundled", hash_of(own), own)


def bundled_lens(ref: ModelRef) -> Path | None:
    """The trained lens that ships with a bundled model, at the end of its training."""
    path = _BUNDLED.get(ref.ref)
    plain = path is not None and ref == ModelRef(ref.ref)
    return path if plain and path is not None and path.is_file() else None


def hash_of(path: Path) -> str:
    """Of a saved lens: one file, or the files of a folder."""
    hashes = {file.name: file_hash(file) for file in _files(path)}
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()


def _files(path: Path) -> Iterator[Path]:
    with sentences(path):
        if not path.is_dir():
            yield path
            return
        # Those of the tuned-lens package.
        yield from (path / name for name in ("config.json", "params.pt"))
