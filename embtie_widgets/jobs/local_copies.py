"""What need not be downloaded any more: looked up by name in the caches, without a network."""

from collections.abc import Iterable
from pathlib import Path

BUNDLED = ("nano-tied", "nano-untied")
_WEIGHTS = ("*.safetensors", "*.bin", "*.gguf")


def local_refs(refs: Iterable[str]) -> frozenset[str]:
    """Those of the references that are bundled, on the disk, or whose weights are cached."""
    cached = _cached_folders()
    return frozenset(ref for ref in refs if ref in BUNDLED or _is_here(ref, cached))


def _is_here(ref: str, cached: dict[str, Path]) -> bool:
    folder = cached.get(f"models--{ref.replace('/', '--')}")
    if folder is not None:
        return any(any(folder.glob(f"snapshots/*/{kind}")) for kind in _WEIGHTS)
    return Path(ref).exists()


def _cached_folders() -> dict[str, Path]:
    # The constants alone: the library's own look-up takes a third of a second to import.
    from huggingface_hub import constants

    try:
        return {path.name: path for path in Path(constants.HF_HUB_CACHE).iterdir()}
    except OSError:
        return {}
