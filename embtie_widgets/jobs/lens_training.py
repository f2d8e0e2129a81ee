"""Translators for one side of a lens request: found, loaded or trained, with a curve that grows."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from embtie_widgets.errors import Cancelled
from embtie_widgets.jobs.lens_sides import Side
from embtie_widgets.jobs.lens_store import is_whole, recalled, remember
from embtie_widgets.progress import Progress
from embtie_widgets.requests import LensRequest
from embtie_widgets.sources.models import OpenModel
from embtie_widgets.training.lens import Learned, train_translators
from embtie_widgets.training.translators import Translators, load_lens

Show = Callable[[str, dict[str, Any]], None]
# Between two pictures of a training.
_PICTURE_SECONDS = 2.0
_HELD_POSITIONS = 1_024
_HELD_EVERY = 10


def translators_of(
    side: Side, opened: OpenModel, request: LensRequest, progress: Progress, show: Show
) -> Translators | None:
    """The translators of a side, None for a logit lens.

    `show` is told how far a training has come, and its curve so far.  One that is stopped is kept
    as far as it came, and goes on from there when it is asked for again.
    """
    source = side.source
    if source is None:
        return None
    if source.path is not None:
        return load_lens(source.path, opened.model)
    begun = recalled(source.key)
    if begun is not None and is_whole(begun):
        return begun
    learned = _trained(side, begun, opened, request, progress, show)
    remember(source.key, learned)
    if not is_whole(learned):
        raise Cancelled
    return learned


def _trained(
    side: Side,
    begun: Translators | None,
    opened: OpenModel,
    request: LensRequest,
    progress: Progress,
    show: Show,
) -> Translators:
    """All steps, or what is left of them, or as many as there was time for."""
    held, pieces = held_out(side.trained.ids)
    learned = train_translators(
        opened.model,
        pieces,
        side.steps(request),
        held=held or None,
        start=request.start,
        recipe=request.recipe,
        seed=request.seed,
        device=request.device,
        watch=_Watch(show),
        resume=begun,
        progress=progress,
    )
    return replace(learned, settings=learned.settings | {"model": opened.name})


def held_out(pieces: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """A few of the pieces to watch the training on, spread over all, and the others; none to watch
    it on where there is but one."""
    held: list[Any] = []
    others: list[Any] = []
    size = 0
    for number, piece in enumerate(pieces):
        watched = number % _HELD_EVERY == _HELD_EVERY // 2 or number == len(pieces) - 1 == 1
        if watched and size < _HELD_POSITIONS:
            held.append(piece)
            size += len(piece)
        else:
            others.append(piece)
    return held, others


class _Watch:
    """Shows the curve of a training now and then."""

    def __init__(self, show: Show) -> None:
        self._show, self._told = show, -_PICTURE_SECONDS

    def __call__(self, learned: Learned) -> None:
        now = time.monotonic()
        if now - self._told >= _PICTURE_SECONDS:
            self._told = now
            self._show(f"{learned.step:,} of {learned.steps:,} steps", learned.curve)
