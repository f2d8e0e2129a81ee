"""Neighbours and spectra of a model pair as columns, files and text: the face of their charts."""

from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.charts import figures, overlap, spectra
from embtie_widgets.charts.columns import Column, Vector, levels, norm_columns, shared_columns
from embtie_widgets.charts.files import Plots
from embtie_widgets.charts.geometry_words import asked, beside, caption, headline, spectra_caption
from embtie_widgets.charts.groups import group_text
from embtie_widgets.charts.sentences import cautions, exchange, label
from embtie_widgets.charts.theme import COMPARISONS
from embtie_widgets.results.geometry import PairGeometry

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "asked",
    "beside",
    "caption",
    "columns",
    "figure",
    "headline",
    "plots",
    "spectra_caption",
    "spectra_figure",
    "text",
]
_MEASURES = ("spectral", "cka", "debiased_cka", "subspace")
_ROLES = {"Out->Tied": "output", "In->Tied": "input"}
# Points fill this part of the way to the next step, so that the steps stay apart.
_SPREAD = 0.8


def columns(result: PairGeometry) -> list[Column]:
    """What is known of each token: its common neighbours first."""
    found = [
        column
        for name in COMPARISONS
        if name in result.overlaps
        for column in _common(result, name)
    ]
    return [*found, *norm_columns(result.norms), *_doubles(result), *shared_columns(result)]


def _common(result: PairGeometry, name: str) -> list[Column]:
    """The number of common neighbours: as it is for table and card, spread out for an axis."""
    one, k, role = result.overlaps[name], result.k, _ROLES.get(name, "neutral")
    common = np.rint(one.per_token * k)
    text = f"common neighbours of {k:,}, {label(name)}"
    seed = list(COMPARISONS).index(name)
    return [
        Column(
            f"knn {name}",
            f"{label(name)}: common of {k:,}, spread within each step",
            role,
            spread(common, seed),
            levels(one.mean * k, one.floor * k),
            places=("axis",),
        ),
        Column(
            f"overlap {name}",
            text,
            role,
            common,
            kind="integer",
            head=label(name),
            tooltip=f"how many of its {k:,} nearest neighbours are the same in both",
            places=("table", "card"),
        ),
    ]


def spread(steps: Vector, seed: int = 0) -> Vector:
    """Whole numbers (n,) with the tokens of each spread evenly over the room around it.

    Tens of thousands of points on a dozen of lines would hide one another.  The order within a
    step is drawn by `seed`, so that two columns do not draw a pattern.
    """
    order = np.random.default_rng(seed).permutation(len(steps))
    moved = steps.astype(float)
    for step in np.unique(steps[np.isfinite(steps)]):
        here = order[steps[order] == step]
        moved[here] += _SPREAD * ((np.arange(len(here)) + 0.5) / len(here) - 0.5)
    return moved


def _doubles(result: PairGeometry) -> list[Column]:
    """Where there are any, in which matrices another token has the same row."""
    if not any(found.any() for found in result.duplicates.values()):
        return []
    names = np.full(len(result.tokens), "", dtype=object)
    for name, found in result.duplicates.items():
        names[found] = [f"{known} {name}".strip() for known in names[found]]
    return [
        Column(
            "duplicate",
            "same row as another token in",
            "neutral",
            names,
            kind="text",
            head="duplicate in",
            tooltip="the matrices in which another token has an equal row",
            places=("table", "card"),
        )
    ]


def figure(result: PairGeometry, theme: str = "light") -> "Figure":
    """The overlap chart as a plain figure with its caption inside, for exports."""
    return figures.captioned(overlap.spec(result), caption(result), theme, 560, 150, -0.32)


def spectra_figure(result: PairGeometry, theme: str = "light") -> "Figure":
    """The spectra as such a figure."""
    drawn = spectra.spec(result)
    return figures.captioned(drawn, spectra_caption(result), theme, 500, 120, -0.24)


def plots(result: PairGeometry) -> Plots:
    """The charts with their captions."""
    said = " ".join([caption(result), *_beware(result)])
    charts = [(overlap.spec(result), said)]
    if result.matrices:
        charts.append((spectra.spec(result), spectra_caption(result)))
    return Plots(headline(result), tuple(charts))


def text(_request: Any, result: PairGeometry) -> str:
    """What the command line prints: the sentence, what it rests on, both tables, the notes."""
    import pandas as pd

    numbers = {
        name: {what: f"{value:,.6g}" for what, value in known.items()}
        for name, known in result.numbers().items()
    }
    rows = result.summary()
    shown = [name for name in _MEASURES if any(row[name] is not None for row in rows)]
    tables = [
        pd.DataFrame(_line(row, shown) for row in rows).to_string(index=False),
        pd.DataFrame(numbers).rename(index=lambda what: what.replace("_", " ")).to_string(),
    ]
    notes = "\n".join(f"note: {note}" for note in result.notes)
    said = [headline(result), beside(result), *_beware(result), caption(result)]
    parts = [*said, *tables, group_text(result), notes]
    return "\n\n".join(part for part in parts if part)


def _beware(result: PairGeometry) -> list[str]:
    """What to know before the numbers are read."""
    return [text for text in (exchange(result), *cautions(result)) if text]


def _line(row: dict[str, Any], shown: list[str]) -> dict[str, str]:
    """The measures of one comparison, each with its floor behind a slash."""
    low, high = row["knn_interval"]
    knn = f"{row['knn']:.4f} [{low:.4f}, {high:.4f}] / {row['knn_floor']:.4f}"
    found = {"comparison": row["comparison"], "KNN / floor": knn}
    for name in shown:
        both = [row[name], row[f"{name}_floor"]]
        words = " / ".join("-" if one is None else f"{one:.4f}" for one in both)
        found[f"{name.replace('_', ' ')} / floor"] = words
    return found | {"tokens": f"{row['tokens']:,}"}
