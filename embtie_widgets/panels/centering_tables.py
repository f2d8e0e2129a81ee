"""A sweep of output centering in tables: what one subtraction changes, every run, and one alone."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from embtie_widgets.charts import centering_view as views
from embtie_widgets.charts import centering_words as words
from embtie_widgets.charts.centering_cautions import cautions
from embtie_widgets.charts.theme import method_marks
from embtie_widgets.panels.words import MINUS, escape, number, seconds, table
from embtie_widgets.results.centering import (
    CURVES,
    CenteringReport,
    CenteringRun,
    Effect,
    Sensitivity,
)
from embtie_widgets.results.centering_published import ENDS, PUBLISHED, PublishedEnd

_COLUMNS = {
    "logit_mean": "mean logit",
    "logit_std": "spread",
    "logit_max": "largest",
    "mu_output": "|μ|",
    "row_norm_output": "row",
    "bound_ratio": "B-ratio",
    "common_fraction": "common",
}
_NAMES = {
    "loss": "loss of the last batch",
    "lr": "rate at the end",
    "mu_output": "|μ|",
    "mu_output_all": "|μ|, all stored rows",
    "mu_input": "|μ| of the input",
    "logit_mean_spread": "its spread",
    "common_fraction": "common share",
    "bound_ratio": "B-ratio",
}
_READ = {"file": "file"}
_RECIPE = {
    "preset": "architecture",
    "steps": "steps",
    "batch": "batch",
    "length": "tokens a piece",
    "warmup": "warm-up",
    "precision": "precision",
    "weight_decay": "weight decay",
    "clip": "clip at",
    "eps": "Adam's ε",
    "cap": "cap",
    "interval": "centred every",
    "rows": "mean row of",
    "extra_rows": "rows without token",
    "ran on": "trained on",
}
_ROUNDING = 1e-6
_ABOUT_RUNS = (
    "At the end of each run: its {loss}, in nats per token, and, of the logits "
    "before any cap, mean, spread over the vocabulary and largest magnitude; the length of the "
    "mean row and the mean length of a row of the output matrix; the B-ratio; and which share of "
    "the logits' mean square all tokens have in common."
)
_ABOUT_EFFECTS = (
    "One subtraction of the mean row from the trained model's output matrix: the largest change of "
    "a probability in what it says now, the same for unchanged hidden states and without cap (the "
    "softmax cannot see a number that all logits have in common), and the largest shift of a logit."
)
_ABOUT_PRINTED = "As printed: for the same size where the paper has it, else over its sizes."
_ABOUT_ENDS = (
    "Untied runs of 100,000 steps of 131,072 tokens in bfloat16, as their authors released them: "
    "test loss, then mean logit and length of the mean row. The spread of the logits stays between "
    "2.7 and 9.6, so what grows is common to all tokens; z-loss at 1e-4 holds the mean, not μ."
)
_ABOUT = {
    "device": "device",
    "batch": "batch",
    "length": "tokens a piece",
    "seconds": "seconds",
    "where": "trained on",
}


def top(result: CenteringReport) -> str:
    """The sentence of the panel, and what to beware of."""
    said = "".join(
        f'<div class="ep-alert" role="note">{escape(one)}</div>' for one in cautions(result)
    )
    return f"<p>{escape(words.headline(result))}</p>{said}"


def sensitivities(result: CenteringReport) -> str:
    """Every line of learning rates, the paper's value beside it."""
    several = _several(result.sensitivity)
    head = ["", *several, "sensitivity", "as printed", "best rate", "best loss", "rates", "unknown"]
    named = _lines(result)
    rows = [
        [
            named(one),
            *(escape(getattr(one, name)) for name in several),
            f"<b>{_loss(one.value)}</b>",
            _printed(one),
            views.rate(one.best_lr) if math.isfinite(one.best_lr) else "–",
            _loss(one.best_loss),
            f"{len(one.rates)}",
            f"{one.unknown}" if one.unknown else "none",
        ]
        for one in result.sensitivity
    ]
    return table(head, rows, "sensitivity to the learning rate") + _quiet(_ABOUT_PRINTED)


