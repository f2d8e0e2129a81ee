"""The tokenizer of a model, as it cuts a text into the tokens of its rows; none of its code runs.

Special tokens are never added, and nothing is padded or cut off.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from tokenizers import Tokenizer

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources.files import Files
from embtie_widgets.sources.load import Place, find
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.reading import check_start, sentences

_READY = "Give a ready count file instead: .npy by row, .json, .csv or .tsv."


@dataclass(frozen=True, eq=False)
class ModelTokenizer:
    """A tokenizer whose ids are row numbers of the model; two with one sha256 cut texts alike."""

    tokenizer: Tokenizer
    name: str
    notes: tuple[str, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """Of all that it consists of."""
        return hashlib.sha256(self.tokenizer.to_str().encode()).hexdigest()

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The ids of each text, on all processors."""
        found = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in found]


def tokenizer_of(model: ModelRef | Loaded, progress: Progress = silent) -> ModelTokenizer:
    """The model's own tokenizer; an EmbtieError where there is none that can be read."""
    ref = model if isinstance(model, ModelRef) else model.origin
    if ref is None:
        raise EmbtieError("A model in memory brings no tokenizer that cuts texts.", _READY)
    place = find(ref.ref, ref.revision, progress)
    if not isinstance(place, Place):
        raise EmbtieError(f"{place.name} holds matrices and no tokenizer.", _READY)
    return of_files(place.files)


def of_files(files: Files) -> ModelTokenizer:
    """From the tokenizer files of a checkpoint; no other is fetched."""
    if "tokenizer.json" not in files.names():
        raise EmbtieError(f"'{files.name}' has no tokenizer.json.", _READY)
    path = files.path("tokenizer.json")
    check_start(path)
    try:
        with sentences(path):
            tokenizer = Tokenizer.from_file(str(path))
    except EmbtieError:
        raise
    except Exception:  # the library raises bare exceptions
        raise EmbtieError(
            f"tokenizer.json of '{files.name}' cannot be read by the tokenizers library.",
            "Download it again, or give a ready count file.",
        ) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return ModelTokenizer(tokenizer, files.name)
