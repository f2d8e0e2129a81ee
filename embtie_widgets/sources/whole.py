"""A model's files as a whole: what they are, what they weigh, and the model that they make."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources import configuration, language_model, weights
from embtie_widgets.sources.checkpoint import Checkpoint
from embtie_widgets.sources.config_faults import unfilled
from embtie_widgets.sources.files import optional_json
from embtie_widgets.sources.folder import layout_of
from embtie_widgets.sources.hub_files import HubFiles
from embtie_widgets.sources.language_model import Described, headless
from embtie_widgets.sources.load import Place, find, is_gguf
from embtie_widgets.sources.loaded import TIED, UNTIED, Loaded
from embtie_widgets.sources.placing import Placing
from embtie_widgets.sources.sourced import plain_config
from embtie_widgets.sources.weights import Size

Built = tuple[Any, Mapping[str, Any]]
_WHOLE = "Name a bundled model, a Hugging Face folder, a GGUF file or a hub id."
_LACK = 1.02
"""More than the files hold by so much is not what a configuration may ask for."""


class Whole(Protocol):
    """A model's files, of whatever kind.

    commit    at the hub; None elsewhere
    stamp     what changes when the files do
    size      by headers
    can_wait  whether weights can wait on disk
    """

    name: str
    commit: str | None
    stamp: Any
    size: Size
    can_wait: bool

    def now(self) -> Any:
        """The stamp that the files would have now."""

    def to_fetch(self) -> int:
        """How many bytes have to come from the hub."""

    def shape(self) -> tuple[int, int, int]:
        """Rows and width of the embedding and the number of blocks, by headers; 0 where these do
        not say."""

    def fetch(self) -> None:
        """Bring here what is not."""

    def hash(self, progress: Progress = silent) -> str:
        """sha256 over configuration and weights."""

    def check(self, loaded: Loaded) -> None:
        """An EmbtieError where the matrices have no head, or the files less than the model."""

    def build(
        self,
        loaded: Loaded,
        placing: Placing,
        folder: Path | None,
        progress: Progress,
        stage: str,
    ) -> Built:
        """The model, and what the library tells of its making."""


def find_whole(ref: ModelRef, progress: Progress = silent) -> Whole:
    """The whole model that a reference names, judged by configuration and headers alone."""
    if ref.output_file is not None:
        raise _no_whole(Path(ref.ref).name)
    found = find(ref.ref, ref.revision, progress)
    if isinstance(found, Place):
        return Folder(found, as_tied=ref.treat_as_tied)
    if not is_gguf(found):
        raise _no_whole(found.name)
    # The reader is heavy to import and few need it.
    from embtie_widgets.sources.whole_gguf import GgufModel

    return GgufModel(found)


class Folder:
    """A checkpoint in a folder or on the hub."""

    can_wait = True

    def __init__(self, found: Place, as_tied: bool) -> None:
        if found.snapshot is not None and not found.snapshot.path.is_dir():
            raise _no_whole(f"{found.files.name}, {found.snapshot.name}")
        self._files, self.name = found.files, found.files.name
        self.commit = found.revision if isinstance(found.files, HubFiles) else None
        config = plain_config(optional_json(found.files, "config.json"))
        self._config, self._as_tied = config, as_tied
        self._described = language_model.described(config, self.name)
        self._checkpoint = Checkpoint(found.files)
        self.size = weights.size_of(self._checkpoint, self.name)
        self._check_blocks()
        self.stamp = self.now()

    def now(self) -> Any:
        """The commit at the hub, else what file names, sizes and times say."""
        names = ("config.json", *self._checkpoint.files())
        return self.commit or weights.stamp([self._files.path(name) for name in names])

    def to_fetch(self) -> int:
        """How many bytes of weights have to come from the hub."""
        files = self._files
        names = self._checkpoint.files()
        return files.whole_to_fetch(names) if isinstance(files, HubFiles) else 0

    def shape(self) -> tuple[int, int, int]:
        """Rows and width of the embedding and the number of blocks, by headers; 0 where these do
        not say."""
        found = layout_of(self._config, self._checkpoint).input
        stored = self._checkpoint[found] if found is not None else None
        rows, width = stored if stored is not None and len(stored) == 2 else (0, 0)
        return rows, width, configuration.layer_count(self._config) or 0

    def fetch(self) -> None:
        """Every weights file, from the hub."""
        self._checkpoint = weights.fetch_whole(self._files, self._checkpoint)

    def hash(self, progress: Progress = silent) -> str:
        """sha256 over configuration and weights files, the same wherever they lie."""
        return weights.files_hash(self._files, self._checkpoint, progress)

    def check(self, loaded: Loaded) -> None:
        """An EmbtieError where the matrices have no head, or the files less than the model."""
        check_head(loaded, self.name)
        self._described = _as_stored(self._described, loaded)
        check_size(self._described, self.size, self.name)

    def build(
        self,
        loaded: Loaded,
        placing: Placing,
        folder: Path | None,
        progress: Progress,
        stage: str,
    ) -> Built:
        """The model, filled from the files' own tensors."""
        stays = placing.device.type == "cpu" and not placing.disk
        kept = placing.dtype if stays else None
        state = weights.read_all(self._checkpoint, kept=kept, progress=progress, stage=stage)
        return from_pretrained(self._described, placing, folder, self.name, state_dict=state)

    def _check_blocks(self) -> None:
        """Before anything is built: each block has at least one tensor, and there is a head."""
        blocks = configuration.layer_count(self._config) or 0
        if blocks > self.size.tensors:
            raise EmbtieError(
                f"The configuration of '{self.name}' names {blocks:,} blocks, but its files hold "
                f"{self.size.tensors:,} tensors.",
                "Download configuration and weights again: they are not of one model.",
            )
        layout = layout_of(self._config, self._checkpoint)
        tied = layout.has_head and configuration.says_tied(self._config)
        if layout.output is None and not (tied or self._as_tied):
            raise headless(self.name)


