"""Where embtie keeps what it can make or fetch again.

The variable EMBTIE_CACHE names a folder, or is "off".  Without it tensors go where a user sends
the hub library's downloads, to the assets of HF_HOME, if that is set; all else, and tensors too
where it is not, into the user's cache folder.
"""

import os
from pathlib import Path

import platformdirs

VARIABLE = "EMBTIE_CACHE"


def results_folder() -> Path | None:
    """For results; None for "off"."""
    chosen = os.environ.get(VARIABLE)
    if chosen == "off":
        return None
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("embtie")) / "results"


def tensors_folder() -> Path | None:
    """For tensors fetched from the hub; None for "off"."""
    chosen = os.environ.get(VARIABLE)
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen) / "tensors"
    if os.environ.get("HF_HOME"):
        from huggingface_hub.constants import HF_ASSETS_CACHE

        return Path(HF_ASSETS_CACHE) / "embtie" / "tensors"
    return Path(platformdirs.user_cache_dir("embtie")) / "tensors"


def can_keep_tensors() -> bool:
    """Whether the folder for tensors is there, or can be made, and may be written."""
    folder = tensors_folder()
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return folder is not None and os.access(folder, os.W_OK)
