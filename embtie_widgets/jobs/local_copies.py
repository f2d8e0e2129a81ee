"""What need not be downloaded any more: looked up by name in the caches, without a network."""

import os
from collections.abc import Iterable
from pathlib import Path

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.named_models import BUNDLED, model_path
from embtie_widgets.sources.place import tensors_folder

_WEIGHTS = ("*.safetensors", "*.bin", "*.gguf")


def local_refs(refs: Iterable[str], *, whole: bool = False) -> frozenset[str]:
    """Those of the references that are bundled, on the disk, or whose matrices are cached; where
    the `whole` model is meant, matrices alone do not count."""
    models, tensors = _hub_folders(), {} if whole else _folders(tensors_folder())
    return frozenset(ref for ref in refs if _is_here(ref, models, tensors))


def _is_here(ref: str, whole: dict[str, Path], tensors: dict[str, Path]) -> bool:
    name = f"models--{ref.replace('/', '--')}"
    if name in tensors and any(tensors[name].glob("*.safetensors")):
        return not any(tensors[name].glob("*.part"))
    if name in whole:
        return any(any(whole[name].glob(f"snapshots/*/{kind}")) for kind in _WEIGHTS)
    return on_disk(ref)


def on_disk(ref: str) -> bool:
    """Whether the reference is bundled or the path of something that may be opened; no name is too
    odd to ask."""
    try:
        return ref in BUNDLED or os.path.exists(model_path(ref))
    except EmbtieError:
        return False


def _hub_folders() -> dict[str, Path]:
    # The constants alone: the library's own look-up takes a third of a second to import.
    from huggingface_hub import constants

    return _folders(Path(constants.HF_HUB_CACHE))


def _folders(place: Path | None) -> dict[str, Path]:
    try:
        return {} if place is None else {path.name: path for path in place.iterdir()}
    except OSError:
        return {}
