"""Experiments on the gradient bottleneck in tables: losses above the full head's, runs, and one."""

import math
from collections.abc import Callable
from typing import Any

from embtie_widgets.charts import trials_words as words
from embtie_widgets.charts.theme import WAYS
from embtie_widgets.charts.trials_grid import MEASURES, number_of
from embtie_widgets.charts.trials_view import (
    LABELS,
    RANKS,
    WAY_WORDS,
    called,
    last,
    per_symbol,
    percent,
    sequences_of,
    varied,
    way_words,
    width_of,
    worded,
)
from embtie_widgets.panels.words import MINUS, escape, number, seconds, table
from embtie_widgets.results.trials import DIVERGED, TrialRun, TrialsReport
from embtie_widgets.results.trials_published import (
    EXCESS,
    FIXED_POSITIONS,
    FULL_LOSS,
    NEVER_CORRECT,
    SEEDS,
    SPAMLANG,
)
from embtie_widgets.results.trials_published import RANKS as PAPER

_RECIPE = {
    "preset": "architecture",
    "size": "size",
    "layers": "layers",
    "steps": "steps",
    "batch": "batch",
    "length": "tokens a piece",
    "budget": "a run's data counted by",
    "amount": "so many",
    "warmup": "warm-up",
    "ran on": "trained on",
}
_OF_RANKS, _OF_SYMBOLS = {"size", "batch", "length"}, {"layers", "budget", "amount"}
_ABOUT = {"device": "device", "batch": "batch", "precision": "precision", "where": "trained on"}
_ON_RUNS = {
    True: "At the end of each run, on text held out: loss in nats, and the share of next tokens "
    "that are right.",
    False: "At the end of each run, every symbol asked: the share that is right over all positions "
    "of its sequence, at the first, and at those after it. Sequences are independent draws; "
    "positions within one are not.",
}
_OUTPUTS = ", ".join(
    f"{loss} ({'how many is not told' if many is None else f'{many:,}'})"
    for many, loss in NEVER_CORRECT
)
_ON_PRINTED = (
    f"The reply (arXiv 2608.16671), WikiText-2, {SEEDS} seeds: loss above the full head's, which "
    f"ends at {FULL_LOSS} for bytes. Its losses by outputs, of which 256 occur: {_OUTPUTS}. The "
    f"paper (arXiv 2603.10145), width {PAPER.width:,}: with a head of rank {PAPER.width:,} it "
    f"comes after {PAPER.reached_after / 1e6:,.0f} M tokens to the loss with which rank "
    f"{PAPER.least} ends after {PAPER.tokens / 1e9:,.0f} B."
)
_ON_PRINTED_SYMBOLS = (
    f"The paper's largest run: {SPAMLANG.symbols:,} symbols, length {SPAMLANG.length}, "
    f"{SPAMLANG.positions / 1e6:,.0f} M positions, which is {SPAMLANG.occurrences:,.0f} "
    f"occurrences of each symbol, or {SPAMLANG.sequences_per_symbol:.1f} independent sequences. "
    "The reply, at fixed positions: "
    + ", ".join(f"length {length} {percent(share)}" for length, share in FIXED_POSITIONS)
    + "."
)


def top(result: TrialsReport) -> str:
    """The sentence of the panel, what to beware of, and what the papers say of it."""
    said = "".join(
        f'<div class="ep-alert" role="note">{escape(one)}</div>' for one in words.cautions(result)
    )
    aside = f'<p class="ep-aside">{escape(words.dispute(result))}</p>'
    return f"<p>{escape(words.headline(result))}</p>{aside}{said}"


def excess(result: TrialsReport) -> str:
    """Every line of losses above that of the full head, the reply's beside it."""
    ties = len({line["tied"] for line in result.excess}) > 1
    rates = len({line["lr"] for line in result.excess}) > 1
    head = ["", "rank", *(["tying"] if ties else []), *(["rate"] if rates else [])]
    head += ["nats above", "95 %", "seeds", "share of the width", "as printed, same share"]
    width = width_of(result)
    rows = [
        [
            _way(line["way"]),
            "–" if line["rank"] is None else f"{line['rank']:,}",
            *([worded("tied", line["tied"])] if ties else []),
            *([f"{line['lr']:g}"] if rates else []),
            f"<b>{_signed(line['mean'])}</b>",
            _interval(line["interval"]),
            f"{line['seeds']}",
            _share(line["rank"], width),
            _printed(line, width),
        ]
        for line in result.excess
    ]
    return table(head, rows, "loss above the full head") + _quiet(_ON_PRINTED)


def _way(way: str) -> str:
    mark = WAYS[way]
    dot = f'<span class="ep-dot" style="color:{mark.color}">{mark.glyph}</span>'
    return f"{dot} {escape(WAY_WORDS[way])}"


def _signed(value: float) -> str:
    return words.signed(value)


def _interval(pair: list[float] | None) -> str:
    return "–" if pair is None else f"{_signed(pair[0])} to {_signed(pair[1])}"


def _share(rank: int | None, width: int | None) -> str:
    return percent(rank / width) if rank and width else "–"


def _printed(line: dict[str, Any], width: int | None) -> str:
    """The reply's values of this way at this share of the width."""
    found = [
        f"+{one.excess:.3f} ({escape(one.text)})" if one.text else f"+{one.excess:.3f}"
        for one in EXCESS
        if one.way == line["way"]
        and (one.rank is None or (bool(width) and _is_same(one.rank, one.width, line, width)))
    ]
    return ", ".join(found) or "–"


def _is_same(rank: int, of: int | None, line: dict[str, Any], width: int | None) -> bool:
    return bool(of and width) and rank * (width or 0) == line["rank"] * (of or 0)


