"""The gradient bottleneck in words: headline, the dispute about it, captions, the command line."""

import math
from typing import Any

from embtie_widgets.charts.bottleneck_view import (
    Ratio,
    View,
    fitting,
    has_spectrum,
    ratios,
)
from embtie_widgets.charts.groups import group_text
from embtie_widgets.charts.sentences import listed
from embtie_widgets.results.bottleneck import Bottleneck, BottleneckReport
from embtie_widgets.results.bottleneck_published import CHECK
from embtie_widgets.results.groups import BY_FREQUENCY, BY_KIND

DISPUTE = (
    "What this does to learning is disputed. The paper that introduced r reads it as a bottleneck: "
    "in its trainings heads of higher rank learned faster (arXiv 2603.10145). A reply finds the "
    "same geometry, but less harm where only the gradient to the hidden state is restricted than "
    "where the head itself is, and points out that what is not transmitted there is still used: "
    "it updates the head's own rows (arXiv 2608.16671). These numbers say what is transmitted, not "
    "what that costs."
)
"""Told beside the numbers, which do not decide it."""
_ALIKE = 5e-4  # of r: nearer to the line than this is on it


def headline(result: BottleneckReport) -> str:
    """What is not transmitted, against the line."""
    found = ratios(result)
    if not found:
        waiting = f"Nothing to draw yet: {result.progress}." if result.progress else ""
        return waiting or "There is nothing to draw; the reasons stand below."
    if all(one.share >= 1 and one.destroyed < _ALIKE for one in found.values()):
        return "The head has as many columns as rows, so it transmits the whole logit gradient."
    when = " over the last steps" if result.runs else ""
    first, *rest = [(name, f"{one.destroyed:.3f}") for name, one in found.items()]
    others = "".join(f", that of {name} {number}" for name, number in rest)
    return (
        f"Of the logit gradient's length the head of {first[0]} does not transmit r = {first[1]} "
        f"to the hidden state{when}{others}. {_against(found)}{_on_ranks(result)}"
    )


def _on_ranks(result: BottleneckReport) -> str:
    """Of heads whose columns depend on each other: the line is drawn for all of them."""
    heads = {name: one.bottleneck for name, one in result.models.items()}
    return "".join(
        f" Of the {one.width:,} columns of {name} {one.rank:,} are independent, which alone would "
        f"give {math.sqrt(1 - one.rank / one.rows):.3f}."
        for name, one in heads.items()
        if one.rank < min(one.width, one.rows)
    )


def _against(found: dict[str, Ratio]) -> str:
    """On which side of the line, for all models together where they agree."""
    lines = list(dict.fromkeys(f"{one.line:.3f}" for one in found.values()))
    counted = "By counting dimensions alone it would be"
    sides = {name: side(one) for name, one in found.items()}
    if len(set(sides.values())) == 1:
        whose = "it transmits" if len(found) == 1 else "they transmit"
        return f"{counted} {listed(lines)}: {whose} {next(iter(sides.values()))}."
    each = listed([f"{name} transmits {words}" for name, words in sides.items()])
    return f"{counted} {listed(lines)}: {each}."


def side(one: Ratio) -> str:
    """Whether more or less is transmitted than of a direction without preference."""
    gap = one.destroyed - one.line
    if abs(gap) < _ALIKE:
        return "as much as counting says"
    return "more than counting says" if gap < 0 else "less than counting says"


def asides(result: BottleneckReport) -> list[str]:
    """What the same number is as a cosine and as energy, and the dispute."""
    found = ratios(result)
    if not found:
        return []
    said = [
        f"{name}: visible cosine c = {_cosine(one):.3f}, {percent3(_cosine(one) ** 2)} of the "
        f"energy (d/V = {percent3(one.share)})"
        for name, one in found.items()
    ]
    return [f"{'; '.join(said)}.", DISPUTE]


def _cosine(one: Ratio) -> float:
    return float(max(1 - one.destroyed**2, 0.0) ** 0.5)


def percent3(share: float) -> str:
    """A share with the digits that count: 3.75 %."""
    return f"{100 * share:.3g} %"


# Below the charts.


def caption(result: BottleneckReport, view: View | None = None) -> str:
    """What the first chart rests on: of runs their curves, of models the line."""
    return curves_caption(result, view) if result.runs else line_caption(result)


