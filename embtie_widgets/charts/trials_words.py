"""What an experiment on the bottleneck has come to, in sentences; how they are read is left to the
reader."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from embtie_widgets.charts.sentences import listed
from embtie_widgets.charts.trials_view import (
    RANKS,
    by_data,
    done,
    per_symbol,
    percent,
    sequences_of,
    values,
    varied,
    way_words,
    width_of,
    worded,
)
from embtie_widgets.results.trials import DIVERGED, FAILED, TrialRun, TrialsReport

CHANCE = 0.1
"""Nats: so far apart two runs of one seed may end whatever is done."""
_FAR = 2  # numbers of steps that differ by more make two trainings
_SAME = 0.05  # shares of right predictions that differ by less are about the same
_WITH = {
    "factorised": "with a factorised head",
    "backward": "with the backward pass alone restricted",
    "head-update": "with the head's own update cut",
}
_ON_RANKS = (
    "The papers disagree on what this means. One holds that what is not transmitted slows "
    "training: with a head of rank 4,096 its models reach the loss of rank 32 in a sixteenth of "
    "the tokens. The other restricts the way back alone, which costs 0.06 to 0.20 nats where the "
    "same rank of the whole head costs 0.14 to 0.29, and finds that the head itself uses the part "
    "that the hidden state does not get. Judge by the lines."
)
_ON_SPAMLANG = (
    "The papers disagree on what this means. One finds repeated symbols harder to learn the larger "
    "V/d, up to never. The other counts: 41 million positions are 4.9 independent sequences for "
    "each of 131,072 symbols, and at fixed positions length 1 comes to 100 %, length 64 to 26.6 %; "
    "classes that are never correct did no harm. Judge by the lines."
)


def headline(result: TrialsReport) -> str:
    """What the runs have come to."""
    ended = done(result)
    if not ended:
        return f"In training: {result.progress}." if result.progress else _none_left(result)
    parts = _on_ranks(result) if result.experiment == RANKS else _on_symbols(ended)
    return " ".join(part for part in parts if part)


def dispute(result: TrialsReport) -> str:
    """What the two papers say of such an experiment."""
    return _ON_RANKS if result.experiment == RANKS else _ON_SPAMLANG


def _none_left(result: TrialsReport) -> str:
    gone = sum(run.state == DIVERGED for run in result.trials)
    lost = f"{gone} run{'s' if gone > 1 else ''} diverged; no" if gone else "No"
    return f"{lost} run has come to its end."


# Head ranks.


def _on_ranks(result: TrialsReport) -> list[str]:
    lines = list(result.excess)
    if not lines:
        return [_losses(done(result))]
    one = lines[0]
    alike = [line for line in lines if (line["tied"], line["lr"]) == (one["tied"], one["lr"])]
    ranks = sorted({line["rank"] for line in alike} - {None})
    both = [rank for rank in ranks if sum(line["rank"] == rank for line in alike) > 1] or ranks
    told = [line for line in alike if line["rank"] in (None, *both[:1])]
    at = f", at rank {both[0]:,}{_of_width(result)}" if both else ""
    return [
        f"Held-out loss above that of the full head{at}: {', '.join(map(_amount, told))}.",
        _tied_too(lines, one),
        _on_chance(told),
    ]


def _of_width(result: TrialsReport) -> str:
    width = width_of(result)
    return f" of {width:,}" if width else ""


def _amount(line: dict[str, Any]) -> str:
    """How far above, with the interval over seeds where there are several."""
    pair = line.get("interval")
    ends = f" [{signed(pair[0])}, {signed(pair[1])}]" if pair else ""
    return f"{signed(line['mean'])} nats{ends} {_WITH.get(line['way'], line['way'])}"


def signed(value: float) -> str:
    """A difference with its sign and a real minus."""
    return f"{value:+.3f}".replace("-", "−")


def _tied_too(lines: list[dict[str, Any]], one: dict[str, Any]) -> str:
    """That there is more than the sentence tells."""
    more = {(line["tied"], line["lr"]) for line in lines} - {(one["tied"], one["lr"])}
    if not more:
        return ""
    here = worded("tied", one["tied"])
    rates = {line["lr"] for line in lines}
    at = f" at a rate of {one['lr']:g}" if len(rates) > 1 else ""
    return f"That is {here}{at}; the chart below has the others."


def _on_chance(lines: list[dict[str, Any]]) -> str:
    """That one seed tells no small gap from chance, be it to the full head or between two ways."""
    ends = sorted([0.0, *(line["mean"] for line in lines if line["seeds"] < 2)])
    small = any(high - low < CHANCE for low, high in pairwise(ends))
    return "With one seed each, gaps below 0.1 may be chance: repeat them." if small else ""


def _losses(ended: list[TrialRun]) -> str:
    """Where there is nothing to compare with."""
    known = [run for run in ended if math.isfinite(run.loss)]
    told = [f"{way_words(run)} {run.loss:.3f}" for run in known[:4]]
    return f"Held-out loss, nats: {listed(told)}." if told else "No loss is known yet."


# SpamLang.


def _on_symbols(ended: list[TrialRun]) -> list[str]:
    single = [run for run in ended if math.isfinite(run.accuracy)]
    if not single:
        return ["No accuracy is known yet."]
    known = list(map(_mean, _seeds(single)))
    several = varied(known)
    said = []
    if "length" in several:
        said += _on_lengths(known)
    if "extra" in several:
        said.append(_on_extra(known))
    if {"symbols", "width"} & set(several):
        said.append(_on_ratio(known))
    said = said or [_alone(known[0], len(known))]
    return [*said, _on_seeds(single)]


_SETTING = ("symbols", "width", "length", "extra", "tied", "lr")


def _seeds(runs: Sequence[TrialRun]) -> list[list[TrialRun]]:
    """Runs that differ in their seed alone."""
    found: dict[Any, list[TrialRun]] = {}
    for run in runs:
        found.setdefault(tuple(getattr(run, name) for name in _SETTING), []).append(run)
    return list(found.values())


def _mean(runs: list[TrialRun]) -> TrialRun:
    """One run for all seeds, with the mean of right predictions at the end and on the way."""
    first = runs[0]
    curves = [run.curves.get("accuracy", ()) for run in runs]
    alike = len(runs) > 1 and len({len(curve) for curve in curves}) == 1 and len(curves[0])
    mean = {"accuracy": np.mean(curves, 0)} if alike else {}
    accuracy = float(np.mean([run.accuracy for run in runs]))
    return replace(first, accuracy=accuracy, curves={**first.curves, **mean})


def _on_seeds(runs: Sequence[TrialRun]) -> str:
    """What the shares are means of, and how far a seed alone may be off."""
    groups = _seeds(runs)
    counts = [len(group) for group in groups]
    if max(counts) == 1:
        alone = len(groups) == 1
        return "" if alone else "With one seed each, small gaps may be chance: repeat them."
    off = max(abs(run.accuracy - _mean(group).accuracy) for group in groups for run in group)
    many = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"Means over {many} seeds; single runs are up to {100 * off:.1f} points off."


def _groups(runs: Sequence[TrialRun], name: str) -> list[list[TrialRun]]:
    """Runs that differ in one dimension alone, rising in it; only where there are several."""
    found: dict[Any, list[TrialRun]] = {}
    for run in runs:
        key = tuple(getattr(run, other) for other in _SETTING if other != name)
        found.setdefault(key, []).append(run)
    ranked = [sorted(group, key=lambda run: getattr(run, name)) for group in found.values()]
    return [group for group in ranked if len(group) > 1]


def _on_lengths(runs: Sequence[TrialRun]) -> list[str]:
    """The shortest and the longest sequences, where they differ most; then both at the same number
    of independent sequences."""
    groups = _groups(runs, "length")
    group = max(groups, key=lambda some: abs(some[0].accuracy - some[-1].accuracy), default=[])
    if not group:
        return []
    short, long = group[0], group[-1]
    where = _where(short, runs, ("length",))
    if len(groups) > 1:
        where = f"Where lengths differ most{', at' + where[2:-2] if where else ''}: "
    first, other = _capital(worded("length", short.length), where), worded("length", long.length)
    return [
        f"{where}{first} gets {percent(short.accuracy)} of {short.symbols:,} symbols right"
        f"{_seen(short)}, {other} {percent(long.accuracy)}{_seen_too(long)}.",
        _at_equal_draws(short, long),
    ]


def _capital(words: str, before: str) -> str:
    return words if before else words[:1].upper() + words[1:]


def _where(run: TrialRun, runs: Sequence[TrialRun], without: tuple[str, ...]) -> str:
    """Which of the settings that vary, as the start of a sentence."""
    several = [n for n in varied(runs) if n not in (*without, "symbols")]
    told = ", ".join(worded(name, getattr(run, name)) for name in several)
    return f"At {told}: " if told else ""


def _seen(run: TrialRun) -> str:
    """After how much data."""
    each = per_symbol(run)
    if not math.isfinite(each):
        return ""
    return f" after {each:,.3g} independent sequence{'' if each == 1 else 's'} of each"


def _seen_too(run: TrialRun) -> str:
    """The same where it is clear what is counted."""
    each = per_symbol(run)
    return f" after {each:,.3g}" if math.isfinite(each) else ""


def _at_equal_draws(short: TrialRun, long: TrialRun) -> str:
    """Both after as many independent sequences, on the batches of their training; where they took
    quite different numbers of steps for them, that instead."""
    draws = min(sequences_of(short), sequences_of(long))
    if not math.isfinite(draws) or sequences_of(short) == sequences_of(long):
        return ""
    steps = [at_draws(run, "step", draws) for run in (short, long)]
    shares = [at_draws(run, "accuracy", draws) for run in (short, long)]
    if not all(map(math.isfinite, (*steps, *shares))):
        return ""
    names = [worded("length", run.length) for run in (short, long)]
    if max(steps) > _FAR * min(steps):
        took = ", ".join(f"{n}: {s:,.0f}" for n, s in zip(names, steps, strict=True))
        return (
            f"The first {draws:,.0f} sequences took different numbers of steps ({took}): count "
            "data per symbol to compare lengths after as many of both."
        )
    one, other = shares
    if abs(one - other) < _SAME:
        said = f"both lengths are at about {percent(other)}"
    else:
        said = f"{names[0]} is at {percent(one)}, {names[1]} at {percent(other)}"
    return f"After as many independent sequences, {draws:,.0f}, {said}."


def at_draws(run: TrialRun, name: str, draws: float) -> float:
    """A curve once so many independent sequences were seen, between two logged steps on a straight
    line; NaN before the first of them."""
    at = np.asarray(run.curves.get("sequences", ()), float)
    known = np.asarray(run.curves.get("step", ()), float) if name == "step" else by_data(run, name)
    good = np.isfinite(at) & np.isfinite(known) if len(at) == len(known) else np.zeros(0, bool)
    if not good.any() or draws < at[good][0]:
        return math.nan
    return float(np.interp(draws, at[good], known[good]))


def _on_extra(runs: Sequence[TrialRun]) -> str:
    """Accuracies with more and more classes that never occur."""
    group = max(_groups(runs, "extra"), key=len, default=[])
    if not group:
        return ""
    numbers = listed([f"{run.extra:,}" for run in group])
    shares = listed([percent(run.accuracy) for run in group])
    where = _where(group[0], runs, ("extra",))
    return f"{where}With {numbers} never-correct classes {shares} of the symbols are right."


def _on_ratio(runs: Sequence[TrialRun]) -> str:
    """The ends of V/d, and how often a symbol was drawn there."""
    lengths = values(runs, "length")
    same = [run for run in runs if run.length == lengths[0]]
    low, high = min(same, key=ratio), max(same, key=ratio)
    if ratio(low) == ratio(high):
        return ""
    where = f"At {worded('length', lengths[0])} a" if len(lengths) > 1 else "A"
    return (
        f"{where} V/d of {ratio(low):,.3g} ends with {percent(low.accuracy)} of the symbols right"
        f"{_seen(low)}, one of {ratio(high):,.3g} with {percent(high.accuracy)}{_seen_too(high)}."
    )


def ratio(run: TrialRun) -> float:
    """V/d: rows of the head for each of its columns."""
    return ((run.symbols or 0) + (run.extra or 0)) / (run.width or 1)


def _alone(run: TrialRun, many: int) -> str:
    best = f"The first of {many} runs: " if many > 1 else ""
    return (
        f"{best}{percent(run.accuracy)} of {run.symbols:,} symbols right at width {run.width:,} "
        f"and length {run.length:,}{_seen(run)}."
    )


# What to beware of.


def cautions(result: TrialsReport) -> list[str]:
    """What to read before the numbers: runs that have failed, each reason once."""
    reasons: dict[str, list[TrialRun]] = {}
    for run in result.trials:
        if run.state == FAILED:
            reasons.setdefault(run.reason or "No reason was given.", []).append(run)
    return [
        f"{len(runs)} of {len(result.trials)} runs failed: {reason}"
        for reason, runs in reasons.items()
    ]
