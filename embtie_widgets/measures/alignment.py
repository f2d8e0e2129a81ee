"""How well one embedding matrix maps onto another, against hold-out and chance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.fitting import Fitted, fit_pairs
from embtie_widgets.measures.hashes import watched
from embtie_widgets.measures.maps import TOLERANCE
from embtie_widgets.measures.matrices import as_matrix, check_heights, prepare
from embtie_widgets.measures.moments import Pair
from embtie_widgets.measures.plan import Plan, Settings
from embtie_widgets.measures.scoring import cosines
from embtie_widgets.measures.statistics import bootstrap_interval
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results import Alignment
from embtie_widgets.results.alignment import Vector

COMPARISONS: dict[str, Pair] = {
    "In->Out": ("In", "Out"),
    "Out->Tied": ("Out", "Tied"),
    "In->Tied": ("In", "Tied"),
}


def align(
    x: Any,
    y: Any,
    map: str = "linear",
    center: bool = True,
    ridge: float = 0.0,
    holdout: float = 0.2,
    seed: int = 0,
    *,
    floor: bool = True,
    device: str = "auto",
    progress: Progress = silent,
) -> Alignment:
    """Per-token cosine in [-1, 1] between the mapped rows of x (V, d1) and the rows of y (V, d2).

    The map x -> y is "identity", "orthogonal" (Procrustes, reflections allowed; for unequal widths
    the partial isometry of largest trace) or "linear" (least squares of minimum norm, plus
    `ridge` times the squared norm of the map).  `center` takes the column means off first.  The
    fit on all rows is the published number; beside it stand the mean on the share `holdout` of
    the rows that took no part in a second fit, and the floor: the same fit with the rows of y
    permuted.  Rows that are zero or not finite are NaN and take no part.  Cosines are within 1e-5
    of float64.  Source: weight-tying paper, table 1.
    """
    settings = Settings(map, center, ridge, holdout, seed, floor, device)
    return align_many({"x": x, "y": y}, [("x", "y")], settings, progress)["x", "y"]


def align_pair(
    input: Any,
    output: Any,
    tied: Any,
    map: str = "linear",
    center: bool = True,
    ridge: float = 0.0,
    holdout: float = 0.2,
    seed: int = 0,
    *,
    floor: bool = True,
    device: str = "auto",
    progress: Progress = silent,
) -> dict[str, Alignment]:
    """In->Out, Out->Tied and In->Tied at once, sharing their means, splits and products.

    input, output and tied (V, d) hold the same tokens row by row; a row that one of them cannot
    use takes no part in any comparison.  See `align` for the rest.
    """
    settings = Settings(map, center, ridge, holdout, seed, floor, device)
    found = align_many(
        {"In": input, "Out": output, "Tied": tied}, list(COMPARISONS.values()), settings, progress
    )
    return {name: found[pair] for name, pair in COMPARISONS.items()}


def align_many(
    values: Mapping[str, Any],
    pairs: Sequence[Pair],
    settings: Settings,
    progress: Progress = silent,
) -> dict[Pair, Alignment]:
    """Several comparisons among named matrices (V, d) with the same tokens row by row."""
    tensors = {name: as_matrix(value, name) for name, value in values.items()}
    check_heights(tensors)
    _check_widths(tensors, pairs, settings, len(next(iter(tensors.values()))))
    matrices, rows, left_out = prepare(tensors, settings.center, progress)
    _check_widths(tensors, pairs, settings, len(rows))
    plan = Plan(matrices, rows, settings, progress)
    fitted = fit_pairs(plan, pairs, progress)
    found = {pair: _score(plan, pair, fitted[pair], left_out, progress) for pair in pairs}
    return {pair: replace(one, hashes=_hashes(plan, pair, values)) for pair, one in found.items()}


def _hashes(plan: Plan, pair: Pair, values: Mapping[str, Any]) -> Mapping[str, str]:
    norms = {name: plan.matrices[name].norms for name in pair}
    return watched({name: values[name] for name in pair}, norms)


def _check_widths(
    tensors: Mapping[str, torch.Tensor], pairs: Sequence[Pair], settings: Settings, rows: int
) -> None:
    for source, target in pairs:
        settings.check(rows, (tensors[source].shape[1], tensors[target].shape[1]))


def _score(
    plan: Plan, pair: Pair, fitted: Fitted, left_out: dict[str, int], progress: Progress
) -> Alignment:
    """Scores, hold-out and floor of one comparison."""
    scores, worst = _scores(plan, pair, fitted, progress)
    if worst > TOLERANCE:
        exact = plan.arithmetic.in_float64()
        fitted = fit_pairs(plan, [pair], progress, exact)[pair]
        scores, _ = _scores(plan, pair, fitted, progress)
    known = {name: vector[np.isfinite(vector)] for name, vector in scores.items()}
    if not len(known["all"]):
        raise EmbtieError(
            f"Every row of {pair[0]} or {pair[1]} equals the mean row: no cosine is defined.",
            "Switch centring off, or check the checkpoint.",
        )
    equal_mean = len(scores["all"]) - len(known["all"])
    held, seed = known.get("train", np.zeros(0)), plan.settings.seed
    return Alignment(
        cosine=_spread(plan, scores["all"]),
        mean=float(known["all"].mean()),
        median=float(np.median(known["all"])),
        interval=bootstrap_interval(known["all"], seed),
        heldout_mean=float(held.mean()) if len(held) else None,
        heldout_interval=bootstrap_interval(held, seed) if len(held) else None,
        floor_mean=float(known["floor"].mean()) if len(known.get("floor", ())) else None,
        floor_expected=_expected(plan, pair),
        description=fitted.fits["all"].describe(),
        settings=_settings(plan, pair, fitted, {**left_out, "equal to the mean": equal_mean}),
    )


def _scores(
    plan: Plan, pair: Pair, fitted: Fitted, progress: Progress
) -> tuple[dict[str, Vector], float]:
    """The scores of every fit, and the worst error among them."""
    scores, worst = {}, 0.0
    for name, fit in fitted.fits.items():
        found, error = cosines(fit, *plan.scored_on(pair, name), fitted.how, progress)
        scores[name] = np.asarray(found.numpy(), np.float64)
        worst = max(worst, error)
    return scores, worst


def _spread(plan: Plan, scored: Vector) -> Vector:
    """The scores at their rows, NaN at the rows that take no part."""
    out = np.full(plan.rows.total, np.nan)
    out[slice(None) if plan.rows.index is None else plan.rows.index.numpy()] = scored
    return out


def chance_level(kind: str, rows: int, widths: tuple[int, int]) -> float | None:
    """What independent Gaussian rows are expected to score under a map of this kind, in [0, 1]:
    sqrt(d/V) for linear, 8/(3 pi) sqrt(d/V) for orthogonal of equal widths, 0 for identity; None
    where no theory is known."""
    source, target = widths
    ratio = math.sqrt(source / rows)
    if kind == "identity":
        return 0.0
    if kind == "linear":
        return min(1.0, ratio)
    return min(1.0, 8 / (3 * math.pi) * ratio) if source == target else None


def _expected(plan: Plan, pair: Pair) -> float | None:
    if plan.settings.map == "linear" and plan.settings.ridge != 0:
        return None
    source, target = (plan.matrices[side].width for side in pair)
    return chance_level(plan.settings.map, len(plan.rows), (source, target))


def _settings(plan: Plan, pair: Pair, fitted: Fitted, left_out: dict[str, int]) -> dict[str, Any]:
    width, notes = plan.matrices[pair[0]].width, []
    if plan.test is not None and "train" not in fitted.fits:
        notes.append(
            f"No hold-out: {len(plan.train)} training rows are too few for a linear map "
            f"from {width} columns."
        )
    elif plan.test is None and plan.settings.holdout > 0:
        notes.append(f"No hold-out: {plan.settings.holdout:g} of {len(plan.rows)} rows is none.")
    free = plan.settings.map == "linear" and plan.settings.ridge == 0
    if free and len(plan.rows) - plan.settings.center <= width:
        notes.append("After centring the map fits any target exactly: the score means nothing.")
    stored = {name: str(plan.matrices[name].values.dtype).removeprefix("torch.") for name in pair}
    return {
        **vars(plan.settings),
        "rows": plan.rows.total,
        "rows_used": len(plan.rows),
        "rows_left_out": left_out,
        "rows_held_out": len(plan.test) if plan.test and "train" in fitted.fits else 0,
        "device": fitted.how.device.type,
        "arithmetic": str(fitted.how.dtype).removeprefix("torch."),
        "stored": stored,
        "notes": notes,
    }