def _printed(one: Sensitivity) -> str:
    """The paper's value for the same size, else from the least to the largest of its sizes."""
    same = [
        known
        for known in PUBLISHED
        if (known.tied, known.method, known.coefficient)
        == (bool(one.tied), one.method, one.coefficient)
    ]
    exact = [known.value for known in same if known.size == one.size]
    values = exact or [known.value for known in same]
    if not values:
        return "–"
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def _several(found: Iterable[Any]) -> list[str]:
    """Of size and seed those that differ."""
    listed = list(found)
    return [name for name in ("size", "seed") if len({getattr(one, name) for one in listed}) > 1]


def effects(result: CenteringReport) -> str:
    """What one subtraction changes, tied and untied, capped and not."""
    rows = [_effect(one) for one in result.effects]
    head = ["", "change of a probability", "same states, no cap", "shift of a logit", ""]
    return table(head, rows, "what one subtraction changes") + _quiet(_ABOUT_EFFECTS)


def _effect(one: Effect) -> list[str]:
    tying = "tied" if one.tied else "untied"
    rate = f"rate {views.rate(one.lr)}" if math.isfinite(one.lr) else ""
    where = ", ".join(part for part in (one.size, rate) if part)
    name = f"{tying}, {'with' if one.capped else 'no'} cap <small>{escape(where)}</small>"
    why = f'<span class="ep-why">{escape(one.changes)}</span>'
    return [name, _small(one.softmax), _small(one.fixed_hidden), _value(one.logit_shift), why]


def runs(result: CenteringReport) -> str:
    """Every run with its state, its loss and its numbers."""
    several = _several(result.runs)
    known = [name for name in _COLUMNS if any(name in run.numbers for run in result.runs)]
    head = ["", "rate", *several, "", "loss"]
    named = _lines(result)
    rows = [
        [
            named(run),
            views.rate(run.lr),
            *(escape(getattr(run, name)) for name in several),
            _state(run),
            _loss(run.loss),
            *(_value(run.numbers.get(name)) for name in known),
        ]
        for run in result.runs
    ]
    head += [_COLUMNS[name] for name in known]
    about = _ABOUT_RUNS.format(loss=views.final_loss(result))
    return f'<div class="ep-tall">{table(head, rows, "every run")}</div>' + _quiet(about)


def printed_runs() -> str:
    """How the paper's runs ended, by size and rate: what a longer training comes to."""
    methods = list(dict.fromkeys(one.method for one in ENDS))
    marks = method_marks(methods)
    head = ["", "rate"]
    for name in methods:
        dot = f'<span class="ep-dot" style="color:{marks[name].color}">{marks[name].glyph}</span>'
        head += [f"{dot} {escape(views.method_words(name))}", "mean logit", "|μ|"]
    places = list(dict.fromkeys((one.size, one.lr) for one in ENDS))
    rows = [[size, views.rate(lr), *_ends_at(size, lr)] for size, lr in places]
    return table(head, rows, "how the paper's runs ended") + _quiet(_ABOUT_ENDS)


def _ends_at(size: str, lr: float) -> list[str]:
    found = [one for one in ENDS if (one.size, one.lr) == (size, lr)]
    return [text for one in found for text in _end(one)]


def _end(one: PublishedEnd) -> tuple[str, str, str]:
    return number(one.loss), _value(one.logit_mean), _value(one.mu_output)


def card(result: CenteringReport | None, run: CenteringRun | None) -> str:
    """One run: how it went, its numbers beside those of its rivals, and why it failed."""
    if result is None or run is None:
        return _quiet("The runs come with a result.")
    rivals = [one for one in result.side_by_side(run) if one is not run and one.tied == run.tied]
    shown = [run, *rivals]
    named = _lines(result)
    told = [name for name in CURVES if name in _NAMES or name in views.QUANTITIES]
    names = [name for name in told if any(name in one.numbers for one in shown)]
    head = ["", *(named(one) for one in shown)]
    rows: list[list[str]] = [
        ["", *map(_state, shown)],
        [views.final_loss(result), *(_loss(one.loss) for one in shown)],
        *([_named(name), *(_value(one.numbers.get(name)) for one in shown)] for name in names),
    ]
    why = f'<div class="ep-alert" role="note">{escape(run.reason)}</div>' if run.reason else ""
    title = f"<h4>{escape(_title(run, result.runs))}</h4>"
    return f"{title}{why}{table(head, rows, 'this run and its rivals')}{_quiet(_history(run))}"


