"""Figure 4 of the weight-tying paper: the output's share of the tied matrix's gradient."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from embtie_widgets.jobs.papers_ground import Ground, all_of
from embtie_widgets.jobs.papers_records import GRADIENT as LOG
from embtie_widgets.jobs.run import first
from embtie_widgets.requests import GradientFlowRequest
from embtie_widgets.results.papers import PaperItem, PaperNumber
from embtie_widgets.results.tying_published import GRADIENT, GRADIENT_SHARES, GRADIENT_STEPS

if TYPE_CHECKING:
    from embtie_widgets.measures.recorded import Share
    from embtie_widgets.results.gradient import FlowRun

_TITLE = "The output's share of the gradient that reaches the tied matrix of OLMo-1B"
_NOTES = (
    "That this is figure 4 is inferred: it is the number that the paper's other figures leave.",
    "The share is |G_out| / (|g| + |G_out|), where |g| is the norm of the gradient at the "
    "embedding's output and not of the matrix that it is scattered into; both are of the last "
    "micro-batch of one process at each step, and the angle between the paths is left out.",
    "The numbers by steps are those that the released log gives, so to find them again says that "
    "the log is read as the paper reads it, not that the share is right.",
)
_SHARE, _RATIO = "output's share", "output over input"
_AT_STEP = {"share": _SHARE, "input": "|g|", "output": "|G_out|"}
_NEAR = {"share": 0.005, "input": 0.001, "output": 0.001}
_EARLIER = "an earlier run, batch 8, warm-up 100"
_FIRST = "steps 1 to 1,000"
_EARLIER_SAID = (
    "The log of this run was not released. The share depends on batch and warm-up: those of the "
    "released log were 512 and 1,000."
)
_SUMMED = {
    (_FIRST, "share of smoothed norms"): GRADIENT.smoothed,
    (_FIRST, "its least"): GRADIENT.lowest,
    (_FIRST, "its most"): GRADIENT.highest,
    (_FIRST, f"{_RATIO}, mean"): GRADIENT.ratio,
    (_FIRST, f"{_RATIO}, median"): GRADIENT.median_ratio,
}


def figure_4() -> PaperItem:
    """Shares by steps, and what the first 1,000 come to."""
    shares = [
        PaperNumber(_steps(*between), _SHARE, f"{share:.3f}", tolerance=0.005)
        for between, share in GRADIENT_SHARES.items()
    ]
    digits = {GRADIENT.smoothed: 3}
    summed = [
        PaperNumber(row, column, f"{value:.{digits.get(value, 2)}f}", tolerance=0.01)
        for (row, column), value in _SUMMED.items()
    ]
    single = [
        PaperNumber(f"step {step:,}", _AT_STEP[what], printed, tolerance=_NEAR[what])
        for (step, what), printed in GRADIENT_STEPS.items()
    ]
    earlier = [
        PaperNumber(_EARLIER, _SHARE, f"{GRADIENT.earlier_share:.3f}"),
        PaperNumber(_EARLIER, f"{_RATIO}, median", f"{GRADIENT.earlier_median_ratio:.2f}"),
    ]
    told = [number.print_only(_EARLIER_SAID) for number in earlier]
    return PaperItem("figure-4", "tying", _TITLE, (*shares, *summed, *single, *told), _NOTES)


def make(ground: Ground, printed: PaperItem) -> PaperItem:
    """From the released log; without it by the twins that ship, over steps that they reach."""
    path = ground.records.find(LOG)
    if path is not None:
        from embtie_widgets.jobs.recorded import recorded_flow

        run, read = recorded_flow(path)
        source = f"the released log, {len(run.curves['step']):,} steps"
        numbers = tuple(_of_log(number, run, source) for number in printed.numbers)
        hashes = {"gradient log": read.sha256}
        return replace(printed, numbers=numbers, settings=run.about, hashes=hashes)
    made = _stood_in(printed) if ground.request.stand_in else printed
    return all_of(made, ground.records.lack(LOG))


def _of_log(number: PaperNumber, run: "FlowRun", source: str) -> PaperNumber:
    from embtie_widgets.measures.recorded import share_of

    if number.row == _EARLIER:
        return number
    logged = run.curves["step"]
    start, end = _BY_ROW[number.row]
    if not len(logged) or logged[0] > start or logged[-1] < end:
        reach = f"The log ends at step {int(logged[-1]):,}." if len(logged) else "It is empty."
        return number.lacking(f"the log over {number.row}", None, reach)
    there = share_of(run, start - 1, end).steps
    gap = (
        "" if there > end - start else f"The log has {there:,} of these {end - start + 1:,} steps."
    )
    return number.found(_value(number, run), "recorded", source, gap)


def _value(number: PaperNumber, run: "FlowRun") -> float:
    """What a run has for a printed number."""
    from embtie_widgets.measures.recorded import share_of

    start, end = _BY_ROW[number.row]
    if number.column in (_AT_STEP["input"], _AT_STEP["output"]):
        return _norm(number.column, run, start)
    return _columns(share_of(run, start - 1, end))[number.column]


def _norm(column: str, run: "FlowRun", step: int) -> float:
    """The length that a path's gradient has at a step; NaN where that is not logged."""
    curve = run.curve("proxy_norm" if column == _AT_STEP["input"] else "output_norm")
    values = curve[run.curves["step"] == step]
    return float(values[0]) if len(values) else math.nan


def _columns(share: "Share") -> dict[str, float]:
    low, high = share.smoothed_range
    names = [_SHARE, *(column for _, column in _SUMMED)]
    values = (share.share, share.smoothed, low, high, share.ratio, share.median_ratio)
    return dict(zip(names, values, strict=True))


def _stood_in(printed: PaperItem) -> PaperItem:
    """Over the steps that the bundled twins' training has whole, by the paper's own share."""
    known = first(GradientFlowRequest())
    run = None if known is None else known.runs.get("tied")
    if run is None:
        return printed
    paper = replace(run, curves={k: v for k, v in run.curves.items() if k != "input_norm"})
    last = int(run.curves["step"][-1])
    source = f"the tied one of twins trained here: {last:,} steps of {run.about['batch']} texts"
    reason = (
        "Of a small model trained here, by the paper's own share; the share depends on batch and "
        f"warm-up, which were {run.about['batch']} and {run.about['warmup']}."
    )
    whole = {row for row, (_, end) in _BY_ROW.items() if end <= last}
    numbers = tuple(
        n.found(_value(n, paper), "stand-in", source, reason) if n.row in whole else n
        for n in printed.numbers
    )
    return replace(printed, numbers=numbers)


def _steps(start: int, end: int) -> str:
    return f"steps {start:,} to {end:,}"


_BY_ROW = {_steps(*between): between for between in GRADIENT_SHARES} | {
    f"step {step:,}": (step, step) for step, _ in GRADIENT_STEPS
}
