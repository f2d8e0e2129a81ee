"""What a LensRequest will cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.requests import LensRequest, ModelRef
from embtie_widgets.requests.lens import TRAIN

# Multiply-adds that one pass over a logit costs, in softmax, KL, entropy and ranks.
_PASSES = 30.0
_STEP_TOKENS = 2_048
_BLOCK_BYTES = 3 * 256e6
_SECONDS = 0.5


@dataclass(frozen=True)
class _Size:
    """Of a model that was seen: numbers in all, rows and width of its head, layers."""

    parameters: int
    rows: int
    width: int
    layers: int


_seen: dict[ModelRef, _Size] = {}


def saw(ref: ModelRef, facts: Mapping[str, Any]) -> None:
    """Remember how large a model is."""
    names = ("parameters", "rows", "width", "layers")
    if all(isinstance(facts.get(name), int) for name in names):
        _seen[ref] = _Size(*(facts[name] for name in names))


def work_of(request: LensRequest) -> Work | None:
    """What the run consists of; None while its models are not known here."""
    sizes = [_seen.get(ref) for ref in (request.a, request.b)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    trained = list(_trained(request))
    operations = sum(_measuring(request, size) for size in known)
    operations += sum(
        _training(request, size) for size, it in zip(known, trained, strict=True) if it
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


def _head(size: _Size) -> float:
    """One state through translator, norm and head, and over all logits."""
    return size.width * (size.width + size.rows) + _PASSES * size.rows


def _measuring(request: LensRequest, size: _Size) -> float:
    return request.positions * (size.parameters + (size.layers + 1) * _head(size))


def _training(request: LensRequest, size: _Size) -> float:
    """States once, their moments, and forward and backward through every lens at each step."""
    states = request.train_tokens * (size.parameters + size.layers * 2 * size.width**2)
    tokens = min(_STEP_TOKENS, request.train_tokens)
    return states + 3.0 * request.steps * tokens * size.layers * _head(size)


def _bytes(request: LensRequest, size: _Size, trained: bool) -> float:
    """The model in memory, blocks of logits, translators, and the states that are trained on."""
    held = 4.0 * size.parameters + _BLOCK_BYTES + 4.0 * size.layers * size.width**2
    if not trained:
        return held
    states = 4.0 * min(request.train_tokens, 50_000) * (size.layers + 1) * size.width
    return held + 12.0 * size.layers * size.width**2 + states
