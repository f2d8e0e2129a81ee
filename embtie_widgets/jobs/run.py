"""The doors from a description of work to its result; none of them loads torch by itself."""

from typing import Any

from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import Request, read_request
from embtie_widgets.requests.kinds import KINDS


def run(request: "Request | dict[str, Any] | str", *, progress: Progress = silent) -> Any:
    """The result of a request, given as itself, as JSON (object or text) or as a file's path."""
    known = read_request(request)
    return KINDS[known.kind].part("run")(known, progress)


def look(request: Request) -> Any:
    """The result that an earlier run has left; None where there is none, or it cannot be told."""
    return KINDS[request.kind].part("look")(request)


def preview(request: Request) -> Request | None:
    """The cheaper request whose result is shown while this one is under way, None without one."""
    found: Request | None = KINDS[request.kind].part("preview")(request)
    return found


def first(request: Request) -> Any:
    """The result that ships with the package, None for all requests but a few; at once."""
    return KINDS[request.kind].part("first")(request)


def estimate(request: Request) -> Any:
    """What a run would cost: its `Estimate`, None while nothing can be said."""
    return KINDS[request.kind].part("estimate")(request)
