"""From an AlignRequest to a PairAlignment: load, match, check, measure."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.cache import entry_key, keep, recall
from embtie_widgets.jobs.estimate import experience
from embtie_widgets.measures.alignment import COMPARISONS, align_many
from embtie_widgets.measures.checks import self_pair_cosine
from embtie_widgets.measures.plan import Settings
from embtie_widgets.measures.statistics import bands
from embtie_widgets.progress import Progress
from embtie_widgets.requests import AlignRequest
from embtie_widgets.results import Alignment, PairAlignment
from embtie_widgets.sources.load import load
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.matching import Match, match


@dataclass(frozen=True)
class Roles:
    """Which matrices stand for In, Out and Tied, the row lists they are read by, and why."""

    matrices: dict[str, torch.Tensor]
    rows: dict[str, np.ndarray[Any, np.dtype[np.int64]]]
    hashes: dict[str, str]
    notes: tuple[str, ...]


def run_align(request: AlignRequest, progress: Progress) -> PairAlignment:
    """Align the matrices of two models on the tokens that both have."""
    progress("loading", 0, 2)
    a = load(request.a)
    progress("loading", 1, 2)
    b = load(request.b)
    for ref, loaded in ((request.a, a), (request.b, b)):
        experience.saw(ref, (len(loaded.input), int(loaded.input.shape[1])))
    a, b, swapped = _untied_first(a, b, request.role_b)
    progress("matching", 0, 1)
    matched = match(a, b)
    roles = _roles(a, b, matched, request.role_b)
    key = entry_key(request, roles.hashes)
    known: PairAlignment | None = recall(key)
    if known is not None:
        return replace(known, settings=known.settings | {"cached": True})
    result = _measure(request, a, b, matched, roles, progress)
    result = replace(result, notes=(*swapped, *result.notes))
    keep(key, result)
    return result


def _measure(
    request: AlignRequest, a: Loaded, b: Loaded, matched: Match, roles: Roles, progress: Progress
) -> PairAlignment:
    values = {name: _take(roles.matrices[name], roles.rows[name]) for name in roles.matrices}
    checks = {"self-pair cosine": self_pair_cosine(next(iter(values.values())), request.map)}
    found = _compare(request, values, roles, progress)
    token_counts = _token_counts(a, b, matched)
    scores = {name: result.cosine for name, result in found.items()}
    return PairAlignment(
        comparisons=found,
        rows_a=matched.rows_a,
        rows_b=matched.rows_b,
        tokens=tuple(matched.keys),
        token_counts=token_counts,
        norms={name: _norms(value) for name, value in values.items()},
        counts=dict(matched.counts),
        bands=bands(token_counts, scores) if token_counts is not None else (),
        checks=checks,
        models={"A": describe(a), "B": describe(b)},
        notes=(*roles.notes, *_own_notes(a, b), *matched.notes, *_left_out(found)),
        settings={**request.to_dict(), "policy": matched.policy, "cached": False},
        hashes=roles.hashes,
    )


def describe(loaded: Loaded) -> dict[str, Any]:
    """What is known of a model, as plain values."""
    output = loaded.output
    return {
        "name": loaded.name,
        "revision": loaded.revision,
        "tied": loaded.tied,
        "rows": len(loaded.input),
        "width": int(loaded.input.shape[1]),
        "output_rows": None if output is None else len(output),
        "dtype": str(loaded.input.dtype).removeprefix("torch."),
        "unique_parameters": loaded.unique_parameters,
        "stored_parameters": loaded.stored_parameters,
        "scales": dict(loaded.scales),
        "notes": list(loaded.notes),
    }


def _untied_first(a: Loaded, b: Loaded, role: str) -> tuple[Loaded, Loaded, tuple[str, ...]]:
    """The untied model as A, since it gives In and Out, where exactly one is untied."""
    if role == "auto" and a.tied == "tied" and b.tied == "untied":
        note = f"A is tied and B is not, so they changed places: {b.name} gives In and Out."
        return b, a, (note,)
    return a, b, ()


def _roles(a: Loaded, b: Loaded, matched: Match, role: str) -> Roles:
    matrices, rows, hashes = {"In": a.input}, {"In": matched.rows_a}, {"In": a.hashes["input"]}
    notes = []
    if a.output is not None:
        matrices["Out"], rows["Out"], hashes["Out"] = a.output, matched.rows_a, a.hashes["output"]
    else:
        notes.append(f"{a.name} has no output matrix here ({a.tied}), so Out is left out.")
    side = "output" if role == "output" else "input"
    chosen = b.output if side == "output" else b.input
    if chosen is None:
        raise EmbtieError(
            f"{b.name} has no output matrix ({b.tied}), and Tied was to be taken from there.",
            "Choose its input matrix.",
        )
    if b.tied != "tied":
        notes.append(f"{b.name} is not tied ({b.tied}): Tied stands for its {side} matrix.")
    matrices["Tied"], rows["Tied"], hashes["Tied"] = chosen, matched.rows_b, b.hashes[side]
    return Roles(matrices, rows, hashes, tuple(notes))


def _take(matrix: torch.Tensor, rows: "np.ndarray[Any, np.dtype[np.int64]]") -> torch.Tensor:
    """Those rows; a view where they are simply the first ones."""
    if len(rows) and rows[-1] == len(rows) - 1 and bool((np.diff(rows) == 1).all()):
        return matrix[: len(rows)]
    return matrix[torch.from_numpy(rows)]


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


def _token_counts(
    a: Loaded, b: Loaded, matched: Match
) -> "np.ndarray[Any, np.dtype[np.int64]] | None":
    if a.token_counts is not None:
        return np.asarray(a.token_counts)[matched.rows_a]
    if b.token_counts is not None:
        return np.asarray(b.token_counts)[matched.rows_b]
    return None


def _own_notes(a: Loaded, b: Loaded) -> list[str]:
    return [f"{model.name}: {note}" for model in (a, b) for note in model.notes]


def _left_out(found: dict[str, Alignment]) -> list[str]:
    """What the measures left out, once each."""
    notes: list[str] = []
    for name, result in found.items():
        for reason, rows in result.settings["rows_left_out"].items():
            if rows:
                notes.append(f"{name}: {rows} rows have no value because they are {reason}.")
        notes.extend(f"{name}: {note}" for note in result.settings["notes"])
    return list(dict.fromkeys(notes))
