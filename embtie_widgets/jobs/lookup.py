"""Quick questions about a result at hand: the neighbours of one token in every space."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

from embtie_widgets.requests import AlignRequest


@dataclass(frozen=True)
class Card:
    """The neighbours of one token by matrix name: (position in the result, cosine), the nearest
    first."""

    position: int
    neighbours: dict[str, list[tuple[int, float]]]


def token_card(request: AlignRequest, position: int, k: int = 10) -> Card:
    """The k nearest of the matched tokens to the one at `position`, in In, Out and Tied."""
    from embtie_widgets.jobs.pairs import recent_pair
    from embtie_widgets.measures.neighbours import nearest

    found = {}
    for name, matrix in recent_pair(request).roles.values().items():
        near = nearest(matrix, position, k)
        found[name] = list(zip(near.rows.tolist(), near.values.tolist(), strict=True))
    return Card(position, found)


def ask_card(request: AlignRequest, position: int, answer: Callable[[Card], None]) -> None:
    """Find the card off the main thread and hand it to `answer` there; faults go to the log."""
    _quick().submit(_answer, request, position, answer)


def _answer(request: AlignRequest, position: int, answer: Callable[[Card], None]) -> None:
    from embtie_widgets.jobs.runner import logger

    try:
        answer(token_card(request, position))
    except Exception:
        logger.exception("a token card failed")


@lru_cache(maxsize=1)
def _quick() -> ThreadPoolExecutor:
    """A worker of its own, so that a click is answered while a long job runs."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="embtie-quick")
