"""Pictures that a page is asked for: one page or none may answer, and so may several views."""

import threading
from collections.abc import Callable
from itertools import count

_HIDDEN_SECONDS = 1.0
_NO_PAGE = "No page with this chart has answered; try again there."
_HIDDEN = "The chart is not on the page."


class Pictures:
    """Each request is answered once: by the first view that has a picture, else by a sentence."""

    def __init__(self) -> None:
        self._asked: dict[int, tuple[Callable[[bytes], None], Callable[[str], None]]] = {}
        self._numbers = count()

    def ask(
        self, done: Callable[[bytes], None], failed: Callable[[str], None], patience: float
    ) -> int:
        """The number of a new request; `failed` gets a sentence after `patience` seconds."""
        request = next(self._numbers)
        self._asked[request] = (done, failed)
        self._give_up(request, patience, _NO_PAGE)
        return request

    def take(self, request: int, picture: bytes) -> None:
        """A view has made the picture; what a second view sends is not heard."""
        done, _ = self._asked.pop(request, (None, None))
        if done is not None:
            done(picture)

    def fail(self, request: int, why: str = _HIDDEN) -> None:
        """There will be no picture."""
        _, failed = self._asked.pop(request, (None, None))
        if failed is not None:
            failed(why)

    def hidden(self, request: int) -> None:
        """A view that is not on screen was asked: another may be, and takes a moment."""
        self._give_up(request, _HIDDEN_SECONDS, _HIDDEN)

    def _give_up(self, request: int, seconds: float, why: str) -> None:
        late = threading.Timer(seconds, self.fail, (request, why))
        late.daemon = True
        late.start()
