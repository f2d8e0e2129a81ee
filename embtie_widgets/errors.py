"""The one error that users see: what was given, what was expected, what to do next."""

import re
import traceback
from pathlib import Path

# Signs that steer a terminal or turn the direction of writing; a file's name may hold them.
_STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class EmbtieError(Exception):
    """A fault that the user can act on.

    `message` says what was given and what was expected, `hint` what to do next.  Both are safe
    to show on a shared page: no path beyond a file's own name, no token, no traceback.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        message, hint = (_STEERING.sub(_escaped, text) for text in (message, hint))
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


def _escaped(sign: re.Match[str]) -> str:
    return sign[0].encode("unicode_escape").decode()


class Interrupted(EmbtieError):  # noqa: N818 - the files are not at fault
    """The work was broken off from outside: the network, the disk, the user.  Another try may go
    through, so nothing is concluded from it about the model."""


class Cancelled(Interrupted):
    """The user stopped the work; nothing is wrong."""

    def __init__(self) -> None:
        super().__init__("Cancelled.", "The earlier result is kept.")


def whereabouts(fault: BaseException) -> str:
    """The kind of a fault and the places in embtie it came through: no path, no message.

    The message of a foreign error may hold a path, a token or markup; its kind may not.
    """
    package = Path(__file__).parent
    places = [
        f"{Path(frame.filename).relative_to(package).as_posix()}, line {frame.lineno}"
        for frame in traceback.extract_tb(fault.__traceback__)
        if Path(frame.filename).is_relative_to(package)
    ]
    return "\n".join([type(fault).__name__, *places])
