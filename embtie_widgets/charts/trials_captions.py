"""What the charts of an experiment on the bottleneck rest on, and what the command line prints."""

from typing import Any

from embtie_widgets.charts.trials_curves import MOST_CHARTS, charts_of, drawn, smoothed
from embtie_widgets.charts.trials_grid import MEASURES, blocks
from embtie_widgets.charts.trials_view import MOST_MEANT, RANKS, View, way_words
from embtie_widgets.charts.trials_words import cautions, dispute, headline, signed
from embtie_widgets.results.trials import (
    DIVERGED,
    FAILED,
    RUNNING,
    WAITING,
    TrialRun,
    TrialsReport,
)

_STATES = {
    DIVERGED: "✕ diverged: its loss is not finite, or no better than equal guesses",
    FAILED: "! failed",
    WAITING: "… waiting",
    RUNNING: "▶ in training",
}
_BUDGET = {
    "positions": "{:,} predicted positions a run",
    "sequences": "{:,} independent sequences a run",
    "per symbol": "{:,} independent sequences for each symbol",
}


def caption(result: TrialsReport, view: View | None = None) -> str:
    """What the curves rest on."""
    view = view or View()
    own = _of_ranks(result, view) if result.experiment == RANKS else _of_data(result, view)
    gone = "✕ diverged" if any(run.state == DIVERGED for run in result.trials) else ""
    return _sentence([*own, gone, _recipe(result)])


def _of_ranks(result: TrialsReport, view: View) -> list[str]:
    runs = drawn(result, view)
    steps = max(map(smoothed, runs), default=1)
    against = "less that of the full head with the same seed at the same step"
    return [
        f"Loss of each step's batch, mean over {steps} steps"
        + (f", {against}" if view.curve == "against" else ""),
        "what is not transmitted, by the head as it is and before the way back is restricted, is a "
        "share of the logit gradient's length; dashed is what a random direction would leave"
        if any("destroyed" in run.curves for run in runs)
        else "",
    ]


def _of_data(result: TrialsReport, view: View) -> list[str]:
    runs = drawn(result, view)
    many = len(charts_of(runs, MOST_CHARTS + 1))
    batches = {known for run in runs if (known := run.about.get("batch")) is not None}
    ends = "signs at the ends: every symbol asked for once training has ended"
    mean = f", or the mean over up to {MOST_MEANT} where batches are small"
    said = {
        "loss": [f"Loss on each step's batch{mean}", ends],
        "destroyed": ["Share of the logit gradient's length that is not transmitted"],
    }
    usual = [
        f"Share of right predictions on each step's batch{mean}",
        ends,
        "dotted: how many of the symbols have been drawn at all",
    ]
    return [
        *said.get(view.curve, usual),
        "a sequence repeats one symbol, so its positions are not independent of each other"
        + _rotations(result),
        "a run with larger batches takes fewer steps for as many sequences"
        if view.across == "sequences" and len(batches) > 1
        else "",
        f"only {MOST_CHARTS} combinations are drawn; choose among them above"
        if many > MOST_CHARTS
        else "",
    ]


def _rotations(result: TrialsReport) -> str:
    """Copies that a model cannot tell apart teach what one of them does."""
    alike = result.settings.get("preset") != "nano-gpt2"
    long = max((run.length or 1 for run in result.trials), default=1) > 1
    return ", and have the same logits with this architecture" if alike and long else ""


def grid_caption(result: TrialsReport, measure: str = "accuracy") -> str:
    """What a cell of the heat map shows, and its signs."""
    states = {run.state for run in result.trials}
    several = len(blocks(result)) > 1
    return _sentence(
        [
            f"Each cell is a run at its end: {MEASURES.get(measure, measure)}",
            "one block for each of the other settings" if several else "",
            *(words for state, words in _STATES.items() if state in states),
            _recipe(result),
        ]
    )


def excess_caption(result: TrialsReport) -> str:
    """What the chart of losses above the full head's rests on."""
    seeds = max((line["seeds"] for line in result.excess), default=1)
    return _sentence(
        [
            "Loss on text held out above that of the full head with the same seed, at the end",
            f"mean over {seeds} seeds with its 95 % interval" if seeds > 1 else "one seed each",
            "a factorised head is trained as two matrices, which alone changes how it learns"
            if any(line["way"] == "factorised" for line in result.excess)
            else "",
            "small open signs are printed values, of other models and texts: compare which way "
            "stands where, not the numbers",
            _recipe(result),
        ]
    )


def _recipe(result: TrialsReport) -> str:
    """What all runs have in common."""
    known = result.settings
    facts = [str(known.get("preset", ""))]
    if result.experiment == RANKS:
        shape = ("steps", "batch", "length")
        facts += [str(known.get("size", ""))]
        facts += (
            ["{:,} steps of {} × {} tokens".format(*(known[name] for name in shape))]
            if set(shape) <= known.keys()
            else []
        )
    else:
        budget = _BUDGET.get(str(known.get("budget")), "")
        facts += [budget.format(known["amount"])] if budget and "amount" in known else []
    return ", ".join([*(fact for fact in facts if fact), *_precision(result)])


def _precision(result: TrialsReport) -> list[str]:
    found = dict.fromkeys(str(run.about.get("precision", "")) for run in result.trials)
    return [one for one in found if one]


def _sentence(facts: list[str]) -> str:
    return "; ".join(fact for fact in facts if fact) + "."


# For the command line.


def text(_request: Any, result: TrialsReport) -> str:
    """What the command line prints: the sentence, a line for each run, losses above, notes."""
    parts = [
        headline(result),
        _table(result),
        _excess_table(result),
        dispute(result),
        "\n".join(f"beware: {said}" for said in cautions(result)),
        "\n".join(f"note: {note}" for note in result.notes),
    ]
    return "\n\n".join(part for part in parts if part)


def _table(result: TrialsReport) -> str:
    """A line for each run, with the numbers that say most."""
    frame = result.to_frame()
    kept = [
        "way", "rank", "symbols", "width", "length", "extra", "tied", "lr", "seed", "state",
        "loss", "accuracy", "sequences_per_symbol", "first_accuracy", "later_accuracy",
    ]  # fmt: skip
    names = [name for name in kept if name in frame and frame[name].notna().any()]
    own = ("length",) if result.experiment == RANKS else ("way",)
    names = [name for name in names if name not in own]
    shown = frame[names].loc[:, ~frame[names].columns.duplicated()]
    shown = shown.rename(columns={"lr": "rate", "sequences_per_symbol": "per symbol"})
    return str(shown.to_string(index=False, float_format="{:.4g}".format, na_rep="-"))


def _excess_table(result: TrialsReport) -> str:
    """A line for each loss above that of the full head."""
    if not result.excess:
        return ""
    lines = [f"{signed(line['mean'])}  {_line_words(result, line)}" for line in result.excess]
    return "\n".join(["held-out loss above that of the full head, nats", *lines])


def _line_words(result: TrialsReport, line: dict[str, Any]) -> str:
    run = next(run for run in result.trials if _is_of(run, line))
    pair = line.get("interval")
    ends = f", 95 % {signed(pair[0])} to {signed(pair[1])}" if pair else ""
    return f"{way_words(run)}, {'tied' if line['tied'] else 'untied'}, rate {line['lr']:g}{ends}"


def _is_of(run: TrialRun, line: dict[str, Any]) -> bool:
    return all(getattr(run, name) == line[name] for name in ("way", "rank", "tied", "lr"))
