"""Every item of the paper tables, and who makes it: the one list that a new item is added to.

    "table-1": Item(
        printed="module:function",    () -> PaperItem
        make="module:function",       (ground, printed) -> PaperItem
        cost="module:function",       request -> Estimate | None
    )

`printed()` is the item as the paper has it: title, notes, and every `PaperNumber` with its row,
column, printed text, unit and tolerance, none computed; it loads no torch.  `make` gives the same
item with what was computed: it asks `ground.lacking(*models)`, puts values in by
`number.found(value, origin, source, reason, floor)` and what is not here by `lack.told(number)`,
tells `ground.progress` where it is, and may raise an EmbtieError, which leaves the other items as
they are.  An item without `cost` is made at once.  An item without `make` has its verdicts in
print ("print only", with the reason).  What is heavy goes through the jobs of the other kinds and
their cache, so that a second run is at once.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from embtie_widgets.jobs.estimate import Estimate
from embtie_widgets.results.papers import PaperItem

if TYPE_CHECKING:
    from embtie_widgets.jobs.papers_ground import Ground
    from embtie_widgets.requests.papers import PaperTablesRequest


@dataclass(frozen=True)
class Item:
    """Where an item's print and its making are; to know of it loads nothing."""

    printed: str
    make: str = ""
    cost: str = ""

    def as_printed(self) -> PaperItem:
        """The item with nothing computed."""
        found: PaperItem = _function(self.printed)()
        return found

    def made(self, ground: "Ground") -> PaperItem:
        """The item with what can be computed here."""
        printed = self.as_printed()
        found: PaperItem = _function(self.make)(ground, printed) if self.make else printed
        return found

    def cost_of(self, request: "PaperTablesRequest") -> Estimate | None:
        """What making it will cost; None where that cannot be told."""
        if not self.cost:
            return Estimate(0.0, 0)
        found: Estimate | None = _function(self.cost)(request)
        return found


def _function(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)


_PARAMETERS = "embtie_widgets.jobs.papers_parameters"
_GRADIENT = "embtie_widgets.jobs.papers_gradient"
_DRIFT = "embtie_widgets.jobs.papers_drift"
_CENTERING = "embtie_widgets.jobs.papers_centering"
_TRAINED = "embtie_widgets.jobs.papers_trained"
_LENS = "embtie_widgets.jobs.papers_lens"
_BOTTLENECK = "embtie_widgets.jobs.papers_bottleneck"
_PRINTED = "embtie_widgets.jobs.papers_printed"
_TABLES = "embtie_widgets.jobs.papers_tables"
_COST = "embtie_widgets.jobs.papers_cost"
ITEMS: dict[str, Item] = {
    "table-1": Item(f"{_PRINTED}:table_1", f"{_TABLES}:table_1", f"{_COST}:table_1"),
    "table-2": Item(f"{_TRAINED}:table_2", f"{_TRAINED}:make_scaling"),
    "table-3": Item(f"{_PARAMETERS}:table_3", f"{_PARAMETERS}:make"),
    "table-4": Item(f"{_PARAMETERS}:table_4", f"{_PARAMETERS}:make"),
    "table-5": Item(f"{_PRINTED}:table_5", f"{_TABLES}:table_5", f"{_COST}:table_5"),
    "table-6": Item(f"{_TRAINED}:table_6", f"{_TRAINED}:make_scaling"),
    "table-7": Item(f"{_TRAINED}:table_7"),
    "table-coupling": Item(f"{_TRAINED}:coupling"),
    "figure-1": Item(f"{_PRINTED}:figure_1", f"{_TABLES}:figure_1", f"{_COST}:figure_1"),
    "figure-2": Item(f"{_LENS}:figure_2", f"{_LENS}:make", f"{_LENS}:cost_2"),
    "figure-3": Item(f"{_DRIFT}:figure_3", f"{_DRIFT}:make"),
    "figure-4": Item(f"{_GRADIENT}:figure_4", f"{_GRADIENT}:make"),
    "figure-5": Item(f"{_TRAINED}:figure_5", f"{_TRAINED}:make_figure_5"),
    "figure-6": Item(f"{_LENS}:figure_6", f"{_LENS}:make", f"{_LENS}:cost_6"),
    "figure-7": Item(f"{_LENS}:figure_7", f"{_LENS}:make", f"{_LENS}:cost_7"),
    "figure-8": Item(f"{_DRIFT}:figure_8", f"{_DRIFT}:make"),
    "figure-9": Item(f"{_DRIFT}:figure_9", f"{_DRIFT}:make"),
    "norms": Item(f"{_PRINTED}:norms", "embtie_widgets.jobs.papers_norms:make"),
    "centering-sensitivity": Item(f"{_CENTERING}:sensitivity", f"{_CENTERING}:make"),
    "centering-coefficients": Item(f"{_CENTERING}:coefficients", f"{_CENTERING}:make"),
    "centering-losses": Item(f"{_CENTERING}:losses", f"{_CENTERING}:make"),
    "centering-bound": Item(f"{_CENTERING}:bound", f"{_CENTERING}:make"),
    "centering-time": Item(f"{_CENTERING}:time", f"{_CENTERING}:make"),
    "bottleneck-ratio": Item(
        f"{_BOTTLENECK}:ratio", f"{_BOTTLENECK}:make_ratio", f"{_BOTTLENECK}:cost"
    ),
}
