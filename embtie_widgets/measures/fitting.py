"""All the fits of an alignment, in the arithmetic that each of them needs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from embtie_widgets.measures import maps
from embtie_widgets.measures.matrices import Rows
from embtie_widgets.measures.moments import Arithmetic, Moments, Pair, accumulate
from embtie_widgets.measures.pausing import Pause, Remembered
from embtie_widgets.measures.plan import Plan
from embtie_widgets.measures.triangular import triangular_factors
from embtie_widgets.progress import Progress

Fits = dict[str, maps.Map]


@dataclass(frozen=True)
class Fitted:
    """The maps of one pair by what they were fitted on ("all", and where asked for "train" and
    "floor"), and the arithmetic that they are to be scored in."""

    fits: Fits
    how: Arithmetic


def fit_pairs(
    plan: Plan, pairs: Sequence[Pair], progress: Progress, how: Arithmetic | None = None
) -> dict[Pair, Fitted]:
    """Fit every pair; repeat in float64, and then by QR, what the error estimate calls doubtful."""
    how = how or plan.arithmetic
    found = _by_moments(plan, pairs, how, progress)
    if not how.exact and (again := _doubtful(found)):
        found |= _by_moments(plan, again, how.in_float64(), progress)
    if plan.settings.map == "linear":
        found |= {pair: _by_qr(plan, pair, found[pair], progress) for pair in _doubtful(found)}
    return found


def _doubtful(found: dict[Pair, Fitted]) -> list[Pair]:
    return [
        pair
        for pair, fitted in found.items()
        if any(fit.error > maps.TOLERANCE for fit in fitted.fits.values())
    ]


def _by_moments(
    plan: Plan, pairs: Sequence[Pair], how: Arithmetic, progress: Progress
) -> dict[Pair, Fitted]:
    train = _moments(plan, pairs, how, plan.train, progress)
    whole = train
    if plan.test is not None:
        whole = train + _moments(plan, pairs, how, plan.test, progress)
    chance = _chance(plan, pairs, how, whole, progress) if plan.settings.floor else None
    own = train.about_own_mean() if plan.settings.center else train
    found = {}
    said = Remembered(progress)
    for number, pair in enumerate(pairs):
        said("fitting", number, len(pairs))
        fits = {"all": _fit(plan, whole, pair, how, said.again)}
        if plan.can_hold_out(pair):
            fits["train"] = _fit(plan, own, pair, how, said.again)
        if chance is not None:
            fits["floor"] = _fit(plan, chance, pair, how, said.again)
        found[pair] = Fitted(fits, how)
    return found


def _moments(
    plan: Plan, pairs: Sequence[Pair], how: Arithmetic, rows: Rows, progress: Progress
) -> Moments:
    names = dict.fromkeys(name for pair in pairs for name in pair)
    chosen = {name: (plan.matrices[name], rows) for name in names}
    products = pairs if plan.settings.map != "identity" else ()
    grams = sorted({source for source, _ in pairs}) if plan.settings.map == "linear" else ()
    return accumulate(chosen, {pair: pair for pair in products}, grams, how, progress)


def _chance(
    plan: Plan, pairs: Sequence[Pair], how: Arithmetic, whole: Moments, progress: Progress
) -> Moments:
    """The moments with the rows of every target permuted; x x^T does not change by that."""
    if plan.settings.map == "identity":
        return whole
    chosen = {source: (plan.matrices[source], plan.rows) for source, _ in pairs}
    permuted = {f"{b} permuted": (plan.matrices[b], plan.permuted) for _, b in pairs}
    products = {(a, b): (a, f"{b} permuted") for a, b in pairs}
    found = accumulate(chosen | permuted, products, (), how, progress)
    return replace(found, gram=whole.gram, square=whole.square)


def _fit(plan: Plan, moments: Moments, pair: Pair, how: Arithmetic, pause: Pause) -> maps.Map:
    pause()
    rounding = maps.ROUNDING[how.dtype]
    return maps.fit(plan.settings.map, moments, pair, _ridge(plan, pair), rounding, pause)


def _ridge(plan: Plan, pair: Pair) -> float:
    """The ridge in the scale that the source's blocks are in."""
    scale = plan.matrices[pair[0]].scale
    return plan.settings.ridge * scale * scale


def _by_qr(plan: Plan, pair: Pair, before: Fitted, progress: Progress) -> Fitted:
    fits = {}
    for name in before.fits:
        source, target = plan.fitted_on(pair, name)
        factors = triangular_factors(source, target, progress)
        fits[name] = maps.fit_triangular(*factors, len(source.rows), _ridge(plan, pair))
    return Fitted(fits, before.how.in_float64())
