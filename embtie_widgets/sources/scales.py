"""What a model multiplies around its matrices: by the names that configurations give it.

The configuration's names are no proof: one family divides by what another multiplies with.  The
table of supported families is built by a test that measures each factor on a live model.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Scales:
    """Factors around E and U; 1 and None where the model has none.

    embedding  rows of E are multiplied by this before they enter the first block
    hidden     the normed last state is multiplied by this before the head
    logits     the head's output, bias included, is multiplied by this
    cap        then c * tanh(logits / c), c the cap
    """

    embedding: float = 1.0
    hidden: float = 1.0
    logits: float = 1.0
    cap: float | None = None


@dataclass(frozen=True)
class Rule:
    """A configuration field that scales: which place, and how from the field's value."""

    field: str
    place: str
    how: str = "times"


RULES = (
    Rule("embedding_multiplier", "embedding"),
    Rule("embedding_scale", "embedding"),
    Rule("scale_emb", "embedding"),
    Rule("scale_embedding", "embedding", "root of width"),
    Rule("dim_model_base", "hidden", "over width"),
    Rule("logits_mup_width_multiplier", "hidden", "divides"),
    Rule("logit_scale", "logits"),
    Rule("output_multiplier", "logits"),
    Rule("lm_head_multiplier", "logits"),
    Rule("logits_scaling", "logits", "divides"),
    Rule("final_logit_softcapping", "cap", "is"),
    Rule("logits_soft_cap", "cap", "is"),
    Rule("output_logit_soft_cap", "cap", "is"),
)
ROOT_OF_WIDTH = Rule("hidden_size", "embedding", "root")

_HOW: dict[str, Callable[[float, float], float]] = {
    "times": lambda value, width: value,
    "is": lambda value, width: value,
    "divides": lambda value, width: 1 / value,
    "over width": lambda value, width: value / width,
    "root": lambda value, width: math.sqrt(value),
}
_WORDS = {
    "times": "times",
    "is": "c of c tanh(x/c) is",
    "divides": "divided by",
    "over width": "divided by width over",
    "root of width": "times the root of the width, by",
    "root": "times the root of",
}


def read_scales(levels: list[Config], rules: tuple[Rule, ...]) -> Scales:
    """The factors that the first level with each field gives; fields without a number are 1."""
    scales = Scales()
    for rule, _, factor in _given(levels, rules):
        before = getattr(scales, rule.place)
        cap = rule.place == "cap"
        scales = replace(scales, **{rule.place: factor if cap else before * factor})
    return scales


def listed_scales(levels: list[Config], rules: tuple[Rule, ...]) -> dict[str, Any]:
    """The fields that scale with their own values, as the configuration has them."""
    return {
        "embedding multiplier sqrt(d)" if rule.how == "root" else rule.field: (
            factor if rule.how == "root" else level[rule.field]
        )
        for rule, level, factor in _given(levels, rules)
    }


def _given(levels: list[Config], rules: tuple[Rule, ...]) -> Iterator[tuple[Rule, Config, float]]:
    for rule in rules:
        level = next((level for level in levels if rule.field in level), {})
        factor = _factor(rule, level)
        if factor is not None:
            yield rule, level, factor


def are_capped(listed: Mapping[str, Any]) -> bool:
    """Whether a cap on the logits is among such fields."""
    return any(rule.place == "cap" and rule.field in listed for rule in RULES)


def fields_of(levels: list[Config], rules: tuple[Rule, ...]) -> tuple[str, ...]:
    """Which fields scale what, in words: "logits: divided by logits_scaling"."""
    given = [rule for rule, _, _ in _given(levels, rules)]
    return tuple(f"{rule.place}: {_WORDS[rule.how]} {rule.field}" for rule in given)


def _factor(rule: Rule, level: Config) -> float | None:
    value, width = level.get(rule.field), level.get("hidden_size", level.get("d_model"))
    wide = float(width) if _is_number(width) else 0.0
    if rule.how == "root of width":
        return math.sqrt(wide) if value is True and wide > 0 else None
    if not _is_number(value) or not value:
        return None
    if (rule.how == "over width" and wide <= 0) or (rule.how == "root" and value < 0):
        return None
    return _HOW[rule.how](float(value), wide)


def _is_number(value: Any) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and abs(value) < 1e30  # neither NaN, infinite nor a digit string gone wrong
