"""What a sweep over methods and learning rates says in words: headline and effects."""

import math
from collections.abc import Iterable

import numpy as np

from embtie_widgets.charts.centering_movers import movers, span_of
from embtie_widgets.charts.centering_scale import LOSSES
from embtie_widgets.charts.centering_view import (
    HELD_LOSS,
    at_step,
    called,
    measured,
    method_words,
    number_of,
    rate,
    worded,
)
from embtie_widgets.charts.sentences import listed
from embtie_widgets.results.centering import (
    DIVERGED,
    DONE,
    CenteringReport,
    CenteringRun,
    Effect,
    Sensitivity,
)

APART = 0.05
"""Nats: losses that differ by less are not told apart in words."""
_CHANCE = 0.3  # so far apart, in nats, ended runs of one small setting by their seed alone
_RUN_AWAY = 3.0  # spreads of the logits: from so large a mean on, what is common is what has grown
_ROUNDING = 1e-9
_NAMED = 4  # more runs than that are counted, not named
_LONGER = (
    "Nothing diverges here; that takes a longer run: in those of the paper, of 100,000 steps in "
    "bfloat16, the untied baseline parts from a rate of 0.1 on."
)


def headline(result: CenteringReport) -> str:
    """What the methods do at the highest rate, what has grown, and how much the rate matters."""
    if {"sgd", "coupled-adam"} & {run.method for run in result.runs}:
        moved = [run for run in result.runs if span_of(run) is not None]
        if moved:
            return movers(moved)
    base = _baseline(result)
    if base is None:
        return _standing(result)
    said = [
        _ending(result, base),
        _by_seed(result, base),
        _beyond(result, base),
        _grown(result, base),
        _sensitivities(result, base),
    ]
    return " ".join(part for part in said if part)


def _ended(runs: Iterable[CenteringRun]) -> list[CenteringRun]:
    return [run for run in runs if run.state in (DONE, DIVERGED)]


def _baseline(result: CenteringReport) -> CenteringRun | None:
    """The run without a method that has ended and has rivals: at the highest rate at which not all
    of them have diverged, rather untied than tied."""
    known = [run for run in _ended(result.runs) if run.method == "none" and _rivals(result, run)]
    return max(
        known,
        key=lambda run: (not _all_gone(result, run), run.lr, run.tied is not True),
        default=None,
    )


def _all_gone(result: CenteringReport, base: CenteringRun) -> bool:
    return all(run.state == DIVERGED for run in (base, *_rivals(result, base)))


def _rivals(result: CenteringReport, base: CenteringRun) -> list[CenteringRun]:
    """The other methods of its rate, size, seed and tying that have ended."""
    return [run for run in _ended(_beside(result, base)) if run.method != base.method]


def _beside(result: CenteringReport, base: CenteringRun) -> list[CenteringRun]:
    """The runs of its rate, size, seed and tying, itself among them, ended or not."""
    return [run for run in result.side_by_side(base) if run.tied == base.tied]


def _where(result: CenteringReport, run: CenteringRun) -> str:
    """At which rate, and of which size, tying and seed where there are several."""
    sizes, ties = ({getattr(one, name) for one in result.runs} for name in ("size", "tied"))
    tied = {True: "tied", False: "untied", None: ""}[run.tied]
    seeds = {one.seed for one in result.runs}
    seed = f"seed {run.seed}" if len(seeds) > 1 and run.seed is not None else ""
    more = [run.size if len(sizes) > 1 else "", tied if len(ties) > 1 else "", seed]
    facts = ", ".join(one for one in more if one)
    return f"At a learning rate of {rate(run.lr)}{f' ({facts})' if facts else ''}"


def _ending(result: CenteringReport, base: CenteringRun) -> str:
    """How the baseline and its rivals have ended."""
    rivals, where = _rivals(result, base), _where(result, base)
    gone = [run for run in (base, *rivals) if run.state == DIVERGED]
    left = [run for run in (base, *rivals) if run.state == DONE]
    if not gone:
        return f"{where} {_compared(result, base, rivals)}"
    verb = "diverges" if len(gone) == 1 else "diverge"
    if not left:
        every = len(gone) == len(_beside(result, base))
        return (
            f"{where} {'all' if every else 'of those that have ended all'} {len(gone)} runs {verb}."
        )
    at = at_step(gone[0]) if len(gone) == 1 else ""
    ends = f"{_named(left, rivals)} {_losses(result, left)}"
    return f"{where} {_named(gone, rivals)} {verb}{at}; {ends}."


