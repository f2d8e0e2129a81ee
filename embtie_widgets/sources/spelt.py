"""References that people paste, and how they are rightly written."""

import difflib
import re
from collections.abc import Collection
from urllib.parse import unquote

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import hub

_ADDRESS = re.compile(r"https?://|(www\.)?(huggingface\.co|hf\.co)/", re.IGNORECASE)
_AT = {"tree", "blob", "resolve", "commit", "raw"}


def misspelt(ref: str) -> EmbtieError | None:
    """What to say of an address, of `model@revision` and of a slash at the end; None elsewhere.

    Nothing is spelt out but an id of the hub and a revision: an address may hold a secret.
    """
    if _ADDRESS.match(ref):
        return EmbtieError("An address was given instead of a model's name.", _of_address(ref))
    name, at, revision = ref.partition("@")
    if at and hub.is_hub_id(name) and _is_revision(revision):
        told = f"No folder or file is called '{name}@{revision}', and no id of the hub has an '@'."
        return EmbtieError(told, _right(name, revision))
    bare = ref.rstrip("/")
    if bare != ref and hub.is_hub_id(bare):
        told = f"There is no folder '{bare}' here, and no id of the hub ends in a slash."
        return EmbtieError(told, _right(bare, ""))
    return None


def nearest(ref: str, names: Collection[str]) -> str:
    """A question after the name that was probably meant; empty where none is near."""
    close = difflib.get_close_matches(ref.lower(), names, n=1, cutoff=0.75)
    return f"Did you mean {close[0]}?" if close else ""


def _of_address(ref: str) -> str:
    _host, *rest = re.split(r"[?#]", ref)[0].split("://")[-1].split("/")
    parts = [unquote(part) for part in rest if part]
    name = "/".join(parts[:2])
    if len(parts) < 2 or not hub.is_hub_id(name):
        return "Write the model's name on the hub, such as EleutherAI/pythia-70m."
    revision = parts[3] if len(parts) > 3 and parts[2] in _AT else ""
    return _right(name, revision if _is_revision(revision) and revision != "main" else "")


def _right(name: str, revision: str) -> str:
    return f"Write '{name}'" + (f", and its revision apart: '{revision}'." if revision else ".")


def _is_revision(text: str) -> bool:
    return re.fullmatch(r"[\w.][\w./-]{0,200}", text, re.ASCII) is not None