def line_caption(result: BottleneckReport) -> str:
    """What the chart of the line rests on."""
    facts = [
        _measured(result),
        "crosses: a random gradient of the same size" if result.models else "",
        "grey area: the paper's range over GPT-2, Pythia, Llama 3, OLMo 2 and Qwen3",
        f"star: {CHECK.name}, per token {CHECK.ratio:.4f} in a third party's reproduction",
        _checks(result),
    ]
    return _joined(facts)


def curves_caption(result: BottleneckReport, view: View | None = None) -> str:
    """What the curves of runs rest on."""
    view = fitting(result, view or View())
    counted = [f"{name}: {len(run.curves['step']):,}" for name, run in result.runs.items()]
    facts = [
        f"{' and '.join(counted)} logged steps, each of one batch before its update",
        f"means over the last {view.over} steps, single steps behind" if view.over > 1 else "",
        "dashed: what counting dimensions gives" if view.measure != "loss" else "",
        f"seed {result.settings['seed']}" if result.settings.get("source") == "train" else "",
    ]
    return _joined(facts)


def _joined(facts: list[str]) -> str:
    return "; ".join(fact for fact in facts if fact) + "."


def _measured(result: BottleneckReport) -> str:
    counts = {name: len(one.bottleneck.per_position) for name, one in result.models.items()}
    if not counts:
        return ""
    if len(set(counts.values())) == 1:
        return f"{next(iter(counts.values())):,} predicted positions"
    each = listed([f"{n:,} ({name})" for name, n in counts.items()])
    return f"{each} predicted positions"


def _checks(result: BottleneckReport) -> str:
    worst = [one.bottleneck.check for one in result.models.values()]
    if not worst:
        return ""
    return f"an explicit projection gives the same parts to within {max(worst):.1g}"


def positions_caption(result: BottleneckReport) -> str:
    """What the distribution over positions shows."""
    return _joined(
        [
            _measured(result),
            "upright lines: all positions together, each weighed by its gradient's squared length; "
            "dashed, what counting dimensions gives",
        ]
    )


def groups_caption(_result: BottleneckReport) -> str:
    """What the chart of groups shows."""
    return (
        "By the token that was to be predicted: its kind, and how often it comes in the text of "
        "the counts. Bars are 95 % intervals from 30 positions on; positions of one text are not "
        "independent, so they are rather too short. Dashed: what counting dimensions gives."
    )


def spectrum_caption(result: BottleneckReport) -> str:
    """What the spectrum and its growth show."""
    if not has_spectrum(result):
        return ""
    said = [
        f"{name}: {_components(one.bottleneck)}"
        for name, one in result.models.items()
        if one.bottleneck.spectrum is not None
    ]
    return (
        f"Components that hold 70, 90 and 99.9 % of the gradient's squared length, marked on the "
        f"left: {'; '.join(said)}. The gradient at the hidden states has at most d. More positions "
        "give more components; where the lines still rise, the text is too short to say how many "
        "there are."
    )


def _components(one: Bottleneck) -> str:
    found = one.spectrum
    if found is None or not len(found.components):
        return "none"
    held = listed([f"{int(k):,}" for k in found.components[-1]])
    return f"{held} of {int(found.positions[-1]):,} positions' gradient"


def steps_caption(_result: BottleneckReport) -> str:
    """What the equal steps show."""
    return (
        "The logits of all positions are moved by the same total length: against the whole "
        "gradient, against the part of it that is transmitted, and against the part that is not. "
        "1 is the gradient's own root mean square length at a position. The steps are taken in the "
        "logits themselves; what training can make of them is another question."
    )


def text(_request: Any, result: BottleneckReport) -> str:
    """What the command line prints: the sentence, what it rests on, the numbers, the notes."""
    import pandas as pd

    rows = [
        {"of": name, "r": one.destroyed, "c": _cosine(one), "energy": _cosine(one) ** 2,
         "line": one.line, "random": math.nan if one.random is None else one.random,
         "d/V": one.share}
        for name, one in ratios(result).items()
    ]  # fmt: skip
    table = pd.DataFrame(rows).to_string(index=False, float_format="{:.4f}".format, na_rep="-")
    tables = [
        table if rows else "",
        *(group_text(result, by, "positions") for by in (BY_KIND, BY_FREQUENCY)),
    ]
    failed = [f"{name}: {why}" for name, why in result.failed.items()]
    notes = "\n".join(f"note: {note}" for note in result.notes)
    told = [headline(result), *asides(result), caption(result), *tables, *failed, notes]
    return "\n\n".join(part for part in told if part)
