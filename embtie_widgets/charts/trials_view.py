"""Which runs of an experiment on the bottleneck are looked at, how, and by what names."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.charts.shapes import Vector, faint
from embtie_widgets.charts.theme import MODELS, WAYS, Mark
from embtie_widgets.results.gradient import trailing_mean
from embtie_widgets.results.trials import DONE, TrialRun, TrialsReport

RANKS, SPAMLANG = "ranks", "spamlang"
FULL = "full"
WAY_WORDS = {
    FULL: "full head",
    "factorised": "factorised head",
    "backward": "backward only",
    "head-update": "head's own update cut",
}
WAY_SAYS = {
    FULL: "the head as it is",
    "factorised": "the head is a product of two thin matrices: logits and gradient have that rank",
    "backward": "logits and the head's own update as they are; the gradient at the hidden state is "
    "brought to that rank and back to its length",
    "head-update": "of the head's own gradient the part is taken off that the hidden state does "
    "not see; all else as it is",
}
DIMENSIONS = {  # what runs may differ in, and how a value of it is read
    "symbols": "{:,} symbols",
    "width": "width {:,}",
    "length": "length {:,}",
    "extra": "{:,} never-correct classes",
    "tied": "{}",
    "lr": "rate {:g}",
    "seed": "seed {}",
}
LABELS = {
    "symbols": "symbols, V",
    "width": "width, d",
    "length": "length",
    "extra": "never-correct classes",
    "tied": "tying",
    "lr": "rate",
    "seed": "seed",
}
ACROSS = {
    "positions": "predicted positions",
    "sequences": "independent sequences",
}
ENOUGH, MOST_MEANT = 200, 20
"""Independent sequences that a share of right predictions is taken from, where so many steps at
most have them."""
_FAINTEST = 0.55  # of the colour, for the smallest rank
_LADDER = ("#1e97d4", "#8a4fd0", "#d1442b")  # from the least value of a line's number to the most
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "star", "cross")
_DASHES = ("solid", "6px,3px", "10px,3px", "2px,3px", "9px,3px,2px,3px", "14px,3px", "3px,6px")


@dataclass(frozen=True)
class View:
    """Which curves are drawn, and against what.

    only     what runs are chosen by: names of DIMENSIONS with the value that they must have
    across   of SpamLang, a key of ACROSS
    curve    "usual": of SpamLang right predictions, of ranks the loss; else of SpamLang "loss" or
             "destroyed", of ranks "against" for the loss less that of the full head at the same
             step
    """

    only: tuple[tuple[str, Any], ...] = ()
    across: str = "positions"
    curve: str = "usual"


@dataclass(frozen=True)
class Look:
    """How the line of a run is drawn, and the sign that says the same in words."""

    color: str
    dash: str
    symbol: str
    width: float
    glyph: str


def values(runs: Iterable[TrialRun], name: str) -> list[Any]:
    """What runs have of a dimension, each value once, rising."""
    found = {getattr(run, name) for run in runs} - {None}
    return sorted(found)


def varied(runs: Sequence[TrialRun]) -> list[str]:
    """The dimensions in which runs differ."""
    return [name for name in DIMENSIONS if len(values(runs, name)) > 1]


def worded(name: str, value: Any) -> str:
    """A value of a dimension as it is read."""
    if name == "tied":
        return "tied" if value else "untied"
    if name == "extra" and not value:
        return "no never-correct classes"
    return DIMENSIONS[name].format(value)


def seen(result: TrialsReport | None, view: View) -> list[TrialRun]:
    """The runs of a view, in the order of the result; a choice that none of them has is passed
    over."""
    runs = [] if result is None else list(result.trials)
    for name, value in view.only:
        runs = [run for run in runs if getattr(run, name) == value] or runs
    return runs


def called(run: TrialRun, among: Sequence[TrialRun], without: Iterable[str] = ()) -> str:
    """A run among others: its way and rank where it has one, and what else it differs in; some
    dimensions are said elsewhere."""
    told = [name for name in varied(among) if name not in without and _has(run, name)]
    parts = [] if run.symbols is not None else [way_words(run)]
    parts += [worded(name, getattr(run, name)) for name in told]
    return ", ".join(parts) or _all_of(run)


def way_words(run: TrialRun) -> str:
    """Way and rank."""
    rank = "" if run.rank is None else f", rank {run.rank:,}"
    return f"{WAY_WORDS.get(run.way, run.way)}{rank}"


def _has(run: TrialRun, name: str) -> bool:
    return getattr(run, name) is not None


def _all_of(run: TrialRun) -> str:
    """A run that is alone."""
    return ", ".join(worded(name, getattr(run, name)) for name in ("symbols", "width", "length"))


def key_of(run: TrialRun) -> str:
    """A run by a name that a link can carry, the same from result to result."""
    tied = "tied" if run.tied else "untied"
    numbers = (run.rank, run.symbols, run.width, run.length, run.extra)
    told = ["" if one is None else str(one) for one in numbers]
    return "/".join((run.way, *told, tied, f"{run.lr:.12g}", str(run.seed)))


def run_of(result: TrialsReport | None, key: str) -> TrialRun | None:
    """The run of that name, where there is one."""
    runs = () if result is None else result.trials
    return next((run for run in runs if key_of(run) == key), None)


def look_of(run: TrialRun, among: Sequence[TrialRun], by: str = "") -> Look:
    """The look of a run among others: of head ranks the way has colour, dash and marker and a
    smaller rank less strength; of SpamLang the dimension `by` has them.  Beside untied runs a tied
    one is thinner, with an open marker."""
    mark = _step(run, among, by) if by else _of_way(run, among)
    thin = by != "tied" and run.tied and len(values(among, "tied")) > 1
    symbol = f"{mark.symbol}-open" if thin else mark.symbol
    return Look(mark.color, mark.dash, symbol, 1.4 if thin else 2.4, mark.glyph)


def _of_way(run: TrialRun, among: Sequence[TrialRun]) -> Mark:
    mark = WAYS.get(run.way, WAYS[FULL])
    ranks = sorted({one.rank for one in among if one.way == run.way and one.rank is not None})
    if run.rank is None or len(ranks) < 2:
        return mark
    place = ranks.index(run.rank)
    strength = _FAINTEST + (1 - _FAINTEST) * place / (len(ranks) - 1)
    return Mark(
        faint(mark, strength), _DASHES[(len(ranks) - 1 - place) % len(_DASHES)], mark.symbol
    )


def _step(run: TrialRun, among: Sequence[TrialRun], by: str) -> Mark:
    """On the ladder of colours, by the place of its value."""
    if by == "tied":
        return MODELS["tied" if run.tied else "untied"]
    known = values(among, by)
    place = known.index(getattr(run, by)) if getattr(run, by) in known else 0
    share = place / (len(known) - 1) if len(known) > 1 else 0.0
    return Mark(_ladder(share), _DASHES[place % len(_DASHES)], _SYMBOLS[place % len(_SYMBOLS)])


def _ladder(share: float) -> str:
    """A colour between the ends of the ladder."""
    at = share * (len(_LADDER) - 1)
    low = min(int(at), len(_LADDER) - 2)
    ends = [[int(one[i : i + 2], 16) for i in (1, 3, 5)] for one in _LADDER[low : low + 2]]
    mixed = (round(a + (at - low) * (b - a)) for a, b in zip(*ends, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def sequences_of(run: TrialRun) -> float:
    """How many independent sequences a run has seen so far; NaN where that is not known."""
    return last(run, "sequences")


def per_symbol(run: TrialRun) -> float:
    """How often a symbol has been drawn so far, on average; NaN where that is not known."""
    return sequences_of(run) / run.symbols if run.symbols else math.nan


def share_of_width(rank: int | None, width: int | None) -> float:
    """A rank as a share of the width; NaN where either is not known."""
    return rank / width if rank and width else math.nan


def width_of(result: TrialsReport | None) -> int | None:
    """The width of the models of "ranks", where it is known."""
    runs = () if result is None else result.trials
    found = {known for run in runs if isinstance(known := run.about.get("width"), int)}
    return found.pop() if len(found) == 1 else None


def last(run: TrialRun, name: str) -> float:
    """The last value of a curve that is finite, else NaN."""
    known: Vector = np.asarray(run.curves.get(name, ()), float)
    known = known[np.isfinite(known)]
    return float(known[-1]) if len(known) else math.nan


def by_data(run: TrialRun, name: str) -> Vector:
    """A curve of SpamLang by logged step.  Loss and right predictions of batches that hold few
    independent sequences are means over some steps, as many as make ENOUGH sequences but no more
    than MOST_MEANT; all else is as it was logged."""
    steps, known, draws = (
        np.asarray(run.curves.get(one, ()), float) for one in ("step", name, "sequences")
    )
    if name not in ("accuracy", "loss") or not len(known) or len(draws) != len(known):
        return known
    each = draws[-1] / max(steps[-1], 1.0)
    window = int(np.clip(math.ceil(ENOUGH / max(each, 1.0)), 1, MOST_MEANT))
    return np.where(np.isfinite(known), trailing_mean(steps, known, window), np.nan)


def done(result: TrialsReport | None) -> list[TrialRun]:
    """The runs that have come to their end."""
    return [] if result is None else [run for run in result.trials if run.state == DONE]


def percent(share: float) -> str:
    """A share in percent, with one place where it is not whole."""
    value = 100 * share
    return f"{value:.0f} %" if abs(value - round(value)) < 0.05 else f"{value:.1f} %"
