"""What is known of each anchor of a language model at one step, as columns of scatter and table."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.charts.columns import EVERYWHERE, Column
from embtie_widgets.charts.shapes import Vector
from embtie_widgets.charts.staircase_pairs import agreement
from embtie_widgets.charts.staircase_view import (
    ROLE_OF,
    USUAL,
    View,
    at,
    look,
    matrix_words,
    signature_words,
)
from embtie_widgets.results.staircase import StaircaseReport

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class AnchorTokens:
    """The anchors of a report as the views of tokens take them: their kinds are not told apart."""

    tokens: tuple[bytes | None, ...]
    kinds: Vector | None = None
    token_counts: Vector | None = None
    groups: tuple[dict[str, Any], ...] = ()


def anchor_tokens(result: StaircaseReport) -> AnchorTokens:
    """The tokens that are compared."""
    return AnchorTokens(result.tokens)


def columns(result: StaircaseReport, view: View = USUAL) -> list[Column]:
    """How far the row of each anchor follows each signature at the step that is looked at, how long
    it is, and which row and rank it has."""
    shown = look(result, view)
    if shown is None:
        return []
    name = shown.matrix.matrix
    role = ROLE_OF.get(name, "neutral")
    follows = [
        Column(
            track.signature,
            f"agreement of {matrix_words(name)} with {signature_words(track.signature)}",
            role,
            agreement(shown, track),
            head=signature_words(track.signature),
            tooltip="correlation of its similarities to all other anchors, row against signature",
            places=EVERYWHERE,
        )
        for track in shown.tracks
    ]
    norms = np.asarray(at(shown.matrix.norms, shown.place), float)
    return [
        *follows,
        Column("norm", f"row norm of {matrix_words(name)}", role, norms),
        Column("rank", "rank by frequency", "neutral", np.arange(1, len(result.ids) + 1),
               kind="integer"),
        Column("row", "row", "neutral", result.ids, kind="integer", places=("table", "card")),
    ]  # fmt: skip


def token_frame(result: StaircaseReport, view: View = USUAL) -> "pd.DataFrame":
    """One row per anchor with the same numbers."""
    import pandas as pd

    known = {column.name: column.values for column in columns(result, view)}
    return pd.DataFrame({"token": result.anchors, **known})
