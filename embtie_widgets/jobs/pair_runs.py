"""How a request about a pair is run: opened, looked up, and measured where nothing was kept."""

from collections.abc import Callable
from typing import Any

from embtie_widgets.jobs.cache import entry_key, kept_or_made, latest, recall
from embtie_widgets.jobs.pairs import OpenPair, is_here, open_pair
from embtie_widgets.jobs.shipped import remember
from embtie_widgets.progress import Progress
from embtie_widgets.requests import PairRequest
from embtie_widgets.sources.hub import is_hub_id


def kept_of(
    request: PairRequest, pair: OpenPair, progress: Progress, measure: Callable[[], Any]
) -> Any:
    """The result kept for this request and these very matrices, else what `measure` makes."""
    progress("looking for an earlier result", 0, 1)
    result = kept_or_made(request, pair.fingerprint, measure)
    remember(request, entry_key(request, pair.fingerprint))
    return result


def look_up(request: PairRequest) -> Any | None:
    """What an earlier run has left.  Models on this machine are opened and hashed; for those on
    the hub, which would be downloaded first, the result that came last is taken."""
    if is_here(request.a) and is_here(request.b):
        pair = open_pair(request)
        return recall(entry_key(request, pair.fingerprint))
    on_hub = [ref.ref for ref in (request.a, request.b) if not is_here(ref)]
    return latest(request) if all(map(is_hub_id, on_hub)) else None
