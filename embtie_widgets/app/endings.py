"""Why kernels ended, in words for the page that misses one."""

from collections import OrderedDict
from dataclasses import dataclass

from embtie_widgets.app.settings import ServeSettings

_KEPT = 2000


@dataclass(frozen=True)
class Ending:
    """Why a kernel ended: a word for programs, and what a page says and advises."""

    why: str
    message: str
    hint: str


_RELOAD = "Reload the page: its address brings back the settings."
UNKNOWN = Ending(
    "unknown",
    "The kernel behind this page is not here any more; the server may have been started again.",
    _RELOAD,
)


def ending(why: str, known: ServeSettings) -> Ending:
    """The words for one of the reasons for which the doors end a kernel."""
    minutes = f"{known.idle_minutes:g} minutes"
    said = {
        "left": (
            "This page was left, and its kernel has ended to make room for others.",
            _RELOAD,
        ),
        "asleep": (
            "This page was out of reach, as while a machine sleeps, when others waited for a "
            "place, and its kernel has ended.",
            _RELOAD,
        ),
        "away": (f"This page was away for more than {minutes}, and its kernel has ended.", _RELOAD),
        "job": (
            f"This page was closed for more than {known.job_minutes:g} minutes while it computed. "
            "Its job was called off, so that others have their turn, and its kernel has ended.",
            _RELOAD,
        ),
        "pages": (
            f"You have opened {known.pages} other pages, the most that one visitor of this server "
            "may have, and the kernel of this one, which was left, has ended.",
            "Close one of the others. " + _RELOAD,
        ),
        "died": (
            "The kernel behind this page ended by itself, or was ended by the machine, as happens "
            "when memory runs out.",
            _RELOAD + " If it happens again, choose smaller models.",
        ),
        "memory": (
            f"This page held more than {known.visitor_memory:,} MiB, the most that one visitor of "
            "this server may, and its kernel has ended.",
            "Reload the page and choose smaller models or fewer tokens, or run embtie on a "
            "machine of your own.",
        ),
        "start": (
            "The kernel behind this page could not be started.",
            "Reload the page; if that does not help, the log of the server says why.",
        ),
    }
    return Ending(why, *said[why])


class Endings:
    """Why the last kernels ended, as far as one remembers."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Ending] = OrderedDict()

    def keep(self, kernel: str, told: Ending) -> None:
        """Remember why a kernel ended."""
        self._known[kernel] = told
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)

    def of(self, kernel: str) -> Ending:
        """Why it ended."""
        return self._known.get(kernel, UNKNOWN)