def _by_seed(result: CenteringReport, base: CenteringRun) -> str:
    """How far the baseline lies above the best rival with each seed, where there are several."""
    mine = (base.method, base.lr, base.size, base.tied)
    alike = [
        run
        for run in _ended(result.runs)
        if (run.method, run.lr, run.size, run.tied) == mine and _rivals(result, run)
    ]
    gone = sum(run.state == DIVERGED for run in alike)
    known = [
        more for run in alike if run.state == DONE and math.isfinite(more := _above(result, run))
    ]
    if len(alike) < 2:
        return _by_chance(result, base)
    ends = f"{_signed_range(known)} nats above the best of the others" if known else ""
    if not gone:
        return f"Over {len(alike)} seeds the baseline ends {ends}." if ends else ""
    rest = f"; with the others it ends {ends}" if ends else ""
    return f"Of {len(alike)} seeds the baseline diverges with {gone}{rest}."


def _by_chance(result: CenteringReport, base: CenteringRun) -> str:
    """That one seed does not tell small gaps between trainings from chance."""
    runs = (base, *_rivals(result, base))
    losses = [_loss(result, run) for run in runs if run.state == DONE]
    known = [loss for loss in losses if math.isfinite(loss)]
    small = bool(known) and APART < max(known) - min(known) <= _CHANCE
    if not small or not _is_training(result):
        return ""
    return "With one seed each a gap of this size may be chance: repeat it with others."


def _is_training(result: CenteringReport) -> bool:
    """Whether the runs were trained by this sweep, and have all ended."""
    return result.settings.get("source") == "train" and not result.progress


def _above(result: CenteringReport, base: CenteringRun) -> float:
    """How far its loss lies above that of the best rival."""
    losses = [_loss(result, run) for run in _rivals(result, base) if run.state == DONE]
    return _loss(result, base) - min(filter(math.isfinite, losses), default=math.nan)


def _signed_range(values: list[float]) -> str:
    return _range(values).replace("-", "−")


def _beyond(result: CenteringReport, base: CenteringRun) -> str:
    """The rates above at which nothing is left."""
    higher = sorted(
        {
            run.lr
            for run in _ended(result.runs)
            if run.method == "none"
            and (run.size, run.tied, run.seed) == (base.size, base.tied, base.seed)
            and run.lr > base.lr
            and _rivals(result, run)
            and _all_gone(result, run)
        }
    )
    return f"At {listed([rate(lr) for lr in higher])} all diverge." if higher else ""


def _losses(result: CenteringReport, runs: list[CenteringRun]) -> str:
    known = [value for run in runs if math.isfinite(value := _loss(result, run))]
    verb = "goes on to the end" if len(runs) == 1 else "go on to the end"
    if not known:
        return verb
    return f"{verb}, with a loss of {_range(known)}"


def _compared(result: CenteringReport, base: CenteringRun, rivals: list[CenteringRun]) -> str:
    """The baseline's loss against that of the best rival."""
    known = [run for run in rivals if math.isfinite(_loss(result, run))]
    own = _loss(result, base)
    if not known or not math.isfinite(own):
        return "no losses are known that could be compared."
    best = min(known, key=lambda run: _loss(result, run))
    more, reached = own - _loss(result, best), f"{_loss(result, best):.3f}"
    if more > APART:
        return (
            f"the baseline ends with a loss of {own:.3f}, {more:.2f} nats above "
            f"{called(best, rivals)} with {reached}."
        )
    worst = max((base, *known), key=lambda run: _loss(result, run))
    spread = _loss(result, worst) - min(own, _loss(result, best))
    if spread <= APART:
        count, of = len(known) + 1, len(_beside(result, base))
        who = "all methods" if count == of else f"{count} of {of} runs"
        within = max(math.ceil(1000 * spread), 1) / 1000  # no less than it is
        return f"{who} end within {within:.3f} nats of one another, at about {own:.2f}."
    near = f"{more:.3f} above" if more > 0 else "no worse than"
    return (
        f"the baseline ends with a loss of {own:.3f}, {near} the best of the others; "
        f"{called(worst, rivals)} ends with {_loss(result, worst):.3f}."
    )


def _loss(result: CenteringReport, run: CenteringRun) -> float:
    name = measured(result, HELD_LOSS)
    return number_of(run, name) if name in LOSSES else math.nan


def _grown(result: CenteringReport, base: CenteringRun) -> str:
    """Whether the mean of the baseline's logits has run away from their spread; where nothing has
    come of it in a training, that it takes longer."""
    mean, spread, length = (_end(base, n) for n in ("logit_mean", "logit_std", "mu_output"))
    calm = not any(run.state == DIVERGED for run in result.runs) and not _apart(result, base)
    longer = f" {_LONGER}" if calm and _is_training(result) else ""
    if math.isfinite(mean) and abs(mean) > _RUN_AWAY * spread:
        return (
            f"The baseline's mean logit has run to {worded(mean)}, while the logits of a position "
            f"spread by {worded(spread)}: what has grown is common to all tokens.{longer}"
        )
    if not calm or not math.isfinite(length):
        return ""
    at = f", its mean logit is {worded(mean)}" if math.isfinite(mean) else ""
    return f"The baseline's mean row has a length of {worded(length)}{at}.{longer}"


def _apart(result: CenteringReport, base: CenteringRun) -> bool:
    known = [_loss(result, run) for run in _rivals(result, base)]
    least = _CHANCE if _by_chance(result, base) else APART
    return any(_loss(result, base) - value > least for value in known)