def _named(name: str) -> str:
    label = _NAMES.get(name) or views.QUANTITIES[name].label
    return f'<span title="{escape(CURVES[name])}">{escape(label)}</span>'


def _title(run: CenteringRun, among: Sequence[CenteringRun]) -> str:
    parts = [views.called(run, among), f"rate {views.rate(run.lr)}", run.size]
    parts += [] if run.seed is None else [f"seed {run.seed}"]
    return ", ".join(part for part in parts if part)


def _history(run: CenteringRun) -> str:
    """How far it came, where and in what time."""
    said = [f"{run.step:,} of {run.of:,} steps"] if run.of else []
    for name, label in _ABOUT.items():
        value = run.about.get(name)
        if name == "seconds" and value:
            said.append(f"in {seconds(value)}")
        elif value not in (None, ""):
            said.append(f"{label} {value}")
    return ", ".join(said)


def _lines(result: CenteringReport) -> Callable[[CenteringRun | Sensitivity], str]:
    """What gives a run its name and colour; all that differ in rate, size or seed have the same."""
    firsts = {_key(run): run for run in result.runs}
    named = {key: _line(run, list(firsts.values())) for key, run in firsts.items()}
    return lambda one: named.get(_key(one), escape(one.method))


def _key(one: CenteringRun | Sensitivity) -> tuple[bool | None, str, float | None]:
    return one.tied, one.method, one.coefficient


def _line(run: CenteringRun, among: Sequence[CenteringRun]) -> str:
    mark = method_marks(one.method for one in among)[run.method]
    dot = f'<span class="ep-dot" style="color:{mark.color}">{mark.glyph}</span>'
    return f"{dot} {escape(views.called(run, among))}"


def _state(run: CenteringRun) -> str:
    why = f' title="{escape(run.reason)}"' if run.reason else ""
    at = f" at step {run.step:,}" if run.state == "diverged" and 0 < run.step < run.of else ""
    return f"<span{why}>{escape(run.state)}{at}</span>"


def _loss(value: float) -> str:
    return number(None if math.isnan(value) else value)


def _value(value: float | None) -> str:
    """Three digits that count, whatever the size; what rounding leaves of nothing is nothing."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) < _ROUNDING:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", MINUS)


def _small(value: float) -> str:
    return "0" if value == 0 else f"{value:.1e}" if value < 1e-3 else f"{value:.3f}"


def _quiet(text: str) -> str:
    return f"<p class='ep-quiet'>{escape(text)}</p>" if text else ""


def facts(result: CenteringReport) -> str:
    """What was trained on what and where, hashes, and every note."""
    known = {**_recipe(result.settings), **_shared(result.runs)}
    rows = [
        [escape(what), escape(value)] for what, value in known.items() if value not in ("", None)
    ]
    shown = f'<div class="ep-facts">{table(["", ""], rows, "what was trained")}</div>'
    listed = [[escape(name), f"<code>{escape(sha)}</code>"] for name, sha in result.hashes.items()]
    hashes = table(["SHA-256", ""], listed, "text and files by hash") if listed else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    told = f'<h4>Notes</h4><ul class="ep-notes">{notes}</ul>' if notes else ""
    return f"{shown}{hashes}{told}"


def _recipe(settings: dict[str, Any]) -> dict[str, Any]:
    """What was trained with which settings, or what was read."""
    read = settings.get("source", "train") != "train"
    known = {label: settings.get(name, "") for name, label in (_READ if read else _RECIPE).items()}
    return known | {"from the cache": "yes" if settings.get("cached") else "no"}


def _shared(found: Iterable[CenteringRun]) -> dict[str, str]:
    devices = dict.fromkeys(str(run.about.get("device") or "") for run in found)
    return {"device": ", ".join(name for name in devices if name)}