def from_pretrained(
    described: Described, placing: Placing, folder: Path | None, name: str, **source: Any
) -> Built:
    """transformers' own way to a model, with no place to look for anything else."""
    mapped = placing.memory is not None
    way: Any = "sequential" if mapped else {"": placing.device}
    try:
        model, told = described.kind.from_pretrained(
            source.pop("path", None),
            config=described.config,
            dtype=placing.dtype,
            device_map=way,
            max_memory=placing.memory,
            offload_folder=None if folder is None else str(folder),
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            local_files_only=True,
            trust_remote_code=False,
            **source,
        )
    except EmbtieError:
        raise
    except (MemoryError, torch.OutOfMemoryError):
        raise EmbtieError(
            f"The memory was used up while '{name}' was opened; other work took it meanwhile.",
            "Close what else is open, or choose a smaller model or precision.",
        ) from None
    except Exception as fault:  # damaged weights make the library stumble over almost anything
        raise unfilled(described.config.to_dict(), described.name, name, fault) from None
    return model, told


def check_size(described: Described, size: Size, name: str) -> None:
    """Before memory is taken: a model asks for no more numbers than its files hold."""
    from embtie_widgets.sources.config_model import sensible

    with sensible(described.config.to_dict()), torch.device("meta"):
        built = described.kind(described.config)
    asked = sum(parameter.numel() for parameter in built.parameters())
    if asked > _LACK * size.numbers + 4096:
        raise EmbtieError(
            f"A {described.name} of the sizes in the configuration of '{name}' has {asked:,} "
            f"weights, but its files hold {size.numbers:,}.",
            "Download configuration and weights again: they are not of one whole model.",
        )


def _as_stored(described: Described, loaded: Loaded) -> Described:
    """What the files hold decides whether the model is tied, whatever its configuration says."""
    tied = loaded.tied == TIED
    says = bool(getattr(described.config, "tie_word_embeddings", False))
    if tied == says or (tied and loaded.stored_copies > 1):
        return described
    for level in {
        id(c): c for c in (described.config, described.config.get_text_config())
    }.values():
        level.tie_word_embeddings = tied
    return described


def check_head(loaded: Loaded, name: str) -> None:
    """An EmbtieError where there is no output matrix to read states with."""
    if loaded.tied in (TIED, UNTIED):
        return
    if loaded.tied == "head unavailable":
        why = next((note for note in loaded.notes if note), "")
        raise EmbtieError(
            f"The output matrix of '{name}' cannot be used, so it gives no next tokens. {why}",
            "Complete the download, or choose the checkpoint in float32, bfloat16 or float16.",
        )
    raise headless(name)


def check_live(model: Any, name: str) -> None:
    """An EmbtieError where a model in memory is no decoder of transformers."""
    config = getattr(model, "config", None)
    if not (hasattr(config, "get_text_config") and hasattr(model, "get_output_embeddings")):
        raise EmbtieError(
            f"A {type(model).__name__} is no model of transformers, so it cannot be run here.",
            "Give a model made by transformers, with its language-model head.",
        )
    language_model.refuse_others(config, name)


def _no_whole(name: str) -> EmbtieError:
    return EmbtieError(f"'{name}' holds matrices, not a whole model that could be run.", _WHOLE)
