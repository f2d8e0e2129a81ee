"""Which models the weight-tying paper's families are, and the pair that stands in for them; torch
is not needed."""

from dataclasses import dataclass

from embtie_widgets.jobs.papers_ground import STAND_IN
from embtie_widgets.jobs.papers_printed import NEO, OLMO, QWEN
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources.catalogue_file import PRESETS, read

_PRESETS = {OLMO: "olmo-1b", NEO: "pythia-neo", QWEN: "qwen3"}
TOKENS, STORED = "tokens", "stored rows"


@dataclass(frozen=True)
class Family:
    """Two models of a paper, or the pair that stands in for them.

    name   as the tables print it
    a, b   the untied model and the tied one
    rows   which rows the paper compared: `STORED` by their number, or `TOKENS` by their strings
    """

    name: str
    a: ModelRef
    b: ModelRef
    rows: str

    @property
    def is_stand_in(self) -> bool:
        """Whether it is the bundled pair."""
        return (self.a, self.b) == STAND_IN

    @property
    def origin(self) -> str:
        """What its numbers are, in the words of a `PaperNumber`."""
        return "stand-in" if self.is_stand_in else "model"


def family(name: str) -> Family:
    """The pair that embtie's own catalogue has for a family, whatever a user's own says."""
    preset = next(one for one in read(PRESETS).pairs if one.name == _PRESETS[name])
    return Family(name, preset.a, preset.b, TOKENS if name == NEO else STORED)


def stand_in(name: str) -> Family:
    """The bundled pair in the place of a family."""
    return Family(name, *STAND_IN, TOKENS)
