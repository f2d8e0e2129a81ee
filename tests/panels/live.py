"""A panel on real jobs that is stopped while its result grows, as by a press on Cancel."""

import threading
from collections.abc import Callable

from embtie_widgets.errors import Cancelled
from embtie_widgets.panels.frame import Panel

LONG = 120


def stopped_while_growing(panel: Panel, enough: Callable[[], bool]) -> None:
    """Start the panel's request, and cancel it once `enough`, which is asked whenever an unfinished
    result is on the page, says so; return when the job has ended."""
    grown = threading.Event()

    def follow(_change: object) -> None:
        if panel.state.unfinished and not grown.is_set() and enough():
            grown.set()
            panel.cancel()

    panel.state.observe(follow, "result")
    answer = panel.start()
    assert grown.wait(LONG)
    assert answer.event.wait(LONG)
    assert isinstance(answer.error, Cancelled)
    panel.state.unobserve(follow, "result")
