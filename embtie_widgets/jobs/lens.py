"""From a LensRequest to a PairLens: text, models in turn, translators, check, measure."""

import time
from dataclasses import replace
from functools import partial
from typing import Any

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs import lens_cost
from embtie_widgets.jobs.cache import entry_key, keep, kept_or_made, latest, recall
from embtie_widgets.jobs.estimate import experience
from embtie_widgets.jobs.lens_plan import Plan
from embtie_widgets.jobs.lens_sides import READ, SIDES, Side, hash_of, prepare, saved_path
from embtie_widgets.jobs.lens_store import Vector, curve_of, recalled
from embtie_widgets.jobs.lens_training import translators_of
from embtie_widgets.jobs.opened import described
from embtie_widgets.jobs.pairs import is_here
from embtie_widgets.jobs.parts import Part, known_part
from embtie_widgets.measures.lens import measure_lens
from embtie_widgets.progress import Progress, hand_on, silent
from embtie_widgets.requests import LensRequest, ModelRef
from embtie_widgets.requests.corpus import BUNDLED, DATASETS, OWN
from embtie_widgets.requests.lens import MOST_SHORT, SHORT
from embtie_widgets.results.lens import Lens, PairLens
from embtie_widgets.sources.corpora import find_corpus
from embtie_widgets.sources.hub import is_hub_id
from embtie_widgets.sources.models import open_model
from embtie_widgets.sources.once import read_once
from embtie_widgets.sources.permission import is_served


def run_lens(request: LensRequest, progress: Progress) -> PairLens:
    """Measure how far each layer of two models is from what the model says in the end."""
    if not request.text and request.corpus.ref != OWN:
        find_corpus(request.corpus)  # what is mistyped is told before models are opened for it
    with read_once():
        sides, failed = prepare(request, progress)
        pair = _Pair(request, sides, failed, progress)
        hashes = {name: sha for side in sides.values() for name, sha in side.fingerprint.items()}
        found: PairLens = kept_or_made(request, hashes, pair.measured, lambda made: not made.failed)
    return found


def look_up(request: LensRequest) -> PairLens | None:
    """What an earlier run has left.  Text, models and saved lenses of this machine are read to see
    whether they are as they were; where a model is on the hub, the result that came last is taken.
    A visitor of a page is told of no text but ours."""
    shipped = request.corpus.ref in (OWN, BUNDLED) or bool(request.text)
    if not shipped and is_served():
        return None
    on_hub = [ref for ref in (request.a, request.b) if not is_here(ref)]
    if not on_hub and (shipped or not request.corpus.ref.startswith(DATASETS)):
        sides, failed = prepare(request, silent)
        hashes = {name: sha for side in sides.values() for name, sha in side.fingerprint.items()}
        return None if failed else recall(entry_key(request, hashes))
    if not shipped and not request.corpus.ref.startswith(DATASETS):
        return None  # without the tokenizer nothing says whether the text is as it was
    last: PairLens | None = latest(request) if all(is_hub_id(ref.ref) for ref in on_hub) else None
    return last if last is not None and _same_lenses(request, last) else None


def _same_lenses(request: LensRequest, last: PairLens) -> bool:
    """Whether the saved lenses that are named are those of the result."""
    paths = {side: saved_path(request, side) for side in SIDES}
    return all(
        path is None or last.hashes.get(f"translators {side}") == hash_of(path)
        for side, path in paths.items()
    )


