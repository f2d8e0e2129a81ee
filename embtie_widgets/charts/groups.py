"""Groups of tokens as tables of their means, and as choices of a filter."""

from typing import Any

import numpy as np

from embtie_widgets.charts.sentences import label
from embtie_widgets.charts.theme import COMPARISONS, MATRICES, ROLES
from embtie_widgets.results import TokenResult
from embtie_widgets.results.groups import BY_KIND, KINDS, groups_of

Vector = np.ndarray[Any, np.dtype[Any]]
EVERY = "every token"


def group_table(result: TokenResult, heading: str, counted: str = "tokens") -> dict[str, Any]:
    """The groups of one heading: "columns" and "rows" as a table of groups takes them; `counted` is
    what a group has so many of."""
    groups = [group for group in result.groups if group["by"] == heading]
    known = list(groups[0]["scored"]) if groups else []
    # In the order of the other charts.
    measures = sorted(known, key=lambda name: [*COMPARISONS, name].index(name))
    columns = [{"label": counted, "role": ""}]
    columns += [{"label": label(name), "role": _role(name)} for name in measures]
    rows = [
        {
            "name": group["group"],
            "title": KINDS.get(group["group"], ""),
            "cells": [_tokens(group), *(_mean(group, name) for name in measures)],
        }
        for group in groups
    ]
    return {"columns": columns, "rows": rows}


def choices(result: TokenResult | None, kept: str = "") -> list[tuple[str, str]]:
    """Label and name of every group that a filter can choose, the first being all tokens.

    A group that was chosen before stays on the list where this result has none of it.
    """
    groups = () if result is None else result.groups
    # A group may count other things than the tokens that are found by it.
    known = {} if result is None else groups_of(result)
    many = {group["group"]: _many(known, group) for group in groups}
    found = [(EVERY, ""), *((f"{_full(name)} ({n:,})", name) for name, n in many.items())]
    gone = [(f"{_full(kept)} (none here)", kept)] if kept and kept not in many else []
    return found + gone


def group_text(result: TokenResult, heading: str = BY_KIND, counted: str = "tokens") -> str:
    """The means of these groups as lines of plain text, empty where there are none."""
    import pandas as pd

    groups = [group for group in result.groups if group["by"] == heading]
    lines = [
        {heading: group["group"], counted: f"{group['tokens']:,}"}
        | {label(name): _plain(group[name]) for name in group["scored"]}
        for group in groups
    ]
    return pd.DataFrame(lines).to_string(index=False) if lines else ""


def _many(known: dict[str, Vector], group: dict[str, Any]) -> int:
    return int(known[group["group"]].sum()) if group["group"] in known else int(group["tokens"])


def members(result: TokenResult, name: str) -> Vector:
    """The places (rising) of the tokens of one group."""
    mask = groups_of(result).get(name)
    return np.flatnonzero(mask) if mask is not None else np.zeros(0, np.int64)


def _full(name: str) -> str:
    return name if name in KINDS else f"{name} in the corpus"


def _role(name: str) -> str:
    mark = {**COMPARISONS, **MATRICES}.get(name)
    return next((role for role, known in ROLES.items() if known is mark), "neutral")


def _tokens(group: dict[str, Any]) -> list[str]:
    scored = max(group["scored"].values(), default=group["tokens"])
    less = f"{scored:,} with a value" if scored < group["tokens"] else ""
    return [f"{group['tokens']:,}", less]


def _mean(group: dict[str, Any], name: str) -> list[str]:
    pair = group["intervals"][name]
    return [_number(group[name]), f"[{', '.join(map(_number, pair))}]" if pair else ""]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".replace("-", "−")


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
