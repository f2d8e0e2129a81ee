"""How long a job of a public page may go on."""

from time import monotonic
from typing import Any

from embtie_widgets.errors import Interrupted
from embtie_widgets.progress import Progress
from embtie_widgets.sources.bounds import JOB_SECONDS
from embtie_widgets.sources.permission import is_public


def bounded(progress: Progress) -> Progress:
    """The progress, which on a public page breaks the work off once it has gone on for too long."""
    return _Deadline(progress) if is_public() else progress


class _Deadline:
    """What else the progress can do, such as `partial`, it can still."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._end = progress, monotonic() + JOB_SECONDS

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Tell of the work, or break it off."""
        if monotonic() > self._end:
            raise Interrupted(
                f"On a public page a job takes at most {JOB_SECONDS // 60} minutes, and this one "
                "is not done.",
                "Ask for less, or run embtie yourself, which has no such bound.",
            )
        self._progress(stage, done, total)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._progress, name)
