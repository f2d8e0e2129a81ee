"""The gradient-bottleneck paper's ratio: what a head does not transmit, by family of models."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs.estimate import Estimate
from embtie_widgets.jobs.local_copies import local_refs
from embtie_widgets.jobs.packaged import packaged_counts
from embtie_widgets.jobs.papers_ground import Ground, Lack
from embtie_widgets.jobs.papers_whole import lacking_whole
from embtie_widgets.jobs.run import first
from embtie_widgets.requests import BottleneckRequest, ModelRef
from embtie_widgets.requests.papers import PaperTablesRequest
from embtie_widgets.results.bottleneck_published import (
    CHECK,
    COSINE,
    FAMILIES,
    RATIO,
    SIZES,
)
from embtie_widgets.results.papers import PaperItem, PaperNumber

if TYPE_CHECKING:
    from embtie_widgets.results.bottleneck import Bottleneck, BottleneckReport

_R, _C = "not transmitted, r", "cosine with what is"
_CHECK = f"{CHECK.name}, per token"
_STAND_IN = "nano-untied"
_NOTES = (
    "r = |G P_K| / |G| of the gradient G of the loss by the logits, and the cosine with what is "
    "transmitted is sqrt(1 - r^2): the two are one number.",
    "Beside each stands what counting dimensions gives, sqrt(1 - d/V) and sqrt(d/V), for a "
    "direction without preference; a ratio at this line says nothing of the model.",
    "The paper's ranges are from a digest of its second version, over documents of FineWeb; which "
    "models of a family it measured is not known here.",
    f"The lines of {_CHECK} are not the paper's: a third party printed them, of {CHECK.tokens:,} "
    f"sampled tokens of WikiText-2 ({CHECK.source}).",
)
_OTHER_TEXT = "Here the text is the sample that ships with embtie."


def ratio() -> PaperItem:
    """The range over all families, and a third party's check on GPT-2."""
    ranges = {_R: RATIO, _C: COSINE}
    families = [
        PaperNumber(family, column, "{:g} to {:g}".format(*ends), tolerance=0.05)
        for family in FAMILIES
        for column, ends in ranges.items()
    ]
    check = [
        PaperNumber(_CHECK, _R, f"{CHECK.ratio:.4f}", tolerance=0.005),
        PaperNumber(_CHECK, _C, f"{CHECK.kept:.3f}", tolerance=0.03),
    ]
    title = "Part of the logits' gradient that the head does not transmit"
    return PaperItem("bottleneck-ratio", "bottleneck", title, (*families, *check), _NOTES)


def cost(_request: PaperTablesRequest) -> Estimate | None:
    """Nothing, or nothing that could be told, where a model of a family is here to be run."""
    here = local_refs(ref for refs in FAMILIES.values() for ref in refs)
    return None if here else Estimate(0.0, 0)


def make_ratio(ground: Ground, printed: PaperItem) -> PaperItem:
    """Measured on one model of each family that is here, the smallest first."""
    made = replace(printed, numbers=())
    by_row: dict[str, list[PaperNumber]] = {}
    for number in printed.numbers:
        by_row.setdefault(number.row, []).append(number)
    for row, numbers in by_row.items():
        refs = FAMILIES[CHECK.name][:1] if row == _CHECK else FAMILIES[row]
        made = _with_family(made, ground, refs, numbers)
    return made


def _with_family(
    made: PaperItem, ground: Ground, refs: tuple[str, ...], numbers: list[PaperNumber]
) -> PaperItem:
    """With the numbers of one more family; a model that cannot be run leaves the others theirs."""
    ref, lack = _chosen(ground, refs)
    if lack is None:
        try:
            return _with_measured(made, ground, ref, numbers)
        except Cancelled:
            raise
        except EmbtieError as error:
            lack = Lack("", None, str(error))
    floors = _floors(ref)
    stood = (_stood_in(number, ground) for number in numbers)
    told = [lack.told(replace(n, floor=n.floor or floors.get(n.column))) for n in stood]
    return replace(made, numbers=(*made.numbers, *told))


def _with_measured(
    made: PaperItem, ground: Ground, ref: str, numbers: list[PaperNumber]
) -> PaperItem:
    report = _measured(ground, ref)
    (one,) = report.models.values()
    found = [_found(n, one.bottleneck, "model", ref) for n in numbers]
    return replace(
        made,
        numbers=(*made.numbers, *found),
        settings=made.settings | {ref: {"text": report.settings["corpus"], **one.about}},
        hashes=made.hashes | {f"{ref} {what}": sha for what, sha in report.hashes.items()},
    )


def _chosen(ground: Ground, refs: tuple[str, ...]) -> tuple[str, Lack | None]:
    """The first that can be run, else the first, with what is missing of it."""
    here = local_refs(refs)
    for ref in (ref for ref in refs if ref in here):
        if lacking_whole(ground, ModelRef(ref)) is None:
            return ref, None
    return refs[0], lacking_whole(ground, ModelRef(refs[0]))


def _measured(ground: Ground, ref: str) -> "BottleneckReport":
    from embtie_widgets.jobs.bottleneck import run_bottleneck

    # Neither spectrum nor steps are asked about: the least of both.
    asked = BottleneckRequest(
        model=ModelRef(ref), gram=2, steps_at=(1.0,), device=ground.request.device
    )
    return run_bottleneck(asked, ground.progress)


def _found(number: PaperNumber, one: "Bottleneck", origin: str, name: str) -> PaperNumber:
    """A printed number with what was measured; `name` of the model."""
    value, floor = _values(one, by_token=number.row == _CHECK)[number.column]
    source = f"{name}, {len(one.per_position):,} positions, d {one.width:,}, V {one.rows:,}"
    side = "below" if value < floor else "above"
    line = f"It is {side} the line of counted dimensions, {floor:.4f}."
    other = "" if origin == "model" else f"Of {source}, in place of a model of the family. "
    return number.found(value, origin, source, f"{other}{_OTHER_TEXT} {line}", floor)


def _values(one: "Bottleneck", by_token: bool) -> dict[str, tuple[float, float]]:
    """By column what was measured, over all tokens together or as means of each, and the line."""
    r, c = one.destroyed, one.visible_cosine
    if by_token:
        each = one.per_position.astype(float)
        r, c = float(each.mean()), float(((1 - each**2).clip(0) ** 0.5).mean())
    return {_R: (r, one.line), _C: (c, math.sqrt(max(1 - one.line**2, 0.0)))}


def _floors(ref: str) -> dict[str, float]:
    """The line of a model that is not here, by what ships of its sizes."""
    if ref in SIZES:
        width, rows = SIZES[ref].width, SIZES[ref].rows
    else:
        facts = packaged_counts()[ref].settings
        width, rows = facts["width"], facts["rows"]
    share = width / rows
    line, kept = math.sqrt(1 - share), math.sqrt(share)
    return {_R: line, _C: kept}


def _stood_in(number: PaperNumber, ground: Ground) -> PaperNumber:
    report = first(BottleneckRequest()) if ground.request.stand_in else None
    if report is None:
        return number
    return _found(number, report.models[_STAND_IN].bottleneck, "stand-in", _STAND_IN)
