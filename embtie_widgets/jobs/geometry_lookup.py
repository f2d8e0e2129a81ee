"""Quick questions about a comparison at hand: a token's neighbours, the spectra of a selection."""

from collections.abc import Callable
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.lookup import Card, ask
from embtie_widgets.requests.geometry import GeometryRequest

Vector = np.ndarray[Any, np.dtype[Any]]
Failed = Callable[[EmbtieError], None]
MOST_SHOWN = 20


def neighbours_card(request: GeometryRequest, position: int) -> Card:
    """The neighbours of the token at `position` in In, Out and Tied, found as the request finds
    them: its k, up to 20, metric and centring, among the tokens that take part in every matrix."""
    from embtie_widgets.jobs.geometry_parts import recent_parts
    from embtie_widgets.measures.neighbours import nearest

    parts = recent_parts(request)
    places = parts.rows.places
    row = int(np.searchsorted(places, position))
    if row == len(places) or places[row] != position:
        return Card(position, {name: [] for name in parts.values})
    found = {}
    for name, matrix in parts.values.items():
        among = matrix if len(places) == len(matrix) else matrix[places]
        near = nearest(among, row, min(request.k, MOST_SHOWN), request.metric, request.center)
        found[name] = list(zip(places[near.rows].tolist(), near.values.tolist(), strict=True))
    return Card(position, found)


def selected_spectra(request: GeometryRequest, positions: Vector) -> dict[str, Vector]:
    """The normalised singular values of the rows of these tokens alone, by matrix; none where all
    of these rows are zero or not finite."""
    from embtie_widgets.jobs.geometry_parts import recent_parts
    from embtie_widgets.measures.participants import usable_rows
    from embtie_widgets.measures.spectra import selected_spectrum

    found = {}
    for name, matrix in recent_parts(request).values.items():
        usable, _ = usable_rows([matrix[positions]])
        known = positions[usable.numpy()]
        one = selected_spectrum(matrix, known, center=request.center) if len(known) else None
        found[name] = np.empty(0) if one is None else one.normalised
    return found


def ask_neighbours(
    request: GeometryRequest, position: int, answer: Callable[[Card], None], failed: Failed
) -> None:
    """Find the card off the main thread and hand it to `answer` there, or what went wrong to
    `failed`."""
    ask(lambda: neighbours_card(request, position), answer, failed)


def ask_spectra(
    request: GeometryRequest,
    positions: Vector,
    wanted: Callable[[], bool],
    answer: Callable[[dict[str, Vector]], None],
    failed: Failed,
) -> None:
    """Find the spectra of a selection in the same way, unless it is not `wanted` any more when its
    turn comes: while somebody draws, selections come faster than they can be answered."""
    ask(lambda: selected_spectra(request, positions) if wanted() else {}, answer, failed)
