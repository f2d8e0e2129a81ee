"""What the charts of a sweep rest on, and what the command line prints of it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from embtie_widgets.charts.centering_cautions import cautions
from embtie_widgets.charts.centering_curves import CUT, SMOOTH
from embtie_widgets.charts.centering_view import (
    HELD_LOSS,
    View,
    fitting,
    measured,
    measures_of,
    method_words,
    rate,
    side_by_side,
)
from embtie_widgets.charts.centering_words import effects, headline
from embtie_widgets.results.centering import (
    DIVERGED,
    FAILED,
    MISSING,
    RUNNING,
    WAITING,
    CenteringReport,
    CenteringRun,
    Sensitivity,
)
from embtie_widgets.results.centering_published import SIZES

_STATES = {
    DIVERGED: "✕ diverged: its loss is not finite, or no better than equal guesses at all tokens",
    FAILED: "! failed",
    MISSING: "– missing from the record",
    WAITING: "… waiting",
    RUNNING: "▶ in training",
}


def caption(result: CenteringReport, view: View | None = None) -> str:
    """What the curves rest on."""
    view = fitting(result, view or View())
    runs = side_by_side(result, view)
    stored = any(
        run.knows("mu_output_all") and _differs(run) for run in runs if run.knows("mu_output")
    )
    loss = "loss" in view.curves and any(run.knows("loss") for run in runs)
    facts = [
        _of_view(result, view),
        _recipe(result),
        f"loss of each step's batch, mean over {SMOOTH} steps, its fall in the first {CUT:.0%} of "
        "the steps may leave the picture".replace("%", " %")
        if loss
        else "",
        "logits before any cap",
        "μ over rows of real tokens" + (", finely dotted over all stored rows" if stored else ""),
        "✕ where a run diverged" if any(run.state == DIVERGED for run in runs) else "",
    ]
    return _sentence(facts)


def _differs(run: CenteringRun) -> bool:
    own, stored = (np.asarray(run.curves[name]) for name in ("mu_output", "mu_output_all"))
    return not np.allclose(own, stored, rtol=0.01, atol=1e-6, equal_nan=True)


def _of_view(result: CenteringReport, view: View) -> str:
    known = [
        f"learning rate {rate(view.lr)}" if view.lr is not None else "",
        view.size or "",
        f"seed {view.seed}" if view.seed is not None else "",
    ]
    said = ", ".join(part for part in known if part)
    return f"{said[:1].upper()}{said[1:]}"


def _recipe(result: CenteringReport) -> str:
    known = result.settings
    methods = {part for run in result.runs for part in run.method.split("+")}
    often = known.get("interval", 1)
    facts = [
        str(known.get("preset", "")),
        f"{known['steps']:,} steps of {known['batch']} × {known['length']} tokens"
        if {"steps", "batch", "length"} <= known.keys()
        else "",
        _precision(result),
        f"cap {known['cap']:g}" if "soft-cap" in methods and "cap" in known else "",
        f"centred every {often} steps" if "mu-centering" in methods and often > 1 else "",
        "the mean of all stored rows taken off" if known.get("rows") == "all" else "",
    ]
    return ", ".join(fact for fact in facts if fact) if known.get("source") == "train" else ""


def _precision(result: CenteringReport) -> str:
    """As the runs have it, where it was left to the device."""
    found = dict.fromkeys(str(run.about.get("precision", "")) for run in result.runs)
    asked = str(result.settings.get("precision", ""))
    return " or ".join(one for one in found if one) or (asked if asked != "auto" else "")


def grid_caption(result: CenteringReport, measure: str = HELD_LOSS) -> str:
    """What a cell of the heat map shows, and its signs."""
    measure = measured(result, measure)
    states = {run.state for run in result.runs}
    lossy = measure in (HELD_LOSS, "loss")
    facts = [
        f"Each cell is a run at its end: {_of_measure(result, measure, units=True)}",
        "the colour says how far it lies above the best of its size, on a logarithmic scale; bold "
        "is the best rate of a line"
        if lossy
        else "the colour goes with the magnitude",
        *(words for state, words in _STATES.items() if state in states),
        _recipe(result),
    ]
    return _sentence(facts)


def _of_measure(result: CenteringReport, measure: str, units: bool = False) -> str:
    """What a number of the runs is called, the losses with their unit or without."""
    label = {name: label for label, name in measures_of(result)}.get(measure, measure)
    return label if units else label.removesuffix(", nats")


def rates_caption(result: CenteringReport) -> str:
    """What the chart of losses by rate rests on."""
    seeds = len({run.seed for run in result.runs})
    loss = _of_measure(result, measured(result, HELD_LOSS))
    facts = [
        f"{loss[:1].upper()}{loss[1:]} at the end of each run against its peak learning rate",
        f"mean over {seeds} seeds, with the least and the largest"
        if seeds > 1
        else "one seed each, so that differences of some hundredths of a nat may be chance",
        "✕ on top: diverged" if any(run.state == DIVERGED for run in result.runs) else "",
        _recipe(result),
    ]
    return _sentence(facts)


def sensitivity_caption(result: CenteringReport) -> str:
    """How a sensitivity is computed, and how far the printed ones can be compared."""
    return " ".join(
        [
            "How far the loss lies above that at the best rate, on average over the other rates; "
            f"{_counted(result)}.",
            _on_printed(result),
        ]
    )


def coefficients_caption(result: CenteringReport) -> str:
    """The same for the chart by coefficient."""
    return f"The same sensitivity, by the coefficient of the method. {_on_printed(result)}"


def _counted(result: CenteringReport) -> str:
    """For how much a loss counts at most."""
    known = {one.initial_loss for one in result.sensitivity if math.isfinite(one.initial_loss)}
    most = " or ".join(f"{value:.2f}" for value in sorted(known))
    if not most:
        return "a loss counts as it is, however large"
    return (
        f"a loss counts for no more than {most}, about that of equal guesses at all tokens, and so "
        "does a run that diverged"
    )


def _on_printed(result: CenteringReport) -> str:
    if {one.size for one in result.sensitivity} & set(SIZES):
        return "Rings: what the paper prints for the same size."
    return (
        "The paper's values are of seven rates from 3e-4 to 0.3 and of 100,000 steps: compare "
        "which method stands where, not the numbers."
    )


def _sentence(facts: list[str]) -> str:
    return "; ".join(fact for fact in facts if fact) + "."


# For the command line.


def text(_request: Any, result: CenteringReport) -> str:
    """What the command line prints: the sentence, a line for each run, sensitivities, notes."""
    parts = [
        headline(result),
        _table(result),
        _sensitivity_table(result.sensitivity),
        "\n".join(effects(result)),
        "\n".join(f"beware: {said}" for said in cautions(result)),
        "\n".join(f"note: {note}" for note in result.notes),
    ]
    return "\n\n".join(part for part in parts if part)


def _table(result: CenteringReport) -> str:
    """A line for each run, with the numbers that say most."""
    frame = result.to_frame()
    if frame.empty:
        return ""
    ends = [f"end {name}" for name in ("logit_mean", "logit_std", "logit_max", "mu_output")]
    kept = ["size", "tied", "method", "coefficient", "seed", "peak_lr", "state", "held_loss", *ends]
    shown = frame[[name for name in kept if name in frame and frame[name].notna().any()]]
    shown = shown.rename(columns=lambda name: name.removeprefix("end ").replace("peak_lr", "rate"))
    return str(shown.to_string(index=False, float_format="{:.4g}".format, na_rep="-"))


def _sensitivity_table(known: Sequence[Sensitivity]) -> str:
    """A line for each sensitivity."""
    if not known:
        return ""
    lines = [
        f"{_known(one.value)}  {_line(one)}, "
        + (
            f"best {one.best_loss:.4f} at {rate(one.best_lr)}"
            if math.isfinite(one.best_loss)
            else "no loss is known"
        )
        for one in known
    ]
    return "\n".join(["sensitivity to the learning rate", *lines])


def _known(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "     -"


def _line(one: Sensitivity) -> str:
    tied = {True: "tied", False: "untied", None: ""}[one.tied]
    weight = "" if one.coefficient is None else f" {rate(one.coefficient)}"
    seed = "" if one.seed is None else f"seed {one.seed}"
    parts = [one.size, tied, f"{method_words(one.method)}{weight}", seed]
    return ", ".join(part for part in parts if part)
