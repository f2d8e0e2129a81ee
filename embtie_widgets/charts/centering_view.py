"""Which runs of a sweep over methods and learning rates are looked at, how, and by what names."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from embtie_widgets.charts.shapes import faint
from embtie_widgets.charts.theme import method_marks
from embtie_widgets.results.centering import RUNNING, CenteringReport, CenteringRun

TYING = {"untied": False, "tied": True}


@dataclass(frozen=True)
class Quantity:
    """A curve of a run: its name, what it says, and a level worth seeing, with its words."""

    label: str
    says: str
    level: float | None = None
    level_words: str = ""


QUANTITIES = {
    "loss": Quantity(
        "loss, nats",
        "What the model does not know of the next token, on the batch of the step.",
    ),
    "logit_mean": Quantity(
        "mean logit",
        "The mean of a position's logits over the vocabulary: what all tokens have in common, and "
        "what the softmax cannot see.",
        0.0,
    ),
    "logit_max": Quantity(
        "largest |logit|",
        "The largest magnitude of a position's logits, before any cap.",
    ),
    "logit_std": Quantity(
        "spread of the logits",
        "The standard deviation of a position's logits over the vocabulary: what tells tokens "
        "apart.",
    ),
    "mu_output": Quantity(
        "length of the mean row, |μ|",
        "The length of the mean row of the output matrix.",
    ),
    "common_fraction": Quantity(
        "common share of the logits",
        "Which share of the logits' mean square is common to all tokens: 0 none, 1 all of it.",
    ),
    "row_norm_output": Quantity(
        "mean length of a row",
        "The mean length of a row of the output matrix.",
    ),
    "bound_ratio": Quantity(
        "B-ratio, reach centred / as it is",
        "How far rows reach along μ after centring, against before. Below 1 centring narrows the "
        "range of the logits, above 1 it widens it.",
        1.0,
        "above: centring widens the range",
    ),
    "logit_mean_spread": Quantity(
        "spread of the mean logit",
        "The standard deviation, over positions, of their mean logits.",
    ),
    "gradient_norm": Quantity("length of the gradient", "Of the whole gradient, before clipping."),
    "mu_input": Quantity(
        "length of the input's mean row",
        "The length of the mean row of the input matrix; of a tied model it is that of the output.",
    ),
}
USUAL = tuple(QUANTITIES)[:8]
UNITS = {  # of a stretched axis
    "logit_mean": 1.0,
    "logit_max": 1.0,
    "logit_mean_spread": 0.1,
    "mu_output": 0.1,
    "mu_input": 0.1,
    "row_norm_output": 0.1,
    "gradient_norm": 0.1,
}
HELD_LOSS = "held_loss"
"""The loss on text held out: no curve, a number of each run."""
HELD_OUT = "text held out"
"""What a run says that its loss is on, where it says so."""
_NOTHING = 1e-6
_FAINTEST = 0.4  # of the colour, for the smallest coefficient
METHOD_WORDS = {
    "none": "baseline",
    "mu-centering": "μ-centering",
    "mu-loss": "μ-loss",
    "coupled-adam": "Coupled Adam",
    "sgd": "plain SGD",
}


@dataclass(frozen=True)
class View:
    """Which runs are drawn side by side, and how.

    lr, size, seed  those they have in common; None for the most telling ones
    tying           "untied", "tied", or "" for both
    curves          names of QUANTITIES, each a picture of its own
    log             whether large and small numbers are seen at once, zero and below included
    """

    lr: float | None = None
    size: str | None = None
    seed: int | None = None
    tying: str = ""
    curves: tuple[str, ...] = USUAL
    log: bool = False


def fitting(result: CenteringReport | None, view: View) -> View:
    """The view with a rate, size and seed that this result has runs of."""
    runs = () if result is None else result.runs
    wanted = [_is(view, name) for name in ("size", "lr", "seed")]
    held: Iterable[CenteringRun] = [run for run in runs if run.curves] or runs
    for keeps in wanted:
        held = [run for run in held if keeps(run)] or held
    one = max(held, key=lambda run: (run.state == RUNNING, run.lr), default=None)
    return view if one is None else replace(view, lr=one.lr, size=one.size, seed=one.seed)


def _is(view: View, name: str) -> Callable[[CenteringRun], bool]:
    asked = getattr(view, name)
    return lambda run: asked is None or getattr(run, name) == asked


def side_by_side(result: CenteringReport | None, view: View) -> list[CenteringRun]:
    """The runs of a view's rate, size, seed and tying, with curves or without."""
    view, runs = fitting(result, view), () if result is None else result.runs
    return [
        run
        for run in runs
        if (run.lr, run.size, run.seed) == (view.lr, view.size, view.seed)
        and (not view.tying or run.tied in (None, TYING[view.tying]))
    ]


def choices(result: CenteringReport | None, name: str) -> list[tuple[str, Any]]:
    """Words and value of what a control can choose: name is "lr", "size", "seed" or "tying"."""
    runs = () if result is None else result.runs
    if name == "tying":
        known = [word for word, tied in TYING.items() if any(run.tied is tied for run in runs)]
        return [("both", ""), *((word, word) for word in known)] if len(known) > 1 else []
    found = list(dict.fromkeys(getattr(run, name) for run in runs))
    if name == "lr":
        return [(rate(value), value) for value in sorted(found)]
    return [(str(value), value) for value in found if value not in ("", None)]


