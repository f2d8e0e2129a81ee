"""Tables 3 and 4 of the weight-tying paper: numbers of parameters, from facts that ship."""

from dataclasses import replace

from embtie_widgets.jobs.papers_ground import Ground
from embtie_widgets.jobs.parameters import printed_tables
from embtie_widgets.results.papers import PaperItem, PaperNumber
from embtie_widgets.results.parameters import Printed

_SOURCE = "counted from the sizes in its configuration, which ship with embtie"
_TITLES = {
    "table 3": "Parameters of Pythia models, untied and tied",
    "table 4": "Share of both embedding matrices in the parameters of Pythia models",
}
_NOTES = {
    "table 3": ("Tying saves one V x d matrix; the printed savings fit V = 50,304.",),
    "table 4": (
        "The caption says V = 50,257, while the savings of table 3 fit 50,304; no single V gives "
        "every printed number, and the shares divide by the models' nominal sizes.",
    ),
}
_COLUMNS = {
    "untied": "untied",
    "tied": "tied",
    "saved": "saved",
    "embedding": "both matrices",
    "share": "share",
}


def table_3() -> PaperItem:
    """Untied, tied and saved, as printed."""
    return _printed("table 3")


def table_4() -> PaperItem:
    """Both matrices and their share, as printed."""
    return _printed("table 4")


def make(_ground: Ground, printed: PaperItem) -> PaperItem:
    """Either table with the exact numbers; no model is opened for it."""
    exact = zip(printed.numbers, _of(printed.name.replace("-", " ")), strict=True)
    numbers = tuple(
        number.found(one.exact, "packaged", f"{one.model}: {_SOURCE}", one.reason)
        for number, one in exact
    )
    return replace(printed, numbers=numbers, settings={"counted": _SOURCE})


def _printed(table: str) -> PaperItem:
    numbers = tuple(
        PaperNumber(one.model, _COLUMNS[one.quantity], one.printed, unit=one.unit)
        for one in _of(table)
    )
    name = table.replace(" ", "-")
    return PaperItem(name, "tying", _TITLES[table], numbers, _NOTES[table])


def _of(table: str) -> list[Printed]:
    return [one for one in printed_tables() if one.table == table]
