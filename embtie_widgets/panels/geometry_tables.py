"""The numbers of neighbours and spectra as HTML tables, each beside what chance gives."""

from collections.abc import Callable
from typing import Any

from embtie_widgets.charts.sentences import label
from embtie_widgets.charts.theme import COMPARISONS, MATRICES, mark_of
from embtie_widgets.panels.words import escape, interval, number, table
from embtie_widgets.results.geometry import PairGeometry

_MEASURES = {
    "spectral": "spectral distance",
    "cka": "CKA",
    "debiased_cka": "CKA, debiased",
    "subspace": "subspace overlap",
}
_ABOUT = (
    "<p class='ep-quiet'><b>Effective rank</b> and <b>participation ratio</b> say over how many "
    "directions the rows spread, at most d; the ratio gives the leading ones more weight. "
    "<b>Isotropy</b> is 1 where all directions are alike, near 0 where a few rule. The <b>share of "
    "the mean vector</b> is the length of the mean row over the mean length of the rows. Below 1, "
    "the <b>B-ratio</b> says that centring the rows narrows the range of the logits along their "
    "mean.</p>"
)


def by_comparison(result: PairGeometry) -> str:
    """Every measure of two matrices, its interval where it has one, and its floor."""
    rows = {row["comparison"]: row for row in result.summary()}
    names = [name for name in COMPARISONS if name in rows]
    shown = [name for name in _MEASURES if any(row[name] is not None for row in rows.values())]
    head = ["", f"KNN@{result.k:,}", *(_MEASURES[name] for name in shown), "tokens"]
    cells = [
        [
            _named(name),
            f"{number(rows[name]['knn'])} <small>{interval(rows[name]['knn_interval'])}</small>"
            f"{_floor(rows[name]['knn_floor'], 5)}",
            *(f"{number(rows[name][m])}{_floor(rows[name][f'{m}_floor'])}" for m in shown),
            f"{rows[name]['tokens']:,}",
        ]
        for name in names
    ]
    return table(head, cells, "measures by comparison")


def reading(result: PairGeometry) -> str:
    """How the table is read: what a floor is, and which way is nearer."""
    distance = (
        " The spectral distance is 0 for equal graphs: smaller is closer, and its floor is what "
        "two unrelated graphs like these give."
        if result.spectral
        else ""
    )
    top = escape(result.settings.get("top"))
    spaces = (
        f" CKA and the overlap of the {top} leading directions go from 0 to 1; CKA takes the "
        "column means off by its definition."
        if result.spaces
        else ""
    )
    return (
        "<p class='ep-quiet'>The <b>floor</b> of a number is what chance gives: "
        "k / (n − 1) for neighbours, else the same measure with the tokens of one matrix "
        f"shuffled.{distance}{spaces}</p>"
    )


def by_matrix(result: PairGeometry) -> str:
    """What is said of each matrix in one number."""
    numbers = result.numbers()
    names = [name for name in MATRICES if name in numbers]
    lines = {**_SIZE, **(_NUMBERS if result.matrices else {}), **_DOUBLES}
    rows = [[title, *(shown(numbers[name]) for name in names)] for title, shown in lines.items()]
    said = _ABOUT if result.matrices else ""
    return table(["", *map(_of_matrix, names)], rows, "numbers by matrix") + said


def _floor(value: float | None, places: int = 3) -> str:
    return (
        ""
        if value is None
        else f'<br><small class="ep-floor">floor {number(value, places)}</small>'
    )


def _named(comparison: str) -> str:
    return f"{_dot(mark_of(comparison).color)}{label(comparison)}"


def _of_matrix(name: str) -> str:
    return f"{_dot(MATRICES[name].color)}{name}"


def _dot(color: str) -> str:
    return f'<span class="ep-dot" style="background:{color}"></span>'


def _value(name: str, places: int = 3) -> Callable[[dict[str, Any]], str]:
    """A number of this name with so many places; a dash where there is none."""

    def shown(numbers: dict[str, Any]) -> str:
        value = numbers.get(name)
        return number(None if value is None or value != value else value, places)

    return shown


def _count(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda numbers: f"{numbers[name]:,}" if name in numbers else number(None)


_Lines = dict[str, Callable[[dict[str, Any]], str]]
_SIZE: _Lines = {"V × d": lambda numbers: f"{numbers['rows']:,} × {numbers['width']:,}"}
_NUMBERS: _Lines = {
    "effective rank": _value("effective_rank", 1),
    "participation ratio": _value("participation_ratio", 1),
    "isotropy": _value("isotropy"),
    "share of the mean vector": _value("mean_share"),
    "B-ratio": _value("bound_ratio"),
    "Frobenius norm": _value("frobenius", 1),
}
_DOUBLES: _Lines = {"tokens with a duplicate": _count("duplicates")}
