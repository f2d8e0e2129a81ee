"""Checkpoints in words and as ticks of a slider."""

from typing import Any

from embtie_widgets.results.checkpoints import Checkpoint, CheckpointReport, Distance, Place

_UNITS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))
_FEW = 3


def count(number: float) -> str:
    """A number short enough for an axis: 512, 143k, 1.4M."""
    for size, unit in _UNITS:
        if number >= size:
            return f"{number / size:.4g}{unit}"
    return f"{number:.4g}"


def tokens(number: int) -> str:
    """A number of tokens as names give them: 8 B tokens, 1.384 T tokens."""
    short = count(number)
    return f"{short[:-1]} {short[-1]} tokens" if short[-1].isalpha() else f"{short} tokens"


def steps(number: int) -> str:
    """1 step, 143,000 steps."""
    return f"{number:,} step{'s' if number != 1 else ''}"


def distance(since: Distance | None) -> str:
    """How far from the one before: "1,000 steps, 4 B tokens"; empty where that is not known."""
    if since is None:
        return ""
    known = [steps(since.steps)] if since.steps is not None else []
    return ", ".join([*known, tokens(since.tokens)] if since.tokens is not None else known)


def place(row: Checkpoint) -> str:
    """Where a checkpoint stands, in words; its name where that says nothing."""
    if row.value is None:
        return row.name
    parts = [f"stage {row.stage}" if row.stage is not None else ""]
    parts.append(f"ingredient {row.ingredient}" if row.ingredient is not None else "")
    parts.append(f"step {row.step:,}" if row.step is not None else "")
    parts.append(tokens(row.tokens) if row.tokens is not None else "")
    return " · ".join(part for part in parts if part)


def same_as(report: CheckpointReport, row: Checkpoint) -> str:
    """Which others hold the same bytes; of many only the first."""
    others = report.others(row.name)
    more = f" and {len(others) - _FEW} more" if others[_FEW:] else ""
    return ", ".join(others[:_FEW]) + more


def readout(report: CheckpointReport, row: Checkpoint) -> str:
    """One line for a checkpoint: place, distance from the one before, and what is wrong with it."""
    far = distance(row.since)
    parts = [place(row), f"{far} after the one before" if far else ""]
    others = same_as(report, row)
    parts.append(f"same bytes as {others}" if others else "")
    parts.append("could not be read" if row.reason else "")
    return " · ".join(part for part in parts if part)


def kind(report: CheckpointReport, row: Checkpoint) -> str:
    """How a checkpoint is marked: "same" bytes as another go before all else."""
    return "same" if row.name in report.repeated else row.state


def ticks(report: CheckpointReport, log: bool = True) -> dict[str, Any]:
    """What a StepSlider shows of the report."""
    at, places = report.positions(log)
    tracks = [_track(one) for one in places]
    if any(row.value is None for row in report.rows):
        tracks.append({"start": 1.0, "end": 1.0, "label": "main", "short": "main"})
    return {
        "places": at,
        "readouts": [readout(report, row) for row in report.rows],
        "kinds": [kind(report, row) for row in report.rows],
        "tracks": tracks,
        "marks": [mark for one in places for mark in marks(one)],
    }


def _track(one: Place) -> dict[str, Any]:
    short = one.label.replace("stage ", "s").replace(", ingredient ", "·i")
    return {"start": one.start, "end": one.end, "label": one.label, "short": short}


def marks(one: Place) -> list[dict[str, Any]]:
    """First and last value of a track, and round ones between them."""
    between = round_values(one.first, one.last, one.log)
    values = dict.fromkeys([one.first, *between, one.last])
    return [{"place": one.of(value), "label": count(value)} for value in values]


def round_values(first: float, last: float, log: bool) -> list[float]:
    """Round values between two: 0 and powers of ten, or some at equal distances."""
    if log:
        powers = [0.0, *(10.0**power for power in range(16))]
        return [value for value in powers if first <= value <= last]
    extent = last - first
    if extent <= 0:
        return [first]
    size = 10.0 ** (len(str(int(extent))) - 1)
    step = next(part * size for part in (0.2, 0.5, 1.0, 2.0) if extent <= 6 * part * size)
    start = int(first // step) + 1
    return [n * step for n in range(start, int(last // step) + 1)]
