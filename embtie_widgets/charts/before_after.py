"""Before and after centring the output matrices: the numbers side by side, and what can change.

A kind of result has its own `..._changes(before, after)` and `..._reach(after)` here, both of whole
results whose requests differ in `mu_centered` alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.charts.sentences import centred, label, listed
from embtie_widgets.charts.theme import COMPARISONS, MATRICES
from embtie_widgets.results import PairAlignment, PairNorms
from embtie_widgets.results.geometry import PairGeometry


@dataclass(frozen=True)
class Change:
    """A number before and after: what is measured, of which comparison or matrix; NaN where it
    has no value."""

    what: str
    of: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        """After less before."""
        return self.after - self.before


def alignment_changes(before: PairAlignment, after: PairAlignment) -> list[Change]:
    """Mean cosines, held out where both have that, and mean row norms."""
    then, now = ({row["comparison"]: row for row in one.summary()} for one in (before, after))
    held = all(row["heldout_mean"] is not None for row in (*then.values(), *now.values()))
    what, key = ("held-out mean cosine", "heldout_mean") if held else ("mean cosine", "mean")
    cosines = [_change(what, name, then, now, key) for name in COMPARISONS if name in then]
    return [*cosines, *_norms(before.norms, after.norms)]


def geometry_changes(before: PairGeometry, after: PairGeometry) -> list[Change]:
    """Neighbours and graphs by comparison; isotropy, mean row and row norms by matrix."""
    then, now = ({row["comparison"]: row for row in one.summary()} for one in (before, after))
    measures = {f"KNN@{after.k:,}": "knn", "spectral distance": "spectral", "CKA": "cka"}
    found = [
        _change(what, name, then, now, key)
        for what, key in measures.items()
        for name in COMPARISONS
        if name in then and then[name][key] is not None
    ]
    then, now = before.numbers(), after.numbers()
    shapes = {"isotropy": "isotropy", "share of the mean vector": "mean_share"}
    found += [
        _change(what, name, then, now, key)
        for what, key in shapes.items()
        for name in MATRICES
        if name in before.matrices
    ]
    return [*found, *_norms(before.norms, after.norms)]


def norms_changes(before: PairNorms, after: PairNorms) -> list[Change]:
    """Correlations of norm and frequency, those of the norms of two matrices, and mean norms."""
    found = [
        Change("Spearman with frequency", name, one.spearman, after.matrices[name].spearman)
        for name, one in before.matrices.items()
    ]
    found += [
        Change("Pearson of the norms", names, one.pearson, after.between[names].pearson)
        for names, one in before.between.items()
    ]
    then, now = ({n: one.norm for n, one in side.matrices.items()} for side in (before, after))
    return [*found, *_norms(then, now)]


def alignment_reach(after: PairAlignment) -> str:
    """What centring can change in an alignment, and what it cannot."""
    if after.settings.get("center"):
        return (
            "No cosine can change here, by any map, beyond rounding: the column means are taken "
            "off before each fit, and with them whatever all rows have in common. Uncheck "
            "“subtract the column means” to see what the mean row does to a map. Row norms change."
        )
    touched = [label(name) for name in after.comparisons if _is_touched(after, name)]
    spared = [label(name) for name in after.comparisons if not _is_touched(after, name)]
    said = (
        f"{_sentence(listed(touched))} can change, since column means are left in: every map, the "
        "identity too, meets the mean row. Row norms change."
    )
    more = f" {_sentence(listed(spared))} cannot: neither matrix is centred." if spared else ""
    return said + more if touched else more.strip()


def geometry_reach(after: PairGeometry) -> str:
    """What centring can change in neighbours and spectra, and what it cannot."""
    settings = after.settings
    euclidean, about_mean = settings.get("metric") == "euclidean", bool(settings.get("center"))
    taken_off = settings.get("mean rows taken off", {}).values()
    zeros = any(facts.get("zero") for facts in taken_off)
    parts = [_of_neighbours(euclidean, about_mean, zeros)]
    if after.spectral:
        parts.append("The spectral distance can: its graphs are by cosine and never centred.")
    if after.spaces:
        rest = (
            "spectra and subspaces cannot either, of columns that are centred"
            if about_mean
            else "spectra and subspaces can"
        )
        parts.append(f"CKA cannot, which takes column means off by definition; {rest}.")
    if after.matrices:
        parts.append("Isotropy and the share of the mean vector can: they take no column mean off.")
    return " ".join(parts)


def _of_neighbours(euclidean: bool, about_mean: bool, zeros: bool) -> str:
    if zeros and (euclidean or about_mean):
        return (
            "Neighbours can change by rows of zeros alone, which stay where they are while all "
            "others move alike."
        )
    if euclidean:
        return "Neighbours by distance cannot change: all rows of a matrix move alike."
    if about_mean:
        return (
            "Neighbours cannot change beyond rounding: the column means are taken off before they "
            "are found."
        )
    return "Neighbours by cosine can change: a mean row turns all rows of a matrix towards itself."


def norms_reach(after: PairNorms) -> str:
    """What centring can change in norms, and what it cannot."""
    moved = centred(after)
    stays = [name for name in after.matrices if name not in moved]
    said = (
        f"The norms of {listed(moved)} can change, and with them every order and every correlation "
        "that they are part of."
    )
    kept = f" {_sentence(listed(stays))} and the counts stay." if stays else " The counts stay."
    return said + kept if moved else ""


def _is_touched(result: PairAlignment, comparison: str) -> bool:
    return not set(comparison.split("->")).isdisjoint(centred(result))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _change(what: str, of: str, then: dict[str, Any], now: dict[str, Any], key: str) -> Change:
    """Of two tables of numbers; None and what is missing have no value."""
    before, after = (np.nan if (v := side[of].get(key)) is None else v for side in (then, now))
    return Change(what, of, float(before), float(after))


def _norms(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for name in MATRICES:
        if name in before:
            yield Change("mean row norm", name, _mean(before[name]), _mean(after[name]))


def _mean(values: Any) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else np.nan
