"""What a LensRequest will cost."""

from collections.abc import Iterator, Mapping
from typing import Any

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.jobs.lens_plan import Size, head, plan, training
from embtie_widgets.requests import LensRequest, ModelRef
from embtie_widgets.requests.lens import TRAIN

_BLOCK_BYTES = 3 * 256e6
_STATES = 50_000  # positions whose states are held at once
_SECONDS = 0.5
_OPENING = 2_000.0  # multiply-adds that a number costs in being read and unpacked
_NAMES = ("parameters", "rows", "width", "layers")

_seen: dict[ModelRef, Size] = {}


def size_of(facts: Mapping[str, Any]) -> Size:
    """The sizes among what is known of a model."""
    return Size(*(facts[name] for name in _NAMES))


def saw(ref: ModelRef, facts: Mapping[str, Any]) -> None:
    """Remember how large a model is."""
    if all(isinstance(facts.get(name), int) and facts[name] for name in _NAMES):
        _seen[ref] = size_of(facts)


def seen(ref: ModelRef) -> Size | None:
    """How large a model is, where that was seen."""
    return _seen.get(ref)


def work_of(request: LensRequest) -> Work | None:
    """What the run consists of; None while its models are not known here."""
    sizes = [seen(ref) for ref in (request.a, request.b)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    trained = list(_trained(request))
    operations = sum(_measuring(request, size) for size in known)
    operations += sum(
        training(request, size) for size, it in zip(known, trained, strict=True) if it
    )
    memory = max(_bytes(request, size, it) for size, it in zip(known, trained, strict=True))
    return Work(request.kind, request.device, operations, round(memory), seconds=_SECONDS)


def estimate_lens(request: LensRequest) -> Estimate | None:
    """The cost of a request as far as this kernel can tell; None for models not seen yet."""
    return experience.estimate(work_of(request))


def _trained(request: LensRequest) -> Iterator[bool]:
    """Whether translators are trained, for each side."""
    for ref, named in ((request.a, request.translators_a), (request.b, request.translators_b)):
        ships = ref.ref in ("nano-tied", "nano-untied") and ref == ModelRef(ref.ref)
        yield request.lens == "tuned" and (named == TRAIN or (not named and not ships))


def _measuring(request: LensRequest, size: Size) -> float:
    """A model opened, and every position through it and through the lens at each layer."""
    each = size.parameters + (size.layers + 1) * head(size)
    return _OPENING * size.parameters + request.positions * each


def _bytes(request: LensRequest, size: Size, trained: bool) -> float:
    """The model in memory, blocks of logits, translators, and the states that are trained on."""
    held = 4.0 * size.parameters + _BLOCK_BYTES + 4.0 * size.layers * size.width**2
    if not trained:
        return held
    states = 4.0 * min(plan(request, size).tokens, _STATES) * (size.layers + 1) * size.width
    return held + 12.0 * size.layers * size.width**2 + states