def printed_symbols() -> str:
    """What is printed of SpamLang."""
    return _quiet(_ON_PRINTED_SYMBOLS)


def runs(result: TrialsReport) -> str:
    """Every run with its state and its numbers."""
    ranks = result.experiment == RANKS
    named, several = _names(result), [n for n in varied(result.trials) if n in ("lr", "seed")]
    own = [] if ranks else ["V/d", "independent sequences", "of each symbol"]
    measures = ["loss", "accuracy"] if ranks else ["accuracy", "first_accuracy", "later_accuracy"]
    heads = {
        "loss": "loss",
        "accuracy": "right",
        "first_accuracy": "first",
        "later_accuracy": "later",
    }
    head = ["", *(LABELS[name] for name in several), "", *own, *(heads[name] for name in measures)]
    rows = [
        [
            named(run),
            *(f"{getattr(run, name):g}" for name in several),
            _state(run),
            *([] if ranks else _data(run)),
            *(_number(run, name) for name in measures),
        ]
        for run in result.trials
    ]
    said = f'<div class="ep-tall">{table(head, rows, "every run")}</div>'
    return said + _quiet(_ON_RUNS[ranks])


def _names(result: TrialsReport) -> Callable[[TrialRun], str]:
    """What gives a run its name: rate and seed have columns of their own."""

    def name(run: TrialRun) -> str:
        if result.experiment != RANKS:
            return escape(_settings(run))
        mark = WAYS[run.way]
        dot = f'<span class="ep-dot" style="color:{mark.color}">{mark.glyph}</span>'
        return f"{dot} {escape(called(run, result.trials, ('lr', 'seed')))}"

    return name


def _settings(run: TrialRun) -> str:
    told = [worded(name, getattr(run, name)) for name in ("symbols", "width", "length")]
    return ", ".join(told + ([worded("extra", run.extra)] if run.extra else []))


def _data(run: TrialRun) -> list[str]:
    draws, each = sequences_of(run), per_symbol(run)
    return [
        f"{words.ratio(run):,.3g}",
        f"{draws:,.0f}" if math.isfinite(draws) else "–",
        f"{each:,.3g}" if math.isfinite(each) else "–",
    ]


def _number(run: TrialRun, name: str) -> str:
    value = number_of(run, name)
    if not math.isfinite(value):
        return "–"
    return number(value) if name == "loss" else percent(value)


def _state(run: TrialRun) -> str:
    why = f' title="{escape(run.reason)}"' if run.reason else ""
    at = f" at step {run.step:,}" if run.state == DIVERGED and 0 < run.step < run.of else ""
    return f"<span{why}>{escape(run.state)}{at}</span>"


def card(result: TrialsReport | None, run: TrialRun | None) -> str:
    """One run: how it went, what it knows, and why it failed."""
    if result is None or run is None:
        return _quiet("The runs come with a result.")
    why = f'<div class="ep-alert" role="note">{escape(run.reason)}</div>' if run.reason else ""
    rows = [[escape(name), value] for name, value in _of_run(result, run).items()]
    return f"<h4>{escape(_title(result, run))}</h4>{why}<div class='ep-facts'>" + (
        table(["", ""], rows, "one run") + f"</div>{_quiet(_history(run))}"
    )


def _title(result: TrialsReport, run: TrialRun) -> str:
    named = way_words(run) if result.experiment == RANKS else _settings(run)
    return f"{named}, {worded('tied', run.tied)}, rate {run.lr:g}, seed {run.seed}"


def _of_run(result: TrialsReport, run: TrialRun) -> dict[str, str]:
    """Names and values of what is known of it."""
    known = {"state": _state(run), "loss at the end, nats": _number(run, "loss")}
    if result.experiment == RANKS:
        known["right on text held out"] = _number(run, "accuracy")
        known["not transmitted, at the end"] = _plain(last(run, "destroyed"))
    else:
        ratio, draws, each = _data(run)
        known |= {"V/d": ratio, "independent sequences": draws, "of each symbol": each}
        shares = [name for name in MEASURES if name != "loss"]
        known |= {MEASURES[name]: _number(run, name) for name in shares}
    positions = last(run, "positions")
    known["predicted positions"] = f"{positions:,.0f}" if math.isfinite(positions) else "–"
    return known


def _plain(value: float) -> str:
    return f"{value:.4f}".replace("-", MINUS) if math.isfinite(value) else "–"


def _history(run: TrialRun) -> str:
    """How far it came, where and in what time."""
    said = [f"{run.step:,} of {run.of:,} steps"] if run.of else []
    took = run.about.get("seconds")
    said += [f"in {seconds(took)}"] if took else []
    said += [f"{label} {run.about[n]}" for n, label in _ABOUT.items() if run.about.get(n)]
    return ", ".join(said)


def facts(result: TrialsReport) -> str:
    """What was trained on what and where, hashes, and every note."""
    out = _OF_SYMBOLS if result.experiment == RANKS else _OF_RANKS
    known = {label: result.settings.get(name) for name, label in _RECIPE.items() if name not in out}
    known["from the cache"] = "yes" if result.settings.get("cached") else "no"
    rows = [[escape(k), escape(v)] for k, v in known.items() if v not in ("", None)]
    shown = f'<div class="ep-facts">{table(["", ""], rows, "what was trained")}</div>'
    listed = [[escape(name), f"<code>{escape(sha)}</code>"] for name, sha in result.hashes.items()]
    hashes = table(["SHA-256", ""], listed, "text by hash") if listed else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    told = f'<h4>Notes</h4><ul class="ep-notes">{notes}</ul>' if notes else ""
    return f"{shown}{hashes}{told}"


def _quiet(text: str) -> str:
    return f"<p class='ep-quiet'>{escape(text)}</p>" if text else ""
