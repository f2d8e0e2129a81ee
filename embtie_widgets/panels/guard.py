"""No error of a callback is lost: it is shown in the page, logged, and raised under test."""

import functools
import logging
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError

logger = logging.getLogger("embtie")
Show = Callable[[EmbtieError, str], None]


def guard(action: Callable[..., Any], show: Show) -> Callable[..., None]:
    """The action as a callback: a fault goes to `show(error, details)` instead of nowhere.

    ipywidgets logs and drops what a callback raises, so that a page stays still and a test passes.
    """

    @functools.wraps(action)
    def guarded(*arguments: Any, **named: Any) -> None:
        try:
            action(*arguments, **named)
        except EmbtieError as error:
            show(error, "")
        except Exception as fault:
            logger.exception("a callback failed: %s", getattr(action, "__qualname__", action))
            show(_neutral(), whereabouts(fault))
            if under_test():
                raise

    return guarded


def under_test() -> bool:
    """Whether a test is running."""
    return "PYTEST_CURRENT_TEST" in os.environ


def whereabouts(fault: BaseException) -> str:
    """The kind of a fault and the places in embtie it came through: no path, no message.

    The message of a foreign error may hold a path, a token or markup; its kind may not.
    """
    package = Path(__file__).parents[1]
    places = [
        f"{Path(frame.filename).relative_to(package).as_posix()}, line {frame.lineno}"
        for frame in traceback.extract_tb(fault.__traceback__)
        if Path(frame.filename).is_relative_to(package)
    ]
    return "\n".join([type(fault).__name__, *places])


def _neutral() -> EmbtieError:
    return EmbtieError(
        "Something in embtie itself went wrong.",
        "What was shown before is kept; try again, or look into the log.",
    )
