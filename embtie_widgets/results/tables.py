"""How results are laid out as tables: what a row per token begins with, and runs one below the
other."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.groups import kind_names
from embtie_widgets.results.tokens import display_token

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]
Tokens = tuple[bytes | None, ...]


def token_columns(
    tokens: Tokens,
    kinds: Vector | None,
    counts: Vector | None,
    rows: Mapping[str, Vector] | None = None,
) -> dict[str, Any]:
    """Text, bytes, kind, rows and count of each token; without `rows` its place is its row."""
    columns: dict[str, Any] = {"row": np.arange(len(tokens))} if rows is None else {}
    columns |= {
        "token": [display_token(key, limit=0) for key in tokens],
        "bytes": [key.hex() if key is not None else "" for key in tokens],
    }
    if kinds is not None:
        columns["kind"] = kind_names(kinds)
    columns |= rows or {}
    if counts is not None:
        columns["count"] = counts
    return columns


def runs_below_each_other(frames: Mapping[str, "pd.DataFrame"]) -> "pd.DataFrame":
    """All of them as one, the name of the run in the first column."""
    import pandas as pd

    named = [f.assign(run=name).set_index("run").reset_index() for name, f in frames.items()]
    return pd.concat(named, ignore_index=True) if named else pd.DataFrame()
