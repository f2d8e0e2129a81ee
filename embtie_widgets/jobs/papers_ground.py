"""What an item of the paper tables stands on: which models are here, and what is missing of others.

An item is made with a `Ground`.  It asks `lacking(*models)` before it computes: None means that
all of them can be opened, else the answer says what is not here and how large that is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs.packaged import packaged_counts
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.requests.papers import PaperTablesRequest
from embtie_widgets.results.papers import PaperItem, PaperNumber

Made = TypeVar("Made")
STAND_IN = (ModelRef("nano-untied"), ModelRef("nano-tied"))
"""The bundled pair, untied and tied: what takes the place of models that are not here."""


@dataclass(frozen=True)
class Lack:
    """What is not here: which files of which models, their bytes where known, and why."""

    what: str
    bytes: int | None
    reason: str

    def __add__(self, other: "Lack") -> "Lack":
        known = (self.bytes, other.bytes)
        total = None if None in known else sum(size or 0 for size in known)
        reasons = dict.fromkeys((self.reason, other.reason))
        return Lack(f"{self.what}; {other.what}", total, " ".join(reasons))

    def told(self, number: PaperNumber) -> PaperNumber:
        """A number with this written on it."""
        return number.lacking(self.what, self.bytes, self.reason)


class Ground:
    """A request, where its work is told to, the recorded runs that it names, and what is known of
    models so far."""

    def __init__(self, request: PaperTablesRequest, progress: Progress = silent) -> None:
        from embtie_widgets.jobs.papers_records import records_in

        self.request, self.progress = request, progress
        self.records = records_in(request.data)
        self._lacks: dict[ModelRef, Lack | None] = {}
        self._made: dict[Any, Any] = {}

    def lacking(self, *models: ModelRef) -> Lack | None:
        """What of these is neither here nor may be fetched; None where all can be opened."""
        for model in models:
            if model not in self._lacks:
                self._lacks[model] = self._lack(model)
        lacks = [lack for model in dict.fromkeys(models) if (lack := self._lacks[model])]
        return reduce(Lack.__add__, lacks) if lacks else None

    def once(self, what: Any, make: Callable[[], Made]) -> Made:
        """What an earlier item has opened or measured under this name, else what `make` gives."""
        if what not in self._made:
            self._made[what] = make()
        found: Made = self._made[what]
        return found

    def _lack(self, model: ModelRef) -> Lack | None:
        from embtie_widgets.jobs.pairs import is_here
        from embtie_widgets.sources import hub

        if is_here(model):
            return None
        self.progress(f"looking for {model.written}", 0, 1)
        try:
            moved = hub.cost(model.ref, model.revision, self.progress).moved
        except Cancelled:
            raise
        except EmbtieError as error:
            return Lack(*from_facts(model), error.message)
        missing = {name: size for name, size in moved.items() if size}
        if self.request.fetch or not missing:
            return None
        files = ", ".join(missing)
        why = f"{model.written} is not whole on this machine, and nothing was to be fetched."
        return Lack(f"the matrices in {files} of {model.written}", sum(missing.values()), why)


def from_facts(model: ModelRef) -> tuple[str, int | None]:
    """What would be read of a model that the hub tells nothing of, by what ships with embtie."""
    facts = packaged_counts().get(model.ref)
    if facts is None:
        return f"the matrices of {model.written}", None
    rows, width = facts.settings["rows"], facts.settings["width"]
    count = 2 if facts.settings["matrices"] == "two" else 1
    words = f"{'both matrices' if count == 2 else 'the matrix'} of {model.written}"
    size = f"{rows:,} x {width:,}, taken as 16-bit numbers"
    return f"{words} ({size})", 2 * count * rows * width


def all_of(printed: PaperItem, lack: Lack) -> PaperItem:
    """An item of which nothing could be computed, or not more than stand-ins."""
    return replace(printed, numbers=tuple(map(lack.told, printed.numbers)))
