"""Results of counting parameters."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ("untied", "tied", "saved", "embedding", "share")


@storable
@dataclass(frozen=True)
class Parameters:
    """Numbers of parameters of one model, as it would be untied and tied.

    untied     with a matrix of its own for input and output
    tied       with one matrix for both
    saved      what tying saves: one V x d matrix, untied - tied
    embedding  both matrices of the untied form, 2 V d
    share      embedding / untied, in [0, 1]
    notes      what was assumed, and what the headers cannot say
    settings   "model" (name, source, revision), "rows" V, "width" d, "output_rows" where the head
               has another height, "stored" (numbers that are there), "matrices" and "status"
    """

    untied: int
    tied: int
    saved: int
    embedding: int
    share: float
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        name = self.settings.get("model", {}).get("name")
        return f"Parameters({f'{name!r}, ' if name else ''}{_numbers(self)})"

    @property
    def body(self) -> int:
        """All that is neither the input nor the output matrix."""
        return self.untied - self.embedding

    @property
    def output(self) -> int:
        """The output matrix of the untied form."""
        return self.saved

    @property
    def input(self) -> int:
        """The input matrix of the untied form."""
        return self.embedding - self.saved

    def to_frame(self) -> "pd.DataFrame":
        """One row with the five numbers."""
        import pandas as pd

        return pd.DataFrame([{name: getattr(self, name) for name in NUMBERS}])


@storable
@dataclass(frozen=True)
class Printed:
    """A number as a paper prints it, and as it is.

    exact is in the same unit as `printed` ("M" for millions of parameters, "%" for a share);
    recomputed is exact, rounded as the paper rounds; reason says where a difference comes from,
    and is empty where there is none.
    """

    table: str
    model: str
    quantity: str
    unit: str
    printed: str
    recomputed: str
    exact: float
    reason: str

    @property
    def difference(self) -> float:
        """printed - exact, in the unit."""
        return float(self.printed) - self.exact

    @property
    def agrees(self) -> bool:
        """Whether the exact number, rounded, is the printed one."""
        return self.printed == self.recomputed


@storable
@dataclass(frozen=True)
class ParameterReport:
    """The parameters of a model, and those of a suite beside it.

    model   of the request
    beside  by label, smallest first
    notes   what was assumed of the model
    """

    name: str
    model: Parameters
    beside: dict[str, Parameters]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        others = len(self.rows()) - 1
        return f"ParameterReport({self.name!r}, {_numbers(self.model)}; {others} models beside it)"

    def rows(self) -> dict[str, Parameters]:
        """The model first, then the suite, by the names they are shown under."""
        return {self.name: self.model} | {k: v for k, v in self.beside.items() if k != self.name}

    def to_frame(self) -> "pd.DataFrame":
        """One row per model: name, the five numbers, body, rows and width."""
        import pandas as pd

        return pd.DataFrame([{"model": name, **_row(p)} for name, p in self.rows().items()])

    def facts(self) -> dict[str, Any]:
        """All that every export carries beside the rows."""
        return {
            "model": self.model.settings,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }


def _numbers(counted: Parameters) -> str:
    return (
        f"untied {counted.untied:,}, tied {counted.tied:,}, tying saves {counted.saved:,}; "
        f"both matrices are {counted.share:.1%} of the untied form"
    )


def _row(counted: Parameters) -> dict[str, Any]:
    numbers = {name: getattr(counted, name) for name in (*NUMBERS, "body")}
    sizes = {name: counted.settings.get(name) for name in ("rows", "width")}
    return numbers | sizes | {"status": counted.settings.get("status")}
