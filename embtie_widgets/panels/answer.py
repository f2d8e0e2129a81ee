"""What the runner tells of one run, on its way into a panel."""

import threading
from collections.abc import Callable

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs.previews import Preview
from embtie_widgets.jobs.runner import Outcome, Stage

Word = Stage | Preview | Outcome


class Answer:
    """Hears of one run on a worker's thread and passes it on in the panel's turn; `event` is set
    once the end of it was taken in.

    `post` carries an action out in that turn, `hear` takes this answer and what it has heard.  Of
    previews one at most waits for its turn: a newer one takes the place of it.
    """

    def __init__(
        self,
        post: Callable[[Callable[[], None]], None],
        hear: Callable[["Answer", Word], None],
    ) -> None:
        self._post, self._hear = post, hear
        self.event = threading.Event()
        self.error: EmbtieError | None = None
        self._preview: Preview | None = None
        self._lock = threading.Lock()

    def progressed(self, stage: Stage) -> None:
        """The job has come so far."""
        self._post(lambda: self._hear(self, stage))

    def previewed(self, preview: Preview) -> None:
        """There is something to show already."""
        with self._lock:
            waiting, self._preview = self._preview is not None, preview
        if not waiting:
            self._post(self._show_preview)

    def _show_preview(self) -> None:
        with self._lock:
            preview, self._preview = self._preview, None
        if preview is not None:
            self._hear(self, preview)

    def finished(self, outcome: Outcome) -> None:
        """The job has ended."""
        self.error = Cancelled() if outcome.cancelled else outcome.error

        def in_turn() -> None:
            try:
                self._hear(self, outcome)
            finally:
                self.event.set()

        self._post(in_turn)
