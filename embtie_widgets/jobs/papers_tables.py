"""Tables 1 and 5 and figure 1 of the weight-tying paper: alignment, neighbours and graphs."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from embtie_widgets.jobs.packaged import packaged_counts
from embtie_widgets.jobs.papers_families import STORED, TOKENS, family
from embtie_widgets.jobs.papers_filling import Key, filled
from embtie_widgets.jobs.papers_ground import Ground
from embtie_widgets.jobs.papers_pairs import Opened
from embtie_widgets.jobs.papers_printed import KNN, MAPS, ROWS, SPECTRAL
from embtie_widgets.jobs.papers_reasons import Measured, Other
from embtie_widgets.measures.alignment import chance_level
from embtie_widgets.results import PairAlignment
from embtie_widgets.results.papers import PaperItem

BINS = 80
# What the notes of a pair's results hold that tell what is lost or says nothing.
_LOSSES = ("have no value", "no part in", "spectral distance", "means nothing")


def table_1(ground: Ground, printed: PaperItem) -> PaperItem:
    """Every map on every comparison."""

    def measure(opened: Opened) -> dict[Key, Measured]:
        found = {}
        for map, column in MAPS.items():
            for name, one in _aligned(opened, map).items():
                found[name, column] = one
        return found

    return filled(ground, printed, measure, _chance)


def figure_1(ground: Ground, printed: PaperItem) -> PaperItem:
    """The means of the linear scores, and their histograms in the settings."""

    def measure(opened: Opened) -> dict[Key, Measured]:
        scores = opened.aligned("linear").comparisons
        opened.more["histograms"] = {n: _histogram(one.cosine) for n, one in scores.items()}
        return {(name, "mean"): one for name, one in _aligned(opened, "linear").items()}

    return filled(ground, printed, measure, lambda name, _: _chance(name, MAPS["linear"]))


def table_5(ground: Ground, printed: PaperItem) -> PaperItem:
    """Neighbours and graphs of every comparison."""
    return filled(ground, printed, _neighbours, _chance)


def _aligned(opened: Opened, map: str) -> dict[str, Measured]:
    """By comparison, the mean cosine after a map."""
    main, others = opened.aligned(map), list(_other_alignments(opened, map))
    opened.said += _losses(opened, main.notes)
    return {
        name: Measured(
            one.mean,
            opened.source(),
            one.floor_mean,
            tuple(Other(words, result.comparisons[name].mean) for words, result in others),
            opened.sizes,
        )
        for name, one in main.comparisons.items()
    }


def _other_alignments(opened: Opened, map: str) -> Iterator[tuple[str, PairAlignment]]:
    """The same on other rows and, where that could be the printed one, without centring."""
    if opened.family.is_stand_in:
        return
    if map == "identity":
        yield "without centring", opened.aligned(map, center=False)
    for words, rows in _other_rows(opened):
        yield words, opened.aligned(map, rows)


def _other_rows(opened: Opened) -> Iterator[tuple[str, str]]:
    """On which other rows the same could be computed, in words and by name."""
    if opened.family.is_stand_in:
        return
    tokens, stored = (len(opened.pair(rows).matched.rows_a) for rows in (TOKENS, STORED))
    if opened.family.rows == TOKENS:
        yield "with rows paired by number instead of by token", STORED
    elif tokens != stored:
        yield f"on the {tokens:,} tokens alone, without padding rows", TOKENS


def _neighbours(opened: Opened) -> dict[Key, Measured]:
    main = opened.geometry()
    others = [(words, opened.geometry(rows)) for words, rows in _other_rows(opened)]
    source, sizes = opened.source(), opened.sizes
    found = {}
    for name, one in main.overlaps.items():
        ways = tuple(Other(words, other.overlaps[name].mean) for words, other in others)
        found[name, KNN] = Measured(one.mean, source, one.floor, ways, sizes)
    for name, distance in main.spectral.items():
        ways = tuple(
            Other(words, other.spectral[name].distance)
            for words, other in others
            if name in other.spectral
        )
        floor = distance.floor
        found[name, SPECTRAL] = Measured(distance.distance, source, floor, ways, sizes)
    opened.said += _losses(opened, main.notes)
    return found


def _losses(opened: Opened, notes: tuple[str, ...]) -> list[str]:
    """Those notes on a family that tell what is left out."""
    lost = [note for note in notes if any(words in note for words in _LOSSES)]
    return [f"{opened.family.name}: {note}" for note in lost]


def _chance(name: str, column: str) -> float | None:
    """At the paper's sizes: what theory gives for a map, ten of all other rows for neighbours."""
    if column == SPECTRAL:
        return None
    if column == KNN:
        return 10 / (ROWS[name] - 1)
    known, counts = family(name), packaged_counts()
    map = next(map for map, title in MAPS.items() if title == column)
    widths = [int(counts[ref.ref].settings["width"]) for ref in (known.a, known.b)]
    return chance_level(map, ROWS[name], (widths[0], widths[1]))


def _histogram(cosines: Any) -> Mapping[str, list[float]]:
    """How many cosines fall into each of 80 bins, and the edges of these."""
    counts, edges = np.histogram(cosines[np.isfinite(cosines)], BINS)
    return {"counts": counts.tolist(), "edges": edges.tolist()}
