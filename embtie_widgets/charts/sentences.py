"""What an alignment says in words: headline, caption, and what to beware of when reading it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from embtie_widgets.results import PairAlignment, PairResult

BINS = 80
# Theory and measured chance are told apart where the eye would see a difference.
_FAR = 0.02
# Cosines are good to this; what differs by less does not differ.
_ROUNDING = 1e-5


def label(comparison: str) -> str:
    """A comparison as it is written for readers: `Out->Tied` becomes `Out → Tied`."""
    return comparison.replace("->", " → ")


def caption(result: PairAlignment) -> str:
    """What the histogram rests on, as plain text: n, models, map and split, seed, device."""
    return _joined([*_basis(result), f"95 % bootstrap intervals over tokens; {BINS} bins"])


def scatter_caption(result: PairAlignment) -> str:
    """What the scatter rests on: the same, without what belongs to bins."""
    return _joined(_basis(result))


def _joined(facts: list[str]) -> str:
    return "; ".join(fact for fact in facts if fact) + "."


def _basis(result: PairAlignment) -> list[str]:
    settings = result.settings
    part = next(iter(result.comparisons.values()))
    used = int(np.isfinite(part.cosine).sum())
    left = part.cosine.size - used
    return [
        f"n = {used:,} tokens" + (f" ({left:,} without value)" if left else ""),
        " and ".join(model_names(result)),
        on_centring(result),
        _map_text(settings),
        _split_text(settings),
        _machine_text(part.settings),
    ]


def on_lit(count: int, searched: bool, group: str = "") -> str:
    """What stands out in a picture that will not tell by itself; empty where nothing does."""
    if not count:
        return ""
    kind = "found by a search" if searched else "selected"
    kind = f"found in the group “{group}”" if group else kind
    return f" Lit: {count:,} token{'s' if count != 1 else ''} {kind}."


def model_names(result: PairResult) -> list[str]:
    """Both models by name; where the names are one, by the beginning of a hash too."""
    names = [_model(facts) for facts in result.models.values()]
    if len(set(names)) == len(names):
        return names
    hashes = (result.hashes.get(role, "")[:8] for role in ("In", "Tied"))
    return [f"{name} ({digits})" for name, digits in zip(names, hashes, strict=False)]


def _model(facts: dict[str, Any]) -> str:
    """A folder is called one: it may bear the name of a bundled model."""
    name, revision = str(facts.get("name", "?")), facts.get("revision")
    name = f"folder {name}" if facts.get("source") == "folder" else name
    return f"{name} @ {revision}" if revision else name


def _map_text(settings: dict[str, Any]) -> str:
    text = f"{settings.get('map', '?')} map, {'' if settings.get('center') else 'not '}centred"
    return text + (f", ridge {settings['ridge']:g}" if settings.get("ridge") else "")


def _machine_text(settings: dict[str, Any]) -> str:
    stored = ", ".join(dict.fromkeys(map(str, settings.get("stored", {}).values())))
    said = [f"stored as {stored}" if stored else "", settings.get("device", "")]
    return ", on ".join(text for text in said if text)


def _split_text(settings: dict[str, Any]) -> str:
    held = settings.get("holdout") or 0
    if not held:
        return "no hold-out"
    return f"{held:.0%} of the tokens held out, seed {settings.get('seed', '?')}"


def headline(result: PairAlignment) -> str:
    """What the numbers say in one sentence, held-out means before in-sample ones.

    One side is called closer only where the two 95 % intervals do not overlap.
    """
    out, into = (_best(result, name) for name in ("Out->Tied", "In->Tied"))
    if out is None or into is None:
        return "The two sides cannot be compared: one of the matrices is missing."
    kind = "on held-out tokens" if out.held and into.held else "in-sample"
    numbers = f"mean cosine {out.mean:.2f} with the output, {into.mean:.2f} with the input, {kind}"
    if out.low - into.high > _ROUNDING:
        return f"{closer(result, 'output')}: {numbers}."
    if into.low - out.high > _ROUNDING:
        return f"{closer(result, 'input')}: {numbers}."
    return f"No clear difference between the two sides: {numbers}."


def closer(result: PairResult, side: str) -> str:
    """What stands for Tied, and the side it is closer to; only a tied matrix is called one."""
    a, b = (result.models.get(name, {}) for name in ("A", "B"))
    if b.get("tied", "tied") == "tied":
        return f"The tied matrix is closer to the untied {side}"
    third = "output" if result.settings.get("role_b") == "output" else "input"
    return (
        f"The {third} matrix of B ({_model(b)}) is closer to the {side} matrix of A ({_model(a)})"
    )


def exchange(result: PairResult) -> str:
    """Which model gives what, where that is not as it was asked for; empty where it is."""
    if not result.settings.get("exchanged"):
        return ""
    a, b = model_names(result)
    return (
        f"A and B were exchanged, since A was tied and B was not: {a} gives In and Out, "
        f"{b} gives Tied."
    )


def centred(result: PairResult) -> list[str]:
    """The matrices that are compared without their mean row; none where nothing was centred."""
    return list(result.settings.get("mean rows taken off", {}))


def on_centring(result: PairResult) -> str:
    """Which matrices are centred, for captions; empty where that was not asked for."""
    if not result.settings.get("mu_centered"):
        return ""
    names = centred(result)
    return f"{listed(names)} without mean row" if names else "no output matrix to centre"


def asides(result: PairResult) -> list[str]:
    """What of models and matrices is not as one would expect."""
    centring = on_centring(result)
    said = f"Output matrices are centred: {centring}." if centring else ""
    return [text for text in (exchange(result), said, without_copies(result)) if text]


def without_copies(result: PairResult) -> str:
    """How many tokens were left out for a row that copies the mean row; empty for none."""
    left = result.counts.get("left_out_a", 0)
    if not left:
        return ""
    tokens = "1 token is" if left == 1 else f"{left:,} tokens are"
    return f"{tokens} left out, having a row that copies the mean row."


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "In", "In and Out", "In, Out and Tied"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


@dataclass(frozen=True)
class _Mean:
    mean: float
    low: float
    high: float
    held: bool


def _best(result: PairAlignment, name: str) -> _Mean | None:
    part = result.comparisons.get(name)
    if part is None:
        return None
    if part.heldout_mean is not None and part.heldout_interval is not None:
        return _Mean(part.heldout_mean, *part.heldout_interval, held=True)
    return _Mean(part.mean, *part.interval, held=False)


def cautions(result: PairResult) -> list[str]:
    """Sentences to read before the numbers: comparisons that say nothing, and why."""
    return list(_same_matrices(result))


def _same_matrices(result: PairResult) -> Iterator[str]:
    for first, second in combinations(result.hashes, 2):
        if result.hashes[first] != result.hashes[second]:
            continue
        one, whole = f"{first} and {second} are one and the same matrix", ""
        if {first, second} == {"In", "Out"}:
            whole = " (A is tied), and the two sides cannot differ"
        yield (
            f"{one}{whole}: {first} → {second} is 1 by itself on every token and says nothing "
            "about tying."
        )


def on_chance(result: PairAlignment) -> str:
    """Why measured chance is not what theory gives, empty where it is."""
    apart = [
        part.floor_mean - part.floor_expected
        for part in result.comparisons.values()
        if part.floor_mean is not None and part.floor_expected is not None
    ]
    if not any(abs(gap) > _FAR for gap in apart):
        return ""
    if result.settings.get("center"):
        why = "real rows differ in length and do not spread evenly over all directions"
    else:
        why = (
            "without centring all rows share a direction, their mean, and shuffling leaves it there"
        )
    return (
        "Chance in theory is for independent Gaussian rows. The measured chance beside it differs, "
        f"since {why}. Measure against the measured one."
    )
