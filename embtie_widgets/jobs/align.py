"""From an AlignRequest to a PairAlignment: load, match, check, measure."""

from dataclasses import replace

import torch

from embtie_widgets.jobs.align_cost import TOO_LARGE, work_of
from embtie_widgets.jobs.estimate import timed
from embtie_widgets.jobs.pair_results import common_fields, pair_notes
from embtie_widgets.jobs.pair_runs import kept_of
from embtie_widgets.jobs.pairs import OpenPair, Roles, open_pair
from embtie_widgets.measures.alignment import COMPARISONS, align_many
from embtie_widgets.measures.checks import self_pair_cosine
from embtie_widgets.measures.matrices import survey
from embtie_widgets.measures.plan import Settings
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.progress import Progress
from embtie_widgets.requests import AlignRequest
from embtie_widgets.results import Alignment, PairAlignment
from embtie_widgets.results.groups import groups_of


def run_align(request: AlignRequest, progress: Progress) -> PairAlignment:
    """Align the matrices of two models on the tokens that both have."""
    return align_opened(request, open_pair(request, progress), progress)


def align_opened(request: AlignRequest, pair: OpenPair, progress: Progress) -> PairAlignment:
    """The same of a pair that is open already, on the rows that it is matched by."""

    def measure() -> PairAlignment:
        found: PairAlignment = timed(
            work_of(request),
            lambda: _measure(request, pair, progress),
            gathered=pair.roles.copied(),
            hint=TOO_LARGE,
        )
        return found

    result: PairAlignment = kept_of(request, pair, progress, measure)
    return result


def _measure(request: AlignRequest, pair: OpenPair, progress: Progress) -> PairAlignment:
    values = pair.roles.values(progress)
    first = next(iter(values.values()))
    checks = {"self-pair cosine": self_pair_cosine(first, request.map, progress)}
    found = _compare(request, values, pair.roles, progress)
    scores = {name: result.cosine for name, result in found.items()}
    result = PairAlignment(
        comparisons=found,
        norms={name: survey(value, progress)[0].numpy() for name, value in values.items()},
        groups=(),
        checks=checks,
        notes=_notes(pair, found),
        **common_fields(request, pair),
    )
    return replace(result, groups=group_means(groups_of(result), scores, (-1.0, 1.0)))


def _compare(
    request: AlignRequest, values: dict[str, torch.Tensor], roles: Roles, progress: Progress
) -> dict[str, Alignment]:
    settings = Settings(
        map=request.map,
        center=request.center,
        ridge=request.ridge,
        holdout=request.holdout,
        seed=request.seed,
        floor=True,
        device=request.device,
    )
    wanted = {n: pair for n, pair in COMPARISONS.items() if values.keys() >= set(pair)}
    found = align_many(values, list(wanted.values()), settings, progress)
    return {
        name: replace(found[pair], hashes={side: roles.hashes[side] for side in pair})
        for name, pair in wanted.items()
    }


def _notes(pair: OpenPair, found: dict[str, Alignment]) -> tuple[str, ...]:
    """What was decided on the way, and what the measures left out, once each."""
    notes = pair_notes(pair)
    for name, result in found.items():
        for reason, rows in result.settings["rows_left_out"].items():
            if rows:
                notes.append(
                    f"{name}: {rows} rows have no value: in one of the matrices they are {reason}."
                )
        notes.extend(f"{name}: {note}" for note in result.settings["notes"])
    return tuple(dict.fromkeys(notes))
