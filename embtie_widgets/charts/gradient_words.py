"""The gradient's two paths in words: headline, caption, means over steps, the command line."""

import math
from typing import Any

import numpy as np

from embtie_widgets.charts.gradient_view import SMOOTH, View, by_batches, fitting, stride
from embtie_widgets.results.gradient import FlowRun, GradientFlow

# The ends of the steps that means are taken over; the last of them is the end of the run.
_ENDS = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
# What a share is called in a sentence, the best that a run has first.
_SHARES = {
    "output_share": "",
    "norm_share": ", by length",
    "proxy_share": ", as the paper counts",
}
_FEW, _EARLY = 20, 1_000


def windows(run: FlowRun) -> list[tuple[int, int]]:
    """The steps that means are taken over, first and last of each: one after the other, the first
    1,000 where there are more, and all.  A few steps at the end are in the last alone."""
    last = int(run.curves["step"][-1]) if len(run.curves["step"]) else 0
    ends = [end for end in _ENDS if end < last]
    ends += [last] if not ends or last - ends[-1] >= _FEW else []
    starts = [1, *(end + 1 for end in ends[:-1])]
    early = [(1, _EARLY)] if last > _EARLY else []
    whole = [(1, last)] if len(ends) > 1 or ends[-1] < last else []
    return [*zip(starts, ends, strict=True), *early, *whole]


def headline(result: GradientFlow) -> str:
    """How much of the shared matrix's gradient is the output's, at first and in the end."""
    name = next(iter(result.runs), None)
    if name is None or not len(result.runs[name].curves["step"]):
        waiting = f"Nothing to draw yet: {result.progress}." if result.progress else ""
        return waiting or "There is nothing to draw; the reasons stand in the chart."
    run = result.runs[name]
    curve = next((one for one in _SHARES if run.knows(one)), None)
    if curve is None:
        return "Neither share can be told from what there is; see which columns are known."
    if result.settings.get("source") == "text":
        return _of_a_text(run, curve)
    return _of_a_training(run, curve, bool(result.progress))


def _of_a_text(run: FlowRun, curve: str) -> str:
    share = run.mean(curve, 0, math.inf)
    many = len(run.curves["step"])
    whose = _whose(run)
    said = f"The {_writer(share)} writes most" if share != 0.5 else "Both paths write alike"
    return (
        f"{said} of {whose} gradient on this text: the output's share is {_percent(share)} over "
        f"{many:,} batch{'es' if many > 1 else ''}{_SHARES[curve]}."
    )


def _of_a_training(run: FlowRun, curve: str, growing: bool) -> str:
    """The first steps against the last; the mean of all where there are too few to tell apart."""
    last = int(run.curves["step"][-1])
    span, writes = _span(last), f"of {_whose(run)} gradient"
    early, late = run.mean(curve, 1, span), run.mean(curve, last - span + 1, math.inf)
    if span >= last:
        over = f"over {last:,} steps{' so far' if growing else ''}"
        return f"The output writes {_percent(early)} {writes} on average {over}{_SHARES[curve]}."
    return (
        f"The output writes {_percent(early)} {writes} over the first {span:,} steps, "
        f"{_percent(late)} over the last {span:,}{_SHARES[curve]}."
    )


def _span(last: int) -> int:
    """How many steps are "first" and "last" in a sentence."""
    return next((end for end in (1_000, 100, 50, 10) if last >= 3 * end), last)


def _whose(run: FlowRun) -> str:
    """Of an untied model the two gradients are taken together, as if one matrix stood in both
    places."""
    return "the two matrices' summed" if run.tied is False else "the shared matrix's"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %").replace("-", "−")


def _writer(share: float) -> str:
    return "output" if share > 0.5 else "input"


