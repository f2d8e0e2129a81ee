"""What norms and frequencies say in words: headline, caption, and what the command line prints."""

from typing import Any

import numpy as np

from embtie_widgets.charts.columns import number
from embtie_widgets.charts.groups import group_text
from embtie_widgets.charts.norm_plane import LABELS, LIT_POINTS, SEEN_POINTS
from embtie_widgets.charts.sentences import listed, model_names, on_centring
from embtie_widgets.results import Counts
from embtie_widgets.results.norms import NormFrequency, PairNorms

# Weaker correlations are no trend that an eye would see.
_WEAK = 0.1


def headline(result: PairNorms) -> str:
    """Which way the norms go with the frequency, and whose norms Tied has."""
    return " ".join(part for part in (_trends(result), _whose(result)) if part)


def _trends(result: PairNorms) -> str:
    found: dict[str, list[str]] = {"longer": [], "shorter": [], "": []}
    unknown = []
    for name, one in result.matrices.items():
        if np.isfinite(one.spearman):
            found[_trend(one)].append(f"{name} ({number(one.spearman, 2)})")
        else:
            unknown.append(name)
    said = [f"{way} rows in {listed(names)}" for way, names in found.items() if way and names]
    flat = f"no clear trend in {listed(found[''])}" if found[""] else ""
    none = f"No correlation can be given for {listed(unknown)}." if unknown else ""
    if said:
        more = f", and {flat}" if flat else ""
        first = f"Frequent tokens have {' and '.join(said)}{more}, by Spearman correlation."
    else:
        first = f"Row norms show {flat}, by Spearman correlation." if flat else ""
    return " ".join(part for part in (first, none) if part)


def _trend(one: NormFrequency) -> str:
    """The direction, empty where it is weak or not beyond chance."""
    if abs(one.spearman) < max(_WEAK, one.correlation.spearman_floor):
        return ""
    return "longer" if one.spearman > 0 else "shorter"


def _whose(result: PairNorms) -> str:
    """Whether the norms of Tied go with those of Out or of In, where the intervals part."""
    out, into = result.between.get("Out, Tied"), result.between.get("In, Tied")
    if out is None or into is None:
        return ""
    near, far = (out, into) if out.pearson > into.pearson else (into, out)
    if not near.pearson_interval[0] > max(far.pearson_interval[1], near.pearson_floor):
        return ""
    names = ("Out", "In") if near is out else ("In", "Out")
    return (
        f"Token by token, the norms of Tied go with those of {names[0]} "
        f"({number(near.pearson, 2)}) rather than of {names[1]} ({number(far.pearson, 2)})."
    )


def caption(result: PairNorms) -> str:
    """What the picture rests on, as plain text: n, models, corpus, windows, seed."""
    seen = int((result.token_counts > 0).sum())
    left = max(sum(one.settings["rows_left_out"].values()) for one in result.matrices.values())
    facts = [
        f"n = {seen:,} tokens that occur, {len(result.tokens) - seen:,} that do not"
        + (f" (up to {left:,} of them without a norm)" if left else ""),
        " and ".join(model_names(result)),
        on_centring(result),
        corpus(result),
        "lines are running medians and areas quartiles, in windows of the square root of n tokens, "
        "fewer near the ends",
        f"seed {result.settings.get('seed', 0)}",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def corpus(result: PairNorms) -> str:
    """What was counted, and by whose tokenizer."""
    sources = list(result.corpora.values())
    whole = f"counts of {sources[0].name} ({_tokens(sources[0])})"
    if not result.counted_twice:
        return whole
    where = "" if sources[1].name == sources[0].name else f"{sources[1].name}, "
    return f"{whole} as A cuts it, for Tied as B does ({where}{_tokens(sources[1])})"


def _tokens(counts: Counts) -> str:
    unknown = f", {counts.unknown:,} without a row" if counts.unknown else ""
    return f"{counts.total:,} tokens{unknown}"


def drawn(result: PairNorms) -> str:
    """How many of the tokens stand in the chart as points."""
    most = max(int(one.used.sum()) for one in result.matrices.values())
    if most <= SEEN_POINTS:
        return "Points: every token."
    return (
        f"Points: {SEEN_POINTS:,} of {most:,} tokens for each matrix, evenly spread in order of "
        "count; medians, quartiles and correlations are of all."
    )


def on_labels(lit: int) -> str:
    """What of a large selection is not in the chart; empty where all of it is."""
    if lit <= LABELS:
        return ""
    some = (
        f"{LIT_POINTS:,} of {lit:,}, evenly spread, are lit here, and" if lit > LIT_POINTS else ""
    )
    return f"Of the selected tokens {some} at most {LABELS} are labelled.".replace("  ", " ")


def cautions(result: PairNorms) -> list[str]:
    """Sentences to read before the numbers."""
    found = []
    for name, one in result.matrices.items():
        if not np.isfinite(one.spearman):
            found.append(f"{name}: {_why_none(one)}, so there is no correlation.")
    if result.hashes.get("In") == result.hashes.get("Out"):
        found.append("In and Out are one and the same matrix (A is tied): their lines are one.")
    return found


def _why_none(one: NormFrequency) -> str:
    tokens = one.correlation.tokens
    if tokens == 0:
        return "none of its tokens occurs in the corpus"
    if tokens < 3:
        return f"only {tokens} of its tokens occur in the corpus"
    return "all of its norms, or all counts, are equal"


def text(_request: Any, result: PairNorms) -> str:
    """What the command line prints: the sentence, what it rests on, the numbers, the notes."""
    import pandas as pd

    rows = [
        {
            "matrix": row["matrix"],
            "Pearson": row["pearson"],
            "95 %": _interval(row["pearson_interval"]),
            "Spearman": row["spearman"],
            "95 % ": _interval(row["spearman_interval"]),
            "chance": row["spearman_floor"],
            "tokens": f"{row['tokens']:,}",
            "not seen": f"{row['unseen']:,}",
            "their norm": row["unseen_median"],
            "Frobenius": row["frobenius"],
        }
        for row in result.summary()
    ]
    frame = pd.DataFrame(rows).to_string(index=False, float_format="{:.3f}".format, na_rep="-")
    between = [f"norms of {names}: {one!r}" for names, one in result.between.items()]
    notes = [f"note: {note}" for note in result.notes]
    told = [headline(result), *cautions(result), caption(result), frame, "\n".join(between)]
    return "\n\n".join(part for part in (*told, group_text(result), "\n".join(notes)) if part)


def _interval(pair: tuple[float, float]) -> str:
    return f"[{pair[0]:.3f}, {pair[1]:.3f}]" if np.isfinite(pair).all() else "-"
