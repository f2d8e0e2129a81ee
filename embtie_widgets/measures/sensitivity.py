"""How much worse a way of training gets away from its best learning rate."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError

_LARGEST = float(np.finfo(np.float64).max)


def learning_rate_sensitivity(losses: Any, initial_loss: float) -> float:
    """The mean excess over the best loss, over the n learning rates of `losses` (n,).

    From 0, for one loss at all rates, to (initial_loss - best) times n/(n - 1); in the unit of the
    losses.  A loss counts for at most `initial_loss`, that of a model before training; one that is
    NaN or infinite counts as that.  The sum is divided by n - 1, as the best one adds nothing.
    Fewer than two losses are refused, as is one that is no number: what is not known is to be left
    out.  Source: Output Embedding Centering, after Wortsman et al. 2023.
    """
    known = _vector(losses)
    if not (isinstance(initial_loss, int | float | np.number) and 0 < initial_loss <= _LARGEST):
        raise EmbtieError(
            f"initial_loss is {str(initial_loss)[:40]}; expected a finite number above 0.",
            "Give the loss before training; of equal guesses at V tokens it is log(V).",
        )
    if len(known) < 2:
        raise EmbtieError(
            f"Of losses there are {len(known)}; a sensitivity needs those of at least two rates.",
            "Add learning rates to the sweep.",
        )
    counted = np.minimum(np.where(np.isfinite(known), known, initial_loss), initial_loss)
    return float((counted - counted.min()).sum() / (len(counted) - 1))


def _vector(losses: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(n,) float64, in the order given."""
    listed = losses.tolist() if hasattr(losses, "tolist") else losses
    if isinstance(listed, Iterable) and not isinstance(listed, Mapping | str | bytes):
        values = list(listed)
        if all(isinstance(one, int | float | np.number) for one in values):
            with suppress(OverflowError):  # whole numbers have no largest
                return np.asarray(values, dtype=np.float64)
    raise EmbtieError(
        "losses holds something else than one number for each learning rate.",
        "Give a list of losses; leave out rates whose loss is not known.",
    )
