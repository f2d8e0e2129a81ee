"""Quick questions about a result at hand: the neighbours of one token in every space."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.processors import share_processors
from embtie_widgets.jobs.runner import quick_executor, told
from embtie_widgets.requests import PairRequest


@dataclass(frozen=True)
class Card:
    """The neighbours of one token by matrix name: (position in the result, cosine or distance),
    the nearest first."""

    position: int
    neighbours: dict[str, list[tuple[int, float]]]


def token_card(
    request: PairRequest, position: int, k: int = 10, metric: str = "cosine", center: bool = False
) -> Card:
    """The k nearest of the matched tokens to the one at `position`, in In, Out and Tied."""
    from embtie_widgets.jobs.pairs import recent_pair
    from embtie_widgets.measures.neighbours import nearest

    found = {}
    for name, matrix in recent_pair(request).roles.values().items():
        near = nearest(matrix, position, k, metric, center)
        found[name] = list(zip(near.rows.tolist(), near.values.tolist(), strict=True))
    return Card(position, found)


def ask_card(
    request: PairRequest,
    position: int,
    answer: Callable[[Card], None],
    failed: Callable[[EmbtieError], None],
    **how: Any,
) -> None:
    """Find the card off the main thread, with the options of `token_card`, and hand it to `answer`
    there, or what went wrong to `failed`."""
    ask(partial(token_card, request, position, **how), answer, failed)


def ask(
    question: Callable[[], Any],
    answer: Callable[[Any], None],
    failed: Callable[[EmbtieError], None],
) -> None:
    """Answer a quick question off the main thread, beside whatever is running."""
    quick_executor().submit(_answer, question, answer, failed)


def _answer(
    question: Callable[[], Any],
    answer: Callable[[Any], None],
    failed: Callable[[EmbtieError], None],
) -> None:
    share_processors()
    try:
        found = question()
    except Exception as fault:
        failed(told(fault))
    else:
        answer(found)
