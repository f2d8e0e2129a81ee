"""The request behind the panel of row norm against token frequency."""

from dataclasses import dataclass
from typing import ClassVar

from embtie_widgets.requests import fields
from embtie_widgets.requests.corpus import CorpusRef
from embtie_widgets.requests.pair import PairRequest

_OWN = CorpusRef()


@dataclass(frozen=True)
class NormFrequencyRequest(PairRequest):
    """Set the row norms of In, Out and Tied against how often the tokens occur in a corpus.

    Without a `corpus` the counts are those that come with the models.  `seed` draws the
    shuffles behind chance.
    """

    corpus: CorpusRef = _OWN
    seed: int = 0

    kind: ClassVar[str] = "norm-frequency"

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.whole("seed", self.seed, 0, 2**31 - 1)
