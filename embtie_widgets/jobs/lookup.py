"""Quick questions about a result at hand: the neighbours of one token in every space."""

from collections.abc import Callable
from dataclasses import dataclass

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.processors import share_processors
from embtie_widgets.jobs.runner import quick_executor, told
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


def ask_card(
    request: AlignRequest,
    position: int,
    answer: Callable[[Card], None],
    failed: Callable[[EmbtieError], None],
) -> None:
    """Find the card off the main thread and hand it to `answer` there, or what went wrong to
    `failed`."""
    quick_executor().submit(_answer, request, position, answer, failed)


def _answer(
    request: AlignRequest,
    position: int,
    answer: Callable[[Card], None],
    failed: Callable[[EmbtieError], None],
) -> None:
    share_processors()
    try:
        card = token_card(request, position)
    except Exception as fault:
        failed(told(fault))
    else:
        answer(card)
