"""No error of a callback is lost: it is shown in the page, logged, and raised under test."""

import functools
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from embtie_widgets.errors import EmbtieError, whereabouts

logger = logging.getLogger("embtie")
Show = Callable[[EmbtieError, str], None]
_PLACE: ContextVar[Show | None] = ContextVar(
    "where a control that is built now tells", default=None
)


def guard(action: Callable[..., Any], show: Show) -> Callable[..., None]:
    """The action as a callback: a fault goes to `show(error, details)` instead of nowhere.

    ipywidgets logs and drops what a callback raises, so that a page stays still and a test passes.
    """

    @functools.wraps(action)
    def guarded(*arguments: Any, **named: Any) -> None:
        try:
            with telling(show):
                action(*arguments, **named)
        except EmbtieError as error:
            show(error, "")
        except Exception as fault:
            logger.exception("a callback failed: %s", getattr(action, "__qualname__", action))
            show(_neutral(), whereabouts(fault))
            if under_test():
                raise

    return guarded


@contextmanager
def telling(show: Show) -> Iterator[None]:
    """Inside, controls are built that know nothing of the panel; what fails in them goes there."""
    before = _PLACE.set(show)
    try:
        yield
    finally:
        _PLACE.reset(before)


def told(action: Callable[..., Any]) -> Callable[..., None]:
    """The action of such a control as a callback; of one that stands alone a fault is raised."""
    show = _PLACE.get()
    return action if show is None else guard(action, show)


def under_test() -> bool:
    """Whether a test is running."""
    return "PYTEST_CURRENT_TEST" in os.environ


def _neutral() -> EmbtieError:
    return EmbtieError(
        "Something in embtie itself went wrong.",
        "What was shown before is kept; try again, or look into the log.",
    )
