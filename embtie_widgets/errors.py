"""The one error that users see: what was given, what was expected, what to do next."""


class EmbtieError(Exception):
    """A fault that the user can act on.

    `message` says what was given and what was expected, `hint` what to do next.  Both are safe
    to show on a shared page: no path beyond a file's own name, no token, no traceback.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class Interrupted(EmbtieError):  # noqa: N818 - the files are not at fault
    """The work was broken off from outside: the network, the disk, the user.  Another try may go
    through, so nothing is concluded from it about the model."""


class Cancelled(Interrupted):
    """The user stopped the work; nothing is wrong."""

    def __init__(self) -> None:
        super().__init__("Cancelled.", "The earlier result is kept.")