def quantities_of(result: CenteringReport | None) -> list[str]:
    """The curves that some run has."""
    runs = () if result is None else result.runs
    return [name for name in QUANTITIES if any(run.knows(name) for run in runs)]


@dataclass(frozen=True)
class Look:
    """How the line of a run is drawn: its method has colour, dash and marker, a smaller coefficient
    less strength, a tied model a thinner line and an open marker."""

    color: str
    dash: str
    symbol: str
    width: float
    glyph: str


def look_of(run: CenteringRun, among: Iterable[CenteringRun]) -> Look:
    """The look of a run among others."""
    among = list(among)
    mark = method_marks(one.method for one in among)[run.method]
    weights = sorted({one.coefficient or 0.0 for one in among if one.method == run.method})
    place = weights.index(run.coefficient or 0.0) if len(weights) > 1 else 0
    strength = _FAINTEST + (1 - _FAINTEST) * place / (len(weights) - 1) if len(weights) > 1 else 1.0
    both = len({one.tied for one in among}) > 1
    thin = both and run.tied is True
    return Look(
        color=faint(mark, strength),
        dash=mark.dash,
        symbol=f"{mark.symbol}-open" if thin else mark.symbol,
        width=1.4 if thin else 2.4,
        glyph=mark.glyph,
    )


def number_of(run: CenteringRun, name: str) -> float:
    """HELD_LOSS or the value of a curve at a run's end; NaN where it is not known."""
    return run.loss if name == HELD_LOSS else run.numbers.get(name, math.nan)


def measures_of(result: CenteringReport | None) -> list[tuple[str, str]]:
    """Words and name of each number that some run has at its end."""
    runs = () if result is None else result.runs
    labels = {HELD_LOSS: f"{final_loss(result)}, nats"}
    labels |= {name: one.label for name, one in QUANTITIES.items()}
    labels["loss"] = "loss in training, nats"
    return [
        (label, name)
        for name, label in labels.items()
        if any(math.isfinite(number_of(run, name)) for run in runs)
    ]


def final_loss(result: CenteringReport | None) -> str:
    """What the loss of a run is: on text held out, or what a record has in its place."""
    runs = () if result is None else result.runs
    if result is not None and result.settings.get("source") == "file":
        return "recorded loss"
    batches = any(run.about.get("loss on", HELD_OUT) != HELD_OUT for run in runs)
    return "loss of the last batches" if batches else "loss on text held out"


def measured(result: CenteringReport | None, name: str) -> str:
    """The number of that name, or the first that is known where this one is not."""
    known = [one for _, one in measures_of(result)]
    return name if name in known else next(iter(known), name)


def at_step(run: CenteringRun) -> str:
    """At which step a run broke off; nothing for one that came to its last."""
    return f" at step {run.step:,}" if 0 < run.step < run.of else ""


def method_words(method: str) -> str:
    """A method as it is read; a name that is not ours as the record has it."""
    return " + ".join(METHOD_WORDS.get(part, part) for part in method.split("+"))


def called(run: CenteringRun, among: Iterable[CenteringRun]) -> str:
    """A run among others: its method, and what else of coefficient and tying is needed."""
    among = list(among)
    weights = {one.coefficient for one in among if one.method == run.method}
    known = len(weights) > 1 and run.coefficient is not None
    weight = f" {rate(run.coefficient)}" if known and run.coefficient is not None else ""
    ties = {one.tied for one in among}
    tied = {True: ", tied", False: ", untied", None: ""}[run.tied] if len(ties) > 1 else ""
    alike = [one for one in among if (*one.group, one.lr) == (*run.group, run.lr)]
    name = f", {run.about['name']}" if len(alike) > 1 and "name" in run.about else ""
    return f"{method_words(run.method)}{weight}{tied}{name}"


def key_of(run: CenteringRun) -> str:
    """A run by a name that a link can carry, the same from result to result."""
    tied = {True: "tied", False: "untied", None: ""}[run.tied]
    weight = "" if run.coefficient is None else f"{run.coefficient:.12g}"
    seed = "" if run.seed is None else str(run.seed)
    named = [str(run.about["name"])] if "name" in run.about else []
    return "/".join((run.size, tied, run.method, weight, f"{run.lr:.12g}", seed, *named))


def run_of(result: CenteringReport | None, key: str) -> CenteringRun | None:
    """The run of that name, where there is one."""
    runs = () if result is None else result.runs
    return next((run for run in runs if key_of(run) == key), None)


def rate(lr: float) -> str:
    """A learning rate or a coefficient as it is read: 0.003, 1e-4."""
    small = 0 < lr < 1e-3
    return np.format_float_scientific(lr, trim="-", exp_digits=1) if small else f"{lr:g}"


def worded(value: float) -> str:
    """A number in a sentence: three digits that count, and 0 for what rounding leaves of it."""
    if abs(value) < _NOTHING:
        return "0"
    return (f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}").replace("-", "−")
