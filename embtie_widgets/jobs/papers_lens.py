"""Figures 2, 6 and 7 of the weight-tying paper: the tuned lens, layer by layer, of three pairs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from embtie_widgets.jobs import lens_cost
from embtie_widgets.jobs.estimate import Estimate
from embtie_widgets.jobs.local_copies import local_refs
from embtie_widgets.jobs.packaged import packaged_counts
from embtie_widgets.jobs.papers_ground import STAND_IN, Ground, all_of
from embtie_widgets.jobs.papers_whole import lacking_whole
from embtie_widgets.jobs.run import first
from embtie_widgets.requests import LensRequest, ModelRef
from embtie_widgets.requests.papers import PaperTablesRequest
from embtie_widgets.results.papers import PaperItem, PaperNumber
from embtie_widgets.results.tying_published import LENS, LENS_TEXT, PublishedLens

if TYPE_CHECKING:
    from embtie_widgets.results.lens import Lens, PairLens

_SIDES = {"untied": "A", "tied": "B"}
_FIRST, _SAID = "embedding", "embedding, in the text"
_LENGTH, _SHORT = 512, 128  # of a text, as the paper has it; of the bundled pair
_NOTES = (
    "Mean KL from the lens to the model's own prediction, with a trained affine map at each layer. "
    "The paper's maps were trained on WikiText-103, with another budget for each family, so only "
    "the two curves of a pair can be compared.",
    "The figures were most likely made on ten sentences that the authors wrote; here the text is "
    "the sample that ships with embtie, and the maps are trained for a short time.",
    "Two slips of the released evaluation are repeated here: from layer 1 on a state meets the map "
    "of the layer before, and the last state is normed twice, so that the end is not 0, which it "
    "is by definition.",
)
_ORDER = (
    "That this is figure {number} is taken from the order in which the paper names the pairs; the "
    "numbers are those that its text or the figure gives, rounded."
)
_EXACT = "The numbers by layer are those of a run of the released code; the text names only two."


def _printed(name: str) -> PaperItem:
    known = LENS[name]
    numbers = [
        PaperNumber(_row(point), side, _text(value, known), unit="bits", tolerance=0.1 * value)
        for point, side, value in _points(known)
    ]
    if known.exact:
        numbers += [
            PaperNumber(_SAID, side, str(value), unit="bits", tolerance=0.1 * value)
            for side, value in LENS_TEXT.items()
        ]
    title = f"Tuned lens by layer, {_short(known.untied)} and {_short(known.tied)}"
    told = _EXACT if known.exact else _ORDER.format(number=name[-1])
    notes = (*_NOTES, told)
    return PaperItem(name, "tying", title, tuple(numbers), notes)


figure_2: Callable[[], PaperItem] = partial(_printed, "figure-2")
figure_6: Callable[[], PaperItem] = partial(_printed, "figure-6")
figure_7: Callable[[], PaperItem] = partial(_printed, "figure-7")


def make(ground: Ground, printed: PaperItem) -> PaperItem:
    """Both models through their lenses, as the released evaluation and as it was meant."""
    known = LENS[printed.name]
    pair = (ModelRef(known.untied), ModelRef(known.tied))
    lack = lacking_whole(ground, *pair)
    if lack is None:
        return _filled(printed, _measured(ground, *pair, _LENGTH), known, "model")
    if not ground.request.stand_in:
        return all_of(printed, lack)
    return all_of(_filled(printed, _measured(ground, *STAND_IN, _SHORT), known, "stand-in"), lack)


def _asked(untied: ModelRef, tied: ModelRef, length: int, device: str) -> LensRequest:
    return LensRequest(untied, tied, mode="paper", length=length, floor=False, device=device)


def _cost(name: str, request: PaperTablesRequest) -> Estimate | None:
    """Of both evaluations of the pair where it is here; else of the stand-in, once for all."""
    known = LENS[name]
    refs = (known.untied, known.tied)
    if len(local_refs(refs)) == len(refs):
        for ref in refs:
            facts = packaged_counts()[ref]
            parameters = facts.untied if ref == known.untied else facts.tied
            lens_cost.saw(
                ModelRef(ref),
                {**facts.settings, "parameters": parameters, "layers": known.layers},
            )
        asked = _asked(ModelRef(refs[0]), ModelRef(refs[1]), _LENGTH, request.device)
    elif request.stand_in and name == next(one for one in LENS if one in request.names):
        first(LensRequest())  # which tells how large the bundled models are
        asked = _asked(*STAND_IN, _SHORT, request.device)
    else:
        return Estimate(0.0, 0)
    one = lens_cost.estimate_lens(asked)
    return None if one is None else Estimate(2 * one.seconds, one.bytes)


cost_2: Callable[[PaperTablesRequest], Estimate | None] = partial(_cost, "figure-2")
cost_6: Callable[[PaperTablesRequest], Estimate | None] = partial(_cost, "figure-6")
cost_7: Callable[[PaperTablesRequest], Estimate | None] = partial(_cost, "figure-7")


@dataclass(frozen=True)
class _Both:
    """A pair's lenses with the paper's slips, and without."""

    paper: "PairLens"
    corrected: "PairLens"


def _measured(ground: Ground, untied: ModelRef, tied: ModelRef, length: int) -> _Both:
    from embtie_widgets.jobs.lens import run_lens

    asked = _asked(untied, tied, length, ground.request.device)
    paper = run_lens(asked, ground.progress)
    return _Both(paper, run_lens(replace(asked, mode="corrected"), ground.progress))


def _filled(printed: PaperItem, both: _Both, known: PublishedLens, origin: str) -> PaperItem:
    """With what was measured; of a stand-in first layers and the end alone, as it has fewer."""
    numbers = []
    for number in printed.numbers:
        side = _SIDES[number.column]
        lens, meant = both.paper.lenses.get(side), both.corrected.lenses.get(side)
        place = None if lens is None else _place(number.row, len(lens.kl_bits) - 1, known.layers)
        if lens is None or meant is None or place is None:
            why = both.paper.failed.get(side, "The model has no such layer.")
            numbers.append(number.lacking("", None, why))
            continue
        name = both.paper.models[side]["name"]
        numbers.append(_number(number, lens, meant, place, origin, name))
    text = both.paper.text
    return replace(
        printed,
        numbers=tuple(numbers),
        notes=(*printed.notes, *both.paper.notes),
        settings={"models": both.paper.models, "text": text, "asked": both.paper.settings},
        hashes=dict(both.paper.hashes),
    )


def _number(
    number: PaperNumber, lens: "Lens", meant: "Lens", place: int, origin: str, name: str
) -> PaperNumber:
    value, other = float(lens.kl_bits[place]), float(meant.kl_bits[place])
    layer = lens.points[place]
    source = f"{name} at {layer}, {len(lens.ids):,} positions"
    reason = "The text is another, and the maps are trained for a shorter time."
    if origin == "stand-in":
        reason = f"Of {name} with its {len(lens.kl_bits) - 1} layers, a far smaller model."
    if place:
        reason += f" Without the two slips of the evaluation it is {other:.2f}."
    return number.found(value, origin, source, reason)


def _place(row: str, layers: int, paper_layers: int) -> int | None:
    """Which of the points 0 to `layers` a row is; first and last layers stand for each other."""
    if row in (_row(_FIRST), _SAID):
        return 0
    layer = int(row.removeprefix("layer "))
    if layer == paper_layers:
        return layers
    return layer if layers == paper_layers or layer == 1 else None


def _points(known: PublishedLens) -> Iterator[tuple[str, str, float]]:
    """Point, side and value, point by point."""
    points = sorted({p for side in known.bits.values() for p in side}, key=_order)
    for point in points:
        for side, by_point in known.bits.items():
            if point in by_point:
                yield point, side, by_point[point]


def _order(point: str) -> int:
    return 0 if point == _FIRST else int(point)


def _short(ref: str) -> str:
    return ref.rpartition("/")[2].removesuffix("-hf")


def _row(point: str) -> str:
    return point if point == _FIRST else f"layer {point}"


def _text(value: float, known: PublishedLens) -> str:
    return f"{value:.2f}" if known.exact else str(value)