class _Pair:
    """The result as it grows."""

    def __init__(
        self,
        request: LensRequest,
        sides: dict[str, Side],
        failed: dict[str, EmbtieError],
        progress: Progress,
    ) -> None:
        self._request, self._sides, self._failed = request, sides, dict(failed)
        self._progress = progress
        self._lenses: dict[str, Lens] = {}
        self._models = {side: _unopened(getattr(request, side.lower())) for side in SIDES}
        self._curves: dict[str, dict[str, Vector]] = {side: {} for side in SIDES}
        self._cached = True

    def measured(self) -> PairLens:
        """Both sides, one after the other; one that fails leaves the other its curve."""
        fresh, started = self._is_fresh(), time.monotonic()
        for name, side in self._sides.items():
            try:
                self._take(name, side)
            except Interrupted:
                raise
            except EmbtieError as error:
                self._failed[name] = error
            if name != SIDES[-1] and not self._cached:
                hand_on(self._progress, self._so_far(f"1 of {len(SIDES)} models"))
        if not self._lenses:
            raise self._failed[SIDES[0]]
        work = lens_cost.work_of(self._request)
        if fresh and work is not None and not self._failed:
            experience.took(work, time.monotonic() - started)
        return self._so_far("")

    def _is_fresh(self) -> bool:
        """Whether all of the work is still to be done, nothing of it known from earlier runs."""
        sides = self._sides.values()
        known = (known_part(side.key(self._request)) is not None for side in sides)
        trained = (side.source for side in sides if side.source is not None)
        learned = (source.path is None and recalled(source.key) is not None for source in trained)
        return not any(known) and not any(learned)

    def _take(self, name: str, side: Side) -> None:
        key = side.key(self._request)
        kept = known_part(key)
        if kept is None:
            self._cached = False
            kept = self._made(name, side)
            keep(key, Part(kept))
        self._lenses[name], self._models[name] = kept["lens"], kept["model"]
        self._curves[name] = kept["training"]
        lens_cost.saw(side.ref, kept["model"])

    def _made(self, name: str, side: Side) -> dict[str, Any]:
        request, progress = self._request, self._progress
        opened = open_model(
            side.ref, device=request.device, precision=request.precision, progress=progress
        )
        self._models[name] = described(opened)
        show = partial(self._show_training, name, opened.name)
        translators = translators_of(side, opened, request, progress, show)
        lens = measure_lens(
            opened.model,
            side.measured.ids,
            translators=translators,
            mode=request.mode,
            floor=request.floor,
            readings=READ,
            vocabulary=opened.tokens,
            seed=request.seed,
            progress=progress,
        )
        model = self._models[name] | {"layers": len(lens.kl_bits) - 1}
        trained_here = side.source is not None and side.source.path is None
        curve = curve_of(translators) if translators is not None and trained_here else {}
        return {"lens": _labelled(lens, side, translators), "model": model, "training": curve}

    def _show_training(self, name: str, called: str, said: str, curve: dict[str, Vector]) -> None:
        self._curves[name] = curve
        hand_on(self._progress, self._so_far(f"{said} of {called}"))

    def _so_far(self, progress: str) -> PairLens:
        request, sides = self._request, self._sides
        return PairLens(
            lenses=dict(self._lenses),
            failed={name: str(error) for name, error in self._failed.items()},
            models=dict(self._models),
            text=_text(sides),
            training=dict(self._curves),
            notes=tuple(dict.fromkeys(self._notes())),
            settings={**request.to_dict(), "cached": self._cached and not progress},
            hashes={name: sha for one in sides.values() for name, sha in one.fingerprint.items()},
            progress=progress,
        )

    def _notes(self) -> list[str]:
        notes = []
        for name, lens in self._lenses.items():
            known = self._models[name]
            for note in (*known["notes"], *lens.notes):
                notes.append(f"{known['name']}: {note}")
        texts = [side.measured for side in self._sides.values()]
        notes += [note for text in texts for note in text.notes]
        notes += [note for side in self._sides.values() for note in side.trained.notes]
        notes += [note for name in self._sides for note in self._short(name)]
        if len({text.sha256 for text in texts}) > 1:
            notes.append(
                "The two models cut the text into different tokens; each mean is over its own: "
                f"{' and '.join(self._extent(name) for name in self._sides)}."
            )
        return notes

    def _extent(self, name: str) -> str:
        """How much of the text a model reads."""
        side = self._sides[name]
        letters = sum(side.tokenizer.letters(piece.tolist()) for piece in side.measured.ids)
        return (
            f"{self._models[name]['name']} reads {side.measured.positions:,} tokens, some "
            f"{letters:,} letters"
        )

    def _short(self, name: str) -> list[str]:
        """The sentence on a training that was kept short."""
        asked, side = self._request, self._sides[name]
        if side.plan in (None, Plan(MOST_SHORT, asked.steps)) or asked.train_tokens != SHORT:
            return []
        return [
            f"{self._models[name]['name']}: a short training for the size of the model: "
            f"{side.trained.positions:,} of {MOST_SHORT:,} tokens read for training, "
            f"{side.steps(asked):,} of {asked.steps:,} steps. Set training tokens to train longer."
        ]


def _labelled(lens: Lens, side: Side, translators: Any) -> Lens:
    """With what it was made of."""
    source = side.source
    settings: dict[str, Any] = {"lens": "logit"}
    hashes = {"model": side.hash, "text": side.measured.sha256}
    if source is not None:
        learned = {k: v for k, v in translators.settings.items() if k != "curve"}
        settings = {"lens": "tuned", "translators": source.kind, "training": learned}
        hashes["translators"] = source.key
    return replace(lens, settings={**lens.settings, **settings}, hashes={**lens.hashes, **hashes})


def _text(sides: dict[str, Side]) -> dict[str, Any]:
    """What was read; of a second model that cuts it differently, its own numbers beside."""
    found: dict[str, Any] = {}
    for name, side in sides.items():
        text = side.measured
        own = {"sha256": text.sha256, "pieces": len(text.ids), "positions": text.positions}
        if not found:
            found = {"name": text.name, "documents": text.documents, **text.settings, **own}
        elif own["sha256"] != found["sha256"]:
            found[name] = own
    return found


def _unopened(ref: ModelRef) -> dict[str, Any]:
    """A model of which nothing but the name is known; of a path its last part alone."""
    name = (
        ref.ref if is_hub_id(ref.ref) else ref.ref.rstrip("\\/").replace("\\", "/").split("/")[-1]
    )
    return {"name": name, "revision": ref.revision, "notes": []}
