"""From a GeometryRequest to a PairGeometry: load, match, check, measure."""

from collections.abc import Iterator
from dataclasses import replace

from embtie_widgets.jobs.estimate import timed
from embtie_widgets.jobs.geometry_cost import TOO_LARGE, remember, work_of
from embtie_widgets.jobs.geometry_parts import Parts
from embtie_widgets.jobs.pair_results import common_fields, pair_notes
from embtie_widgets.jobs.pair_runs import kept_of
from embtie_widgets.jobs.pairs import OpenPair, open_pair
from embtie_widgets.measures.geometry_checks import self_geometry
from embtie_widgets.measures.matrices import survey
from embtie_widgets.measures.neighbours import overlap_of
from embtie_widgets.measures.participants import check_k
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.progress import Progress
from embtie_widgets.requests.geometry import GeometryRequest
from embtie_widgets.results.geometry import PairGeometry
from embtie_widgets.results.groups import groups_of
from embtie_widgets.results.neighbours import KnnOverlap


def run_geometry(request: GeometryRequest, progress: Progress) -> PairGeometry:
    """Compare neighbours and spectra of two models on the tokens that both have."""
    return geometry_opened(request, open_pair(request, progress), progress)


def geometry_opened(request: GeometryRequest, pair: OpenPair, progress: Progress) -> PairGeometry:
    """The same of a pair that is open already, on the rows that it is matched by."""

    def measure() -> PairGeometry:
        parts = Parts(request, pair, progress)
        found: PairGeometry = timed(
            work_of(request),
            lambda: _measure(parts, progress),
            gathered=pair.roles.copied(),
            hint=TOO_LARGE,
            tells=parts.are_new,
        )
        remember(request)
        return found

    result: PairGeometry = kept_of(request, pair, progress, measure)
    return result


def _measure(parts: Parts, progress: Progress) -> PairGeometry:
    request, values = parts.request, parts.values
    check_k(request.k, len(parts.rows.places), parts.rows.left_out)
    first = next(iter(values.values()))
    checks = self_geometry(first, request.metric, request.center, progress)

    def overlap(first: str, second: str) -> KnnOverlap:
        lists = parts.lists[first], parts.lists[second]
        return overlap_of(*lists, request.k, seed=request.seed, progress=progress)

    overlaps = {name: overlap(*two) for name, two in parts.wanted.items()}
    distances = {name: parts.spectral(two) for name, two in parts.wanted.items() if parts.graphs}
    result = PairGeometry(
        overlaps=overlaps,
        spectral={name: one for name, one in distances.items() if one is not None},
        spaces=parts.wholes.spaces,
        matrices=parts.wholes.matrices,
        groups=(),
        norms={name: survey(value, progress)[0].numpy() for name, value in values.items()},
        duplicates={name: lists.duplicates for name, lists in parts.lists.items()},
        usable=parts.rows.mask.numpy(),
        checks=checks,
        notes=tuple(dict.fromkeys(_notes(parts))),
        **common_fields(request, parts.pair),
    )
    scores = {name: one.per_token for name, one in overlaps.items()}
    return replace(result, groups=group_means(groups_of(result), scores, (0.0, 1.0)))


def _notes(parts: Parts) -> Iterator[str]:
    """What was decided on the way, and what was left out."""
    yield from pair_notes(parts.pair)
    for reason, tokens in parts.rows.left_out.items():
        if tokens:
            some = "1 token takes" if tokens == 1 else f"{tokens:,} tokens take"
            yield (f"{some} no part in the neighbours: in one of the matrices the row is {reason}.")
    for name, lists in parts.lists.items():
        if tokens := int(lists.duplicates.sum()):
            yield (
                f"{tokens:,} tokens have in {name} the very row of another one; they stay as "
                "neighbours of one another."
            )
    if parts.request.spectral and not parts.graphs:
        yield (
            f"The spectral distance was left out: a graph of {parts.request.spectral_k:,} "
            f"neighbours each needs more than {len(parts.rows.places):,} tokens."
        )
    for space in parts.wholes.spaces.values():
        for one in (space.cka, space.debiased_cka):
            names = " and ".join(one.hashes)
            kind = "debiased CKA" if one.debiased else "CKA"
            yield from (f"{kind} of {names}: {note}" for note in one.settings["notes"])
    yield from parts.failures
