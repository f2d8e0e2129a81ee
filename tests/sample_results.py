"""A small pair result made without torch, for tests of what shows results."""

from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.measures.kinds import kinds_of
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.results import Alignment, PairAlignment
from embtie_widgets.results.groups import groups_of

TOKENS = (
    b"the",
    b" the",
    b"<b>",
    b"%{x}",
    b"$x$",
    b"\n",
    b"\xe4",
    b"",
    b"<script>alert(1)</script>",
)


def alignment(cosine: np.ndarray, **changed: Any) -> Alignment:
    mean = float(np.nanmean(cosine))
    known: dict[str, Any] = {
        "cosine": cosine,
        "mean": mean,
        "median": float(np.nanmedian(cosine)),
        "interval": (mean - 0.01, mean + 0.02),
        "heldout_mean": mean - 0.05,
        "heldout_interval": (mean - 0.08, mean - 0.03),
        "floor_mean": 0.17,
        "floor_expected": 0.18,
        "description": {"kind": "linear"},
        "settings": {"device": "cpu", "stored": {"In": "float16", "Out": "float16"}},
    }
    return Alignment(**known | changed)


def pair_result(n: int = 300, shift: float = 0.0, **settings: Any) -> PairAlignment:
    """n tokens, the first ones hostile; token 3 has no value."""
    noise = np.random.default_rng(0).normal(0, 0.1, (3, n)).clip(-0.25, 0.25)
    noise[:, 3] = np.nan
    levels = {"In->Out": 0.25, "Out->Tied": 0.65, "In->Tied": 0.3}
    parts = {
        name: alignment(level + shift + row)
        for (name, level), row in zip(levels.items(), noise, strict=True)
    }
    rows = np.arange(n)
    model = {"revision": None, "rows": n, "width": 16, "dtype": "float16", "notes": []}
    tokens = (*TOKENS, *(f"word{i}".encode() for i in range(n - len(TOKENS))))
    result = PairAlignment(
        comparisons=parts,
        rows_a=rows,
        rows_b=rows + 1,
        tokens=tokens,
        token_counts=rows[::-1] * 10,
        norms={name: np.ones(n) for name in ("In", "Out", "Tied")},
        counts={
            "matched": n,
            "only_a": 2,
            "only_b": 0,
            "padding_a": 4,
            "padding_b": 4,
            "ambiguous": 0,
        },
        kinds=kinds_of(tokens),
        groups=(),
        checks={},
        models={
            "A": {"name": "nano-untied", "tied": "untied", **model},
            "B": {"name": "nano-tied", "tied": "tied", **model},
        },
        notes=("One row is not finite and was left out.",),
        settings={
            "map": "linear",
            "center": True,
            "ridge": 0.0,
            "holdout": 0.2,
            "seed": 0,
            "device": "auto",
            **settings,
        },
        hashes={"In": "aa11", "Out": "bb22", "Tied": "cc33"},
    )
    scores = {name: part.cosine for name, part in parts.items()}
    return replace(result, groups=group_means(groups_of(result), scores))
