"""Which text, or which ready counts."""

from dataclasses import dataclass
from typing import ClassVar

from embtie_widgets.requests import fields
from embtie_widgets.requests.reference import Reference

OWN, BUNDLED, DATASETS = "", "bundled", "datasets:"
MOST_MB = 1_000_000


@dataclass(frozen=True)
class CorpusRef(Reference):
    """A reference to a text whose tokens are counted.

    `ref` is "" for the counts that come with the model; "bundled" for the public-domain English
    that ships with embtie; a text file (UTF-8, .gz or plain), a .jsonl file or a folder of such
    files; `datasets:NAME` or `datasets:NAME:SUBSET` for one of the hub's data sets; or a ready
    count file (.npy, .json, .csv, .tsv).  `column` holds the text in .jsonl and data sets,
    `split` is the part of a data set, and after `limit_mb` million bytes of text the reading
    stops; 0 reads all.
    """

    ref: str = OWN
    column: str = "text"
    split: str = "train"
    limit_mb: int = 0

    what: ClassVar[str] = "corpus"

    def __post_init__(self) -> None:
        if self.ref != OWN:
            fields.text("corpus", self.ref)
        fields.text("column", self.column)
        fields.text("split", self.split)
        fields.whole("limit_mb", self.limit_mb, 0, MOST_MB)
