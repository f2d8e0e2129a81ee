"""Running any request: the one door from a description of work to its result."""

from collections.abc import Callable
from typing import Any

from embtie_widgets.jobs.align import run_align
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import AlignRequest, Request, read_request
from embtie_widgets.results import PairAlignment

RUNNERS: dict[str, Callable[[Any, Progress], PairAlignment]] = {AlignRequest.kind: run_align}


def run(request: "Request | dict[str, Any] | str", *, progress: Progress = silent) -> PairAlignment:
    """The result of a request, given as itself, as JSON (object or text) or as a file's path."""
    known = read_request(request)
    return RUNNERS[known.kind](known, progress)
