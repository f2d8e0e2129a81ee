"""Something to see while the exact answer is under way: a cheaper run comes first, or the answer
itself is shown as it grows.

Which request the cheaper one is, its kind says (`Kind.preview`).  Its result is kept under that
request and never as an answer to the exact one.  What grows is handed on by the work itself
(`progress.hand_on`), as often as it likes, and is kept nowhere.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from embtie_widgets.errors import Cancelled
from embtie_widgets.jobs import run as doors
from embtie_widgets.jobs.turn import Turn, in_turn, is_short
from embtie_widgets.progress import Progress
from embtie_widgets.requests import Request

# An exact run of less than this is waited for.
WORTH_SECONDS = 2.0
_LOOKING = "looking for an earlier result"


@dataclass(frozen=True)
class Preview:
    """The result of `request`, shown until that of the exact one, `of`, is there.

    Where both are one, it is what there is so far of the answer itself.
    """

    of: Request
    request: Request
    result: Any

    @property
    def partial(self) -> bool:
        """Whether it is an unfinished answer, and no finished one to a cheaper request."""
        return self.request == self.of


Tell = Callable[[Preview], None]


def run_with_preview(
    request: Request, progress: Progress, tell: Tell, failed: Callable[[Exception], Any]
) -> Any:
    """The result of a request, after its preview was told where one is worth the time.

    A preview that goes wrong goes to `failed` and keeps nothing back.
    """
    sketch = doors.preview(request)
    if sketch is None:
        return in_turn(request, progress)
    with Turn(request, progress) as turn:
        try:
            _run_preview(request, sketch, turn, tell)
        except Cancelled:
            raise
        except Exception as fault:
            failed(fault)
        turn.take()
        return doors.run(request, progress=turn.progress)


def look_with_preview(request: Request, progress: Progress, tell: Tell) -> Any | None:
    """What an earlier run has left; where that is nothing, a preview that was left is told."""
    progress(_LOOKING, 0, 1)
    found = doors.look(request)
    sketch = doors.preview(request) if found is None else None
    if sketch is not None and _is_worth_it(request):
        kept = doors.look(sketch)
        if kept is not None:
            tell(Preview(request, sketch, kept))
    return found


def _run_preview(request: Request, sketch: Request, turn: Turn, tell: Tell) -> None:
    turn.progress(_LOOKING, 0, 1)
    # This opens the models where they are at hand, and the cost is known from then on.
    if doors.look(request) is None and _is_worth_it(request):
        if not is_short(sketch):
            turn.take()
        with turn.briefly():
            result = doors.run(sketch, progress=_of_preview(turn.progress))
        tell(Preview(request, sketch, result))


def _is_worth_it(request: Request) -> bool:
    cost = doors.estimate(request)
    return cost is None or cost.seconds >= WORTH_SECONDS


def _of_preview(progress: Progress) -> Progress:
    return lambda stage, done, total: progress(f"preview: {stage}", done, total)
