"""The request behind the panel of the papers' tables."""

from dataclasses import dataclass
from typing import ClassVar

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields
from embtie_widgets.requests.pair import DEVICES
from embtie_widgets.requests.request import Request

PAPERS = ("tying", "centering", "bottleneck")
ITEMS = {  # name: paper
    "table-1": "tying",
    "table-2": "tying",
    "table-3": "tying",
    "table-4": "tying",
    "table-5": "tying",
    "table-6": "tying",
    "table-7": "tying",
    "table-coupling": "tying",
    "figure-1": "tying",
    "figure-2": "tying",
    "figure-3": "tying",
    "figure-4": "tying",
    "figure-5": "tying",
    "figure-6": "tying",
    "figure-7": "tying",
    "figure-8": "tying",
    "figure-9": "tying",
    "norms": "tying",
    "centering-sensitivity": "centering",
    "centering-coefficients": "centering",
    "centering-losses": "centering",
    "centering-bound": "centering",
    "centering-time": "centering",
    "bottleneck-ratio": "bottleneck",
}
"""Every item, in the papers' order."""


@dataclass(frozen=True)
class PaperTablesRequest(Request):
    """Hold the papers' printed numbers against what can be computed here.

    `items` are names of `ITEMS`, or of `PAPERS` for all of one; none means all.  A model is taken
    from this machine where it is there whole; with `fetch`, what is missing is brought from the
    hub.  `data` names the folder of the papers' recorded runs (their files are known by what they
    hold); on a shared page it is a name in the folder that EMBTIE_RUNS says.  With `stand_in` the
    bundled pair takes the place of models that are not here, which is said of every such number.
    `device` and `seed` say how and with which shuffles.
    """

    items: tuple[str, ...] = ()
    fetch: bool = False
    data: str = ""
    stand_in: bool = True
    device: str = "auto"
    seed: int = 0

    kind: ClassVar[str] = "paper-tables"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "items", checked_items(self.items))
        fields.flag("fetch", self.fetch)
        if self.data:
            fields.text("data", self.data)
        fields.flag("stand_in", self.stand_in)
        fields.choice("device", self.device, DEVICES)
        fields.whole("seed", self.seed, 0, 2**31 - 1)

    @property
    def names(self) -> tuple[str, ...]:
        """Every item that is meant, in the papers' order."""
        return tuple(
            name
            for name, paper in ITEMS.items()
            if not self.items or name in self.items or paper in self.items
        )


def checked_items(value: object) -> tuple[str, ...]:
    """Names of items or papers, each once; an EmbtieError that lists what there is."""
    found = fields.listed("items", value, len(ITEMS) + len(PAPERS))
    for one in found:
        if one not in ITEMS and one not in PAPERS:
            raise EmbtieError(
                f"No table or figure is called {fields.short(one)}.",
                f"There are {', '.join(ITEMS)}; or a whole paper: {', '.join(PAPERS)}.",
            )
    return found
