"""Results about the models that ship with the package, found again without opening these.

Every visitor of a page begins with them, and their files are the same for all.  Opening them takes
torch, two seconds of a processor and 130 MB in each kernel: too much where an earlier run, of
whatever kernel, has left the result.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from embtie_widgets.jobs.cache import latest, note
from embtie_widgets.requests import AlignRequest, GeometryRequest, ModelRef, PairRequest, Request
from embtie_widgets.sources.named_models import BUNDLED

_MODELS = Path(__file__).parents[1] / "data" / "nano"
# Of these kinds a result rests on the two models alone, and on no text.
_KINDS = (AlignRequest, GeometryRequest)


def found(request: Request) -> Any | None:
    """The result that an earlier run has left; None where there is none, or not such models."""
    stamp = _stamp(request)
    return None if stamp is None else latest(request, stamp)


def remember(request: PairRequest, key: str) -> None:
    """Say which entry of the cache answers the request as long as the models are as they are."""
    stamp = _stamp(request)
    if stamp is not None:
        note(request, key, stamp)


def _stamp(request: Request) -> dict[str, str] | None:
    """What the shipped models of a request are known by, None where it asks for others."""
    if not isinstance(request, _KINDS):
        return None
    refs = {request.a, request.b}
    if any(ref.ref not in BUNDLED or ref != ModelRef(ref.ref) for ref in refs):
        return None
    return {file: facts for ref in refs for file, facts in _files(ref.ref)}


def _files(name: str) -> Iterator[tuple[str, str]]:
    for file in sorted((_MODELS / name).iterdir()):
        known = file.stat()
        yield f"{name}/{file.name}", f"{known.st_size} {known.st_mtime_ns}"
