"""What a drift says in words: headline, captions, cautions, and the text of the command line."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from embtie_widgets.charts.drift_lines import ALL, EVERY, bands, lines_of, roles
from embtie_widgets.charts.steps import place, steps
from embtie_widgets.results.checkpoints import Checkpoint, SameBytes
from embtie_widgets.results.drift import Drift, DriftReport

# Two means that differ by less are not told apart in words.
_APART = 0.005
_CHANGE = {
    "cosine": "The mean cosine of each row with itself at the checkpoint before. A level is as "
    "wide as the distance it is measured over: compare levels of one width.",
    "turn": "The angle of that cosine over the distance, in degrees per step: a mean speed, to "
    "compare changes over unlike distances. Rows that go to and fro look slower over a long one.",
}


def number(value: Any, what: str = "") -> str:
    """A cosine, or degrees per step, with a real minus sign; a dash where there is none."""
    if not np.isfinite(value):
        return "–"
    # Near 1 the rest to 1 is what counts.
    if what == "turn":
        return f"{value:.3g}"
    places = 5 if 0.9995 < value < 1 else 3
    return f"{value:.{places}f}".replace("-", "−")


def headline(result: DriftReport) -> str:
    """Which matrix has turned further, of each training."""
    said = [_turned(name, drift) for name, drift in result.runs.items() if len(drift.steps) > 1]
    if not said:
        waits = "; ".join(result.failed.values())
        return waits or "One checkpoint so far; a second one is what it can be compared with."
    return " ".join([*said, *_beside(result)])


def _beside(result: DriftReport) -> Iterator[str]:
    """Which side a tied matrix has turned like, where an untied training stands beside it."""
    drifts = list(result.runs.values())
    if len(drifts) != 2 or {drift.tied for drift in drifts} != {True, False}:
        return
    untied, tied = sorted(drifts, key=lambda drift: bool(drift.tied))
    near, far = sorted(
        ("input", "output"), key=lambda role: abs(_value(untied, role) - _value(tied, "tied"))
    )
    gaps = [abs(_value(untied, role) - _value(tied, "tied")) for role in (near, far)]
    if gaps[1] - gaps[0] > _APART:
        yield f"It has turned about as far as the untied {near}, not as the {far}."


def _turned(name: str, drift: Drift) -> str:
    known = {role: _last(drift, role) for role in roles(drift)}
    at = place(drift.stops[-1]) or drift.stops[-1].name
    if "tied" in known:
        return f"{name}, tied: at {at} the matrix has cosine {known['tied']} with its start."
    if len(known) < 2:
        said = " and ".join(f"{role} {value}" for role, value in known.items())
        return f"{name}: cosine with the start at {at}: {said}."
    inside, outside = (_value(drift, role) for role in ("input", "output"))
    numbers = f"cosine with the start {known['output']} against {known['input']}"
    if not abs(inside - outside) >= _APART:
        return f"{name}: at {at} both matrices have turned alike, {numbers} (output, input)."
    first, second = ("output", "input") if outside < inside else ("input", "output")
    numbers = f"cosine with the start {known[first]} against {known[second]}"
    return f"{name}: at {at} the {first} has turned further than the {second}, {numbers}."


def _value(drift: Drift, role: str) -> float:
    """The last cosine with the first that is known."""
    side = "input" if role == "tied" else role
    known = getattr(drift, f"{side}_to_first")
    known = known[np.isfinite(known)]
    return float(known[-1]) if len(known) else float("nan")


def _last(drift: Drift, role: str) -> str:
    return number(_value(drift, role))


def caption(result: DriftReport, band: str = ALL) -> str:
    """What the picture rests on, as plain text; `band` as in `drift_lines.View`."""
    facts = [
        *(_about(name, drift) for name, drift in result.runs.items()),
        "mean over rows of their raw cosine with themselves at the first checkpoint, nothing "
        "centred, nothing aligned",
        _chance_or_band(result, band),
        "steps stand where they are",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _chance_or_band(result: DriftReport, band: str) -> str:
    if band == EVERY:
        known = bands(result)
        return f"a line for each band of frequency, from faint ({known[0]}) to strong ({known[-1]})"
    if band:
        return f"only tokens that occur {band} in the corpus"
    chance = any(drift.chance for drift in result.runs.values())
    return "dotted: chance, the mean cosine with all other rows" if chance else ""


def _about(name: str, drift: Drift) -> str:
    stops, settings = drift.stops, drift.settings
    span = f"{place(stops[0]) or stops[0].name} to {place(stops[-1]) or stops[-1].name}"
    rows = settings.get("rows")
    model = f" of {settings['model']}" if "model" in settings else ""
    of = f", {rows:,} rows" if rows else ""
    left = sum(drift.left_out.values())
    return f"{name}{model}: {len(stops)} checkpoints, {span}{of}" + (
        f" ({left:,} in part without direction)" if left else ""
    )


def change_caption(result: DriftReport, change: str = "cosine") -> str:
    """What a change from checkpoint to checkpoint means, and whether distances differ."""
    return " ".join([_CHANGE[change], *_spacing(result)])


def _spacing(result: DriftReport) -> Iterator[str]:
    """Whether distances differ, and which are not known."""
    spans: dict[str, list[str]] = {}
    for name, drift in result.runs.items():
        far = np.asarray(drift.since[1:], float)
        known = far[np.isfinite(far)]
        if len(known) and known.min() != known.max():
            span = f"from {steps(int(known.min()))} to {steps(int(known.max()))}"
            spans.setdefault(span, []).append(name)
        if len(known) < len(far):
            many = len(far) - len(known)
            yield (
                f"{name}: {many} change{'s' if many > 1 else ''} without a known distance, as from "
                "one stage to the next, have a marker but no width."
            )
    yield from (f"Distances differ in {' and '.join(n)}: {span}." for span, n in spans.items())


def cautions(result: DriftReport) -> list[str]:
    """Sentences to read before the numbers: checkpoints that are not what they say."""
    found = []
    for name, drift in result.runs.items():
        for same in shared(drift):
            found.append(
                f"{name}: {str(same)[:1].lower()}{str(same)[1:]} One of them is not what its name "
                "says, or nothing was trained between them."
            )
    return found


def shared(drift: Drift) -> list[SameBytes]:
    """Which checkpoints hold the same bytes, each group of them once."""
    holders: dict[tuple[str, str], list[str]] = {}
    for stop in drift.stops:
        for role, value in _by_role(drift, stop).items():
            holders.setdefault((role, value), []).append(stop.name)
    groups: dict[tuple[str, ...], list[str]] = {}
    for (role, _), names in holders.items():
        if names[1:]:
            groups.setdefault(tuple(names), []).append(f"the {role} matrix")
    return [SameBytes(tuple(what), names) for names, what in groups.items()]


def _by_role(drift: Drift, stop: Checkpoint) -> dict[str, str]:
    if drift.tied:
        return {"tied": stop.hashes["input"]} if "input" in stop.hashes else {}
    return {role: stop.hashes[role] for role in ("input", "output") if role in stop.hashes}


def text(_request: Any, result: DriftReport) -> str:
    """What the command line prints: the sentence, a table for each training, the notes."""
    tables = [_table(name, drift) for name, drift in result.runs.items()]
    notes = [*cautions(result), *result.notes]
    failed = [f"{name}: {why}" for name, why in result.failed.items()]
    said = [f"note: {note}" for note in notes]
    parts = (headline(result), *tables, "\n".join(failed), "\n".join(said))
    return "\n\n".join(part for part in parts if part)


def _table(name: str, drift: Drift) -> str:
    import pandas as pd

    rows: dict[str, Any] = {
        "checkpoint": [stop.name for stop in drift.stops],
        "after": ["" if not s else f"{s:,.0f}" for s in np.nan_to_num(drift.since).tolist()],
    }
    for line in lines_of(name, drift):
        for what in ("first", "previous"):
            values = line.values(f"to_{what}")
            rows[f"{line.role} to {what}"] = [number(value) for value in values]
    return f"{name}\n{pd.DataFrame(rows).to_string(index=False)}"
