"""From an AlignRequest to a PairAlignment: load, match, check, measure."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from embtie_widgets.jobs.cache import entry_key, kept_or_made, latest, recall
from embtie_widgets.jobs.estimate import experience, refuse_too_large
from embtie_widgets.jobs.pairs import OpenPair, Roles, describe, is_here, open_pair
from embtie_widgets.measures.alignment import COMPARISONS, align_many
from embtie_widgets.measures.checks import self_pair_cosine
from embtie_widgets.measures.plan import Settings
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.progress import Progress
from embtie_widgets.requests import AlignRequest
from embtie_widgets.results import Alignment, PairAlignment
from embtie_widgets.results.groups import groups_of
from embtie_widgets.sources.hub import is_hub_id


def run_align(request: AlignRequest, progress: Progress) -> PairAlignment:
    """Align the matrices of two models on the tokens that both have."""
    pair = open_pair(request, progress)
    progress("looking for an earlier result", 0, 1)
    result: PairAlignment = kept_or_made(
        request, pair.fingerprint, lambda: _timed(request, pair, progress)
    )
    return result


def look_up(request: AlignRequest) -> PairAlignment | None:
    """What an earlier run has left.  Models on this machine are opened and hashed; for those on
    the hub, which would be downloaded first, the result that came last is taken."""
    if is_here(request.a) and is_here(request.b):
        pair = open_pair(request)
        found: PairAlignment | None = recall(entry_key(request, pair.fingerprint))
        return found
    on_hub = [ref.ref for ref in (request.a, request.b) if not is_here(ref)]
    return latest(request) if all(map(is_hub_id, on_hub)) else None


def _timed(request: AlignRequest, pair: OpenPair, progress: Progress) -> PairAlignment:
    refuse_too_large(request, pair.roles.gathered())
    started = time.monotonic()
    result = _measure(request, pair, progress)
    experience.took(request, time.monotonic() - started)
    return result


def _measure(request: AlignRequest, pair: OpenPair, progress: Progress) -> PairAlignment:
    values = pair.roles.values()
    checks = {"self-pair cosine": self_pair_cosine(next(iter(values.values())), request.map)}
    found = _compare(request, values, pair.roles, progress)
    scores = {name: result.cosine for name, result in found.items()}
    result = PairAlignment(
        comparisons=found,
        rows_a=pair.matched.rows_a,
        rows_b=pair.matched.rows_b,
        tokens=tuple(pair.matched.keys),
        token_counts=_token_counts(pair),
        norms={name: _norms(value) for name, value in values.items()},
        counts=dict(pair.matched.counts),
        kinds=pair.kinds,
        groups=(),
        checks=checks,
        models={"A": describe(pair.a), "B": describe(pair.b)},
        notes=_notes(pair, found),
        settings=_settings(request, pair),
        hashes=pair.roles.hashes,
    )
    return replace(result, groups=group_means(groups_of(result), scores))


def _settings(request: AlignRequest, pair: OpenPair) -> dict[str, Any]:
    known = {**request.to_dict(), "policy": pair.matched.policy, "cached": False}
    return known | ({"exchanged": True} if pair.exchanged else {})


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


def _norms(matrix: torch.Tensor) -> "np.ndarray[Any, np.dtype[np.float64]]":
    from embtie_widgets.measures.matrices import survey

    return np.asarray(survey(matrix)[0].numpy())


def _token_counts(pair: OpenPair) -> "np.ndarray[Any, np.dtype[np.int64]] | None":
    sides = ((pair.a, pair.matched.rows_a), (pair.b, pair.matched.rows_b))
    known = [(m.token_counts, rows) for m, rows in sides if m.token_counts is not None]
    return np.asarray(known[0][0])[known[0][1]] if known else None


def _notes(pair: OpenPair, found: dict[str, Alignment]) -> tuple[str, ...]:
    """What was decided on the way, and what the measures left out, once each."""
    own = [f"{model.name}: {note}" for model in (pair.a, pair.b) for note in model.notes]
    notes = [*pair.notes, *pair.roles.notes, *own, *pair.matched.notes]
    for name, result in found.items():
        for reason, rows in result.settings["rows_left_out"].items():
            if rows:
                notes.append(
                    f"{name}: {rows} rows have no value: in one of the matrices they are {reason}."
                )
        notes.extend(f"{name}: {note}" for note in result.settings["notes"])
    return tuple(dict.fromkeys(notes))
