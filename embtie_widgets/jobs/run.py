"""The doors from a description of work to its result; none of them loads torch by itself.

What a visitor of a public page may not ask for is refused at each of them.
"""

from typing import Any

from embtie_widgets.jobs import shipped
from embtie_widgets.jobs.deadline import bounded
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import Request, read_request
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.sources import bounds


def run(request: "Request | dict[str, Any] | str", *, progress: Progress = silent) -> Any:
    """The result of a request, given as itself, as JSON (object or text) or as a file's path."""
    known = read_request(request)
    bounds.check(known)
    found = shipped.found(known)
    return KINDS[known.kind].part("run")(known, bounded(progress)) if found is None else found


def look(request: Request) -> Any:
    """The result that an earlier run has left; None where there is none, or it cannot be told."""
    bounds.check(request)
    found = shipped.found(request)
    return KINDS[request.kind].part("look")(request) if found is None else found


def preview(request: Request) -> Request | None:
    """The cheaper request whose result is shown while this one is under way, None without one."""
    found: Request | None = KINDS[request.kind].part("preview")(request)
    return found


def first(request: Request) -> Any:
    """The result that ships with the package, None for all requests but a few; at once."""
    return KINDS[request.kind].part("first")(request)


def estimate(request: Request) -> Any:
    """What a run would cost: its `Estimate`, None while nothing can be said; an EmbtieError for
    what may not be asked for."""
    bounds.check(request)
    return KINDS[request.kind].part("estimate")(request)