def _sensitivities(result: CenteringReport, base: CenteringRun) -> str:
    """The sensitivity of the baseline against the least of the others, over all sizes."""
    alike = [
        one
        for one in result.sensitivity
        if (one.tied, one.seed) == (base.tied, base.seed) and math.isfinite(one.value)
    ]
    own = {one.size: one for one in alike if one.method == "none"}
    others = [
        one
        for one in alike
        if one.method != "none" and one.size in own and one.rates == own[one.size].rates
    ]
    best = min(others, key=lambda one: (one.size != base.size, one.value), default=None)
    if best is None or base.size not in own:
        return ""
    line = [
        one for one in others if (one.method, one.coefficient) == (best.method, best.coefficient)
    ]
    before = _range([own[one.size].value for one in line])
    return (
        f"Away from the best of {len(own[base.size].rates)} rates the loss is on average {before} "
        f"nats higher without a method, {_range([one.value for one in line])} with "
        f"{_weighed(best, others)}{', by size' if len(line) > 1 else ''}."
    )


def _weighed(one: Sensitivity, among: list[Sensitivity]) -> str:
    """Its method, with the coefficient where there are several."""
    weights = {other.coefficient for other in among if other.method == one.method}
    weight = "" if one.coefficient is None or len(weights) < 2 else f" {rate(one.coefficient)}"
    return f"{method_words(one.method)}{weight}"


def _range(values: list[float]) -> str:
    low, high = f"{min(values):.3f}", f"{max(values):.3f}"
    return low if low == high else f"{low} to {high}"


def _standing(result: CenteringReport) -> str:
    """What can be said where no method can be compared with the baseline."""
    ended = [run for run in result.runs if run.state == DONE]
    gone = sum(run.state == DIVERGED for run in result.runs)
    if not ended:
        return f"In training: {result.progress}." if result.progress else _none_left(gone)
    losses = [run for run in ended if math.isfinite(_loss(result, run))]
    best = min(losses, key=lambda run: _loss(result, run), default=ended[0])
    name = f"{called(best, result.runs)} at {rate(best.lr)}"
    loss = f" with a loss of {_loss(result, best):.3f}" if losses else ""
    return " ".join(
        part for part in (f"{_first(name, len(ended), gone)}{loss}.", _state_of(best)) if part
    )


def _none_left(gone: int) -> str:
    """Nothing is under way, and no run has a loss at its end."""
    lost = f"{_diverging(gone)}; no" if gone else "No"
    return f"{lost} run has come to its end."


def _first(name: str, ended: int, gone: int) -> str:
    """The best run among those that have ended, and how many have diverged."""
    if gone:
        others = f"the best of the {ended} others, {name}," if ended > 1 else name
        return f"{_diverging(gone)}; {others} ends"
    return f"Of {ended} runs the best, {name}, ends" if ended > 1 else f"{name} ends"


def _diverging(gone: int) -> str:
    return f"{gone} run diverges" if gone == 1 else f"{gone} runs diverge"


def _state_of(run: CenteringRun) -> str:
    mean, spread, length = (_end(run, n) for n in ("logit_mean", "logit_std", "mu_output"))
    known = [
        f"its mean logit is {worded(mean)}" if math.isfinite(mean) else "",
        f"the spread of its logits {worded(spread)}" if math.isfinite(spread) else "",
        f"its mean row has a length of {worded(length)}" if math.isfinite(length) else "",
    ]
    said = ", ".join(part for part in known if part)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def effects(result: CenteringReport) -> list[str]:
    """What one subtraction does now to the predictions of trained models."""
    return [_effect(one) for one in result.effects]


def _effect(one: Effect) -> str:
    tied, cap = ("Tied" if one.tied else "Untied"), ("with" if one.capped else "without")
    changed = (
        "no probability changes"
        if one.softmax == 0
        else f"no probability changes by more than {one.softmax:.0e}, which is rounding"
        if one.softmax < _ROUNDING
        else f"probabilities change by up to {one.softmax:.3g}"
    )
    return (
        f"{tied}, {cap} cap: {changed}, while logits move by up to {worded(one.logit_shift)}. "
        f"{one.changes}"
    )


# Pieces of sentences.


def _end(run: CenteringRun, name: str) -> float:
    """A number of the run's end; of one that broke off the last that was finite."""
    value = run.numbers.get(name, math.nan)
    if math.isfinite(value):
        return value
    known = np.asarray(run.curves.get(name, ()), float)
    known = known[np.isfinite(known)]
    return float(known[-1]) if len(known) else math.nan


def _named(runs: list[CenteringRun], among: list[CenteringRun]) -> str:
    if len(runs) > _NAMED:
        return f"{len(runs)} of the {len(among) + 1} runs"
    names = [called(run, among) for run in runs]
    return listed(["the baseline" if name == "baseline" else name for name in names])