def asides(result: GradientFlow) -> str:
    """What lies beside the headline: when the output wrote most, Adam's step, the angle."""
    name = next(iter(result.runs), None)
    if name is None or not len(result.runs[name].curves["step"]):
        return ""
    run, last = result.runs[name], int(result.runs[name].curves["step"][-1])
    said = _peak(result, run)
    if run.knows("update_share"):
        share = run.mean("update_share", 1, last)
        said.append(f"of Adam's step the output writes {_percent(share)} on average")
    if run.knows("cosine"):
        angle = math.degrees(math.acos(min(max(run.mean("cosine", 1, last), -1), 1)))
        said.append(f"the two parts stand at {angle:.0f}° to each other")
    words = "; ".join(said)
    return f"{words[:1].upper()}{words[1:]}." if said else ""


def _peak(result: GradientFlow, run: FlowRun) -> list[str]:
    """When the output wrote most, where there are steps enough to tell."""
    share = run.curve("output_share", SMOOTH)
    if result.settings.get("source") == "text" or np.isfinite(share).sum() < 2 * SMOOTH:
        return []
    top = int(np.nanargmax(share))
    return [f"it wrote most around step {int(run.curves['step'][top]):,}: {_percent(share[top])}"]


def caption(result: GradientFlow, view: View | None = None) -> str:
    """What the picture rests on, as plain text."""
    view = fitting(result, view or View())
    every = stride(result.runs.values())
    facts = [
        _runs(result),
        _recipe(result),
        "the paper's proxy for the input" if view.paper else "",
        f"means over the last {view.over} steps, single steps behind" if view.over > 1 else "",
        f"one step in {every} is drawn" if every > 1 else "",
        checks(result),
        f"seed {result.settings['seed']}" if result.settings.get("source") == "train" else "",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _runs(result: GradientFlow) -> str:
    counted = [f"{name}: {len(run.curves['step']):,}" for name, run in result.runs.items()]
    return f"{' and '.join(counted)} {_units(result, 'es')}" if counted else ""


def _units(result: GradientFlow, plural: str = "") -> str:
    return f"batch{plural}" if by_batches(result) else f"logged step{plural[-1:]}"


_RECIPE = {
    "preset": "{}",
    "corpus": "on {}",
    "batch": "batch {}",
    "length": "{} tokens a piece",
    "warmup": "warm-up {}",
    "device": "on {}",
}


def _recipe(result: GradientFlow) -> str:
    """The recipe of the first run, as far as it is known."""
    first: dict[str, Any] = next((run.about for run in result.runs.values()), {})
    text = first.get("text")
    about = {**_asked(result), **first}
    if isinstance(text, dict):
        about["corpus"] = text.get("name")
    known = [
        words.format(about[name])
        for name, words in _RECIPE.items()
        if isinstance(about.get(name), str | int | float) and about[name] != ""
    ]
    return ", ".join(known)


def _asked(result: GradientFlow) -> dict[str, Any]:
    """What the request says of the recipe, as far as its source heeds it."""
    heeded = {"train": ("preset",), "text": ("batch", "length")}
    names = heeded.get(str(result.settings.get("source")), ())
    return {name: result.settings.get(name) for name in names}


def checks(result: GradientFlow) -> str:
    """To within what the parts add up to the gradient of a shared matrix."""
    worst = [
        float(np.nanmax(run.curve("check")))
        for run in result.runs.values()
        if run.tied is not False and run.knows("check")
    ]
    if not worst:
        return ""
    return (
        f"the parts add up to the whole gradient to within {max(worst):.1g} at every "
        f"{_units(result)}"
    )


def text(_request: Any, result: GradientFlow) -> str:
    """What the command line prints: the sentence, what it rests on, the numbers, the notes."""
    import pandas as pd

    rows = [
        {"run": name, "steps": f"{first}-{last}"}
        | {curve: run.mean(curve, first, last) for curve in (*_SHARES, "update_share", "cosine")}
        for name, run in result.runs.items()
        for first, last in windows(run)
    ]
    table = pd.DataFrame(rows).to_string(index=False, float_format="{:.3f}".format, na_rep="-")
    failed = [f"{name}: {why}" for name, why in result.failed.items()]
    notes = [f"note: {note}" for note in result.notes]
    told = [headline(result), caption(result), table if rows else "", *failed, "\n".join(notes)]
    return "\n\n".join(part for part in told if part)
