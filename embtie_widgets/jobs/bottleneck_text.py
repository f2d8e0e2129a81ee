"""How much of the logit gradient on a text the heads of loaded models transmit."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs.bottleneck_cost import work_of
from embtie_widgets.jobs.cache import entry_key, keep, kept_or_made, latest, recall
from embtie_widgets.jobs.drift_report import rows_of_loaded
from embtie_widgets.jobs.estimate import timed
from embtie_widgets.jobs.lens_sides import key_of
from embtie_widgets.jobs.model_series import named
from embtie_widgets.jobs.opened import described
from embtie_widgets.jobs.pairs import is_here
from embtie_widgets.jobs.parts import Part, known_part
from embtie_widgets.jobs.training_cost import saw_sizes
from embtie_widgets.jobs.training_rows import Rows
from embtie_widgets.measures.bottleneck import bottleneck
from embtie_widgets.measures.predicted import filled
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.progress import Progress, hand_on, silent
from embtie_widgets.requests import BottleneckRequest, ModelRef
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.results.bottleneck import (
    Bottleneck,
    BottleneckModel,
    BottleneckReport,
    GradientSpectrum,
    Tokens,
    Vector,
)
from embtie_widgets.results.groups import NO_KIND, groups_of
from embtie_widgets.sources.corpora import find_corpus
from embtie_widgets.sources.hub import is_hub_id
from embtie_widgets.sources.load import load
from embtie_widgets.sources.models import OpenModel, model_hash, open_model, sizes_of
from embtie_widgets.sources.once import read_once
from embtie_widgets.sources.passages import Pieces, read_pieces
from embtie_widgets.sources.tokenizing import tokenizer_of

_SMALLER = "Choose fewer positions for the spectrum, or a smaller model."
# What decides a model's numbers, whatever stands beside it.
_OWN_FIELDS = ("gram", "steps_at", "held", "device", "seed")


def run_text(request: BottleneckRequest, progress: Progress = silent) -> BottleneckReport:
    """Each model that the request names, on its text."""
    if not request.text and request.corpus.ref != OWN:
        find_corpus(request.corpus)  # what is mistyped is told before models are opened for it
    with read_once():
        sides, failed = _prepared(request, progress)
        work = _Models(request, sides, failed, progress)
        found: BottleneckReport = kept_or_made(
            request,
            work.hashes,
            lambda: timed(work_of(request), work.measured, hint=_SMALLER, tells=work.all_fresh),
            lambda made: not made.failed,
        )
    return found


def known_text(request: BottleneckRequest) -> BottleneckReport | None:
    """What an earlier run has left, where the text ships with embtie or is pasted; where a model
    is on the hub, the result that came last."""
    if not request.text and request.corpus.ref not in (OWN, BUNDLED):
        return None
    away = [ref for ref in request.models if not is_here(ref)]
    if away:
        last: BottleneckReport | None = latest(request)
        return last if all(is_hub_id(ref.ref) for ref in away) else None
    with read_once():
        sides, failed = _prepared(request, silent)
        hashes = _Models(request, sides, failed, silent).hashes
        found: BottleneckReport | None = None if failed else recall(entry_key(request, hashes))
    return found


@dataclass(frozen=True)
class _Side:
    """One model before it is opened: hashes of what decides its numbers, the text as it cuts it,
    how many layers it has."""

    ref: ModelRef
    hashes: dict[str, str]
    pieces: Pieces
    layers: int

    def key(self, request: BottleneckRequest) -> str:
        """The name under which its numbers are kept."""
        facts = {name: getattr(request, name) for name in _OWN_FIELDS}
        return key_of("bottleneck", self.ref.to_dict(), self.hashes, facts)


def _prepared(
    request: BottleneckRequest, progress: Progress
) -> tuple[dict[str, _Side], dict[str, EmbtieError]]:
    """The models that can be read, by name, and why others cannot."""
    sides: dict[str, _Side] = {}
    failed: dict[str, EmbtieError] = {}
    for name, ref in named(request.models).items():
        try:
            sides[name] = _side(request, ref, progress)
        except Interrupted:
            raise
        except EmbtieError as error:
            failed[name] = error
    return sides, failed


def _side(request: BottleneckRequest, ref: ModelRef, progress: Progress) -> _Side:
    tokenizer = tokenizer_of(ref, progress)
    pieces, _ = read_pieces(
        request.corpus,
        request.text,
        tokenizer,
        length=request.length,
        tokens=request.positions,
        train_tokens=0,
        progress=progress,
    )
    sizes = sizes_of(ref, progress)
    saw_sizes(ref, sizes)
    progress("looking for an earlier result", 0, 1)
    own = {"model": model_hash(ref, progress), "tokenizer": tokenizer.sha256}
    return _Side(ref, own | {"text": pieces.sha256}, pieces, sizes["layers"])


class _Models:
    """The result as it grows."""

    def __init__(
        self,
        request: BottleneckRequest,
        sides: dict[str, _Side],
        failed: dict[str, EmbtieError],
        progress: Progress,
    ) -> None:
        self._request, self._sides, self._progress = request, sides, progress
        self._failed, self._found = dict(failed), 0
        self._models: dict[str, BottleneckModel] = {}

    @property
    def hashes(self) -> dict[str, str]:
        """Of all that the result depends on beside the request."""
        return {
            f"{what} {name}": sha
            for name, side in self._sides.items()
            for what, sha in side.hashes.items()
        }

    def all_fresh(self) -> bool:
        """Whether nothing was found from earlier runs."""
        return not self._found and not self._failed

    def measured(self) -> BottleneckReport:
        """One model after the other; one that fails leaves the others their numbers."""
        for done, name in enumerate(self._sides, 1):
            try:
                self._models[name] = self._taken(self._sides[name])
            except Interrupted:
                raise
            except EmbtieError as error:
                self._failed[name] = error
            if self._models and done < len(self._sides):
                hand_on(self._progress, self._report(f"{done} of {len(self._sides)} models"))
        if not self._models:
            raise next(iter(self._failed.values()))
        return self._report("")

    def _taken(self, side: _Side) -> BottleneckModel:
        key = side.key(self._request)
        kept: BottleneckModel | None = known_part(key)
        self._found += kept is not None
        if kept is None:
            kept = self._made(side)
            keep(key, Part(kept))
        return kept

    def _made(self, side: _Side) -> BottleneckModel:
        request, progress = self._request, self._progress
        opened = open_model(
            side.ref, device=request.device, precision=request.held, progress=progress
        )
        found = bottleneck(
            opened.model,
            *filled(side.pieces.ids),
            gram=request.gram,
            steps_at=request.steps_at,
            seed=request.seed,
            progress=progress,
        )
        return _described(opened, side, found)

    def _report(self, progress: str) -> BottleneckReport:
        return BottleneckReport(
            models=dict(self._models),
            runs={},
            failed={name: str(error) for name, error in self._failed.items()},
            notes=tuple(dict.fromkeys(self._notes())),
            settings={**self._request.to_dict(), "cached": self._found == len(self._sides)},
            hashes=self.hashes,
            progress=progress,
        )

    def _notes(self) -> Iterable[str]:
        for name, one in self._models.items():
            yield from (f"{name}: {note}" for note in one.about["notes"])
            yield from (f"{name}: {note}" for note in one.bottleneck.notes)
            yield from self._sides[name].pieces.notes
        if len({self._sides[name].hashes["text"] for name in self._models}) > 1:
            yield (
                "The models cut the text into different tokens: their positions are not the same."
            )


def _described(opened: OpenModel, side: _Side, found: Bottleneck) -> BottleneckModel:
    """With tokens, kinds and counts by row of the head, and the means of groups of targets."""
    loaded = load(opened.origin)
    known, notes = _fitting(rows_of_loaded(loaded), found.rows), []
    if known.counts is None:
        counts = np.bincount(np.concatenate(side.pieces.ids), minlength=found.rows)
        known = replace(known, counts=counts[: found.rows])
        notes = ["The model brings no counts of its tokens: they are counted in the text read."]
    about = described(opened) | {"layers": side.layers}
    about["notes"] += notes
    about["text"] = {"name": side.pieces.name, **side.pieces.settings}
    at = found.targets
    targets = _Targets(
        None if known.kinds is None else known.kinds[at], np.asarray(known.counts)[at]
    )
    scores = {"destroyed": found.per_position, "target_kept": found.target_kept}
    slim = replace(
        _slim(found),
        settings=found.settings | {"model": opened.name},
        hashes={**found.hashes, **side.hashes},
    )
    return BottleneckModel(
        bottleneck=slim,
        tokens=known.tokens,
        kinds=known.kinds,
        counts=_narrow(known.counts),
        tied=opened.tied == "tied",
        groups=group_means(groups_of(targets), scores, (0.0, 1.0)),
        about=about,
    )


@dataclass(frozen=True, eq=False)
class _Targets:
    """What `groups_of` asks of tokens, of the targets by position."""

    kinds: Vector | None
    token_counts: Vector


def _fitting(known: Rows, rows: int) -> Rows:
    """For a head of so many rows: the embedding may have more or fewer."""
    more = max(0, rows - len(known.tokens))
    tokens: Tokens = (*known.tokens[:rows], *(None,) * more)
    if not more:
        parts = (None if one is None else one[:rows] for one in (known.counts, known.kinds))
        return Rows(tokens, *parts)
    counts = None if known.counts is None else np.pad(known.counts, (0, more))
    kinds = None if known.kinds is None else np.pad(known.kinds, (0, more), constant_values=NO_KIND)
    return Rows(tokens, counts, kinds)


def _slim(found: Bottleneck) -> Bottleneck:
    """In narrow types: per position and token, what a chart can show."""
    parts = {field.name: getattr(found, field.name) for field in fields(found)}
    spectrum: GradientSpectrum | None = found.spectrum
    narrow = {n: _narrow(value) for n, value in parts.items() if isinstance(value, np.ndarray)}
    if spectrum is not None:
        spectrum = replace(spectrum, values=_narrow(spectrum.values))
    return replace(found, **narrow, spectrum=spectrum)


def _narrow(values: Any) -> Any:
    return values.astype(np.float32 if values.dtype.kind == "f" else np.int32)
