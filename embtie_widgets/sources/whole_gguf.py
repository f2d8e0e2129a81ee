"""A GGUF file as a whole model: transformers reads it, packed weights turned to plain numbers."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.sources import language_model, weights
from embtie_widgets.sources.gguf_file import for_others, gguf_shapes, gguf_size
from embtie_widgets.sources.language_model import Described
from embtie_widgets.sources.library import transformers
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.placing import Placing
from embtie_widgets.sources.quiet import replaced, told
from embtie_widgets.sources.weights import Size
from embtie_widgets.sources.whole import Built, check_head, check_size, from_pretrained

_FILE = "model.gguf"
_INPUT = "token_embd.weight"


class GgufModel:
    """One GGUF file."""

    commit: str | None = None
    can_wait = False  # transformers keeps none of its weights on disk

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, path.name
        self.size = Size(*gguf_size(path))
        self.stamp = self.now()

    def now(self) -> Any:
        """What the file's size and time say."""
        return weights.stamp([self._path])

    def to_fetch(self) -> int:
        """Nothing: it is here."""
        return 0

    def shape(self) -> tuple[int, int, int]:
        """Rows and width of the embedding and the number of blocks; 0 where it does not say."""
        shapes, _ = gguf_shapes(self._path)
        rows, width = shapes.get(_INPUT, (0, 0))
        blocks = {name.split(".")[1] for name in shapes if name.startswith("blk.")}
        return rows, width, len(blocks)

    def fetch(self) -> None:
        """It is here."""

    def hash(self, progress: Progress = silent) -> str:
        """sha256 of the file."""
        return weights.file_hash(self._path, progress)

    def check(self, loaded: Loaded) -> None:
        """An EmbtieError where the matrices have no head."""
        check_head(loaded, self.name)

    def build(
        self,
        loaded: Loaded,
        placing: Placing,
        folder: Path | None,
        progress: Progress,
        stage: str,
    ) -> Built:
        """The model that transformers makes of the file's own description and weights."""
        from transformers import modeling_gguf_pytorch_utils as reading

        # The only bar that does not come from the library's own maker of bars.
        bars = replaced(reading, "tqdm", told(progress, stage))
        with _alone(self._path) as place, bars, for_others():
            described = self._described(place)
            check_size(described, self.size, self.name)
            return from_pretrained(
                described, placing, folder, self.name, path=place, gguf_file=_FILE, **_plainly()
            )

    def _described(self, place: str) -> Described:
        try:
            config = transformers().AutoConfig.from_pretrained(
                place, gguf_file=_FILE, local_files_only=True, trust_remote_code=False
            )
        except Exception as fault:  # whatever the file's fields make it stumble over
            raise EmbtieError(
                f"transformers does not read the kind of model that {self.name} holds "
                f"({type(fault).__name__}).",
                "Name the model's Hugging Face folder or hub id instead.",
            ) from None
        return Described(language_model.decoder_class(config, None, self.name), config)


def _plainly() -> dict[str, Any]:
    """Later releases of transformers keep weights packed where they can, unless told not to."""
    kind = getattr(transformers(), "GgufConfig", None)
    return {} if kind is None else {"quantization_config": kind(dequantize=True)}


@contextmanager
def _alone(path: Path) -> Iterator[str]:
    """A folder with the file and nothing beside it that the library might take for a part."""
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / _FILE
        for way in (os.symlink, os.link):
            try:
                way(path.resolve(), link)
                break
            except OSError:  # not on every system, not for everybody
                continue
        else:
            raise EmbtieError(
                f"{path.name} cannot be linked into a folder of its own.",
                "Copy it to the disk that holds the folder for temporary files.",
            )
        yield folder
