"""The request behind the panel of neighbours and spectra."""

from dataclasses import dataclass
from typing import ClassVar

from embtie_widgets.requests import fields
from embtie_widgets.requests.pair import PairRequest

METRICS = ("cosine", "euclidean")
MOST_NEIGHBOURS = 1_000


@dataclass(frozen=True)
class GeometryRequest(PairRequest):
    """Compare the neighbours and the spectra of In, Out and Tied.

    Neighbours are the `k` nearest by `metric`, after the column means are taken off where `center`
    says so.  `sample` tokens, spread by `seed`, are asked for theirs, 0 for every token; they are
    found among all tokens either way.  `spectral` adds the omnibus distance between the graphs of
    the `spectral_k` nearest by uncentred cosine, in `components` dimensions.  `spaces` adds what is
    said of the matrices as wholes: spectra, CKA, and the overlap of the subspaces of the `top`
    leading directions.
    """

    k: int = 10
    metric: str = "cosine"
    center: bool = False
    sample: int = 0
    spectral: bool = True
    spectral_k: int = 64
    components: int = 128
    spaces: bool = True
    top: int = 100
    seed: int = 0

    kind: ClassVar[str] = "geometry"

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.whole("k", self.k, 1, MOST_NEIGHBOURS)
        fields.choice("metric", self.metric, METRICS)
        fields.flag("center", self.center)
        fields.whole("sample", self.sample, 0, 10**7)
        fields.flag("spectral", self.spectral)
        fields.whole("spectral_k", self.spectral_k, 1, MOST_NEIGHBOURS)
        fields.whole("components", self.components, 1, 4_096)
        fields.flag("spaces", self.spaces)
        fields.whole("top", self.top, 1, 100_000)
        fields.whole("seed", self.seed, 0, 2**31 - 1)
