"""Identity checks of the geometry: what a matrix must give when it is compared with itself."""

from typing import Any

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.checks import even_sample, of_check
from embtie_widgets.measures.cka import cka
from embtie_widgets.measures.neighbours import knn_overlap
from embtie_widgets.measures.omnibus import spectral_distance
from embtie_widgets.progress import Progress, silent

_FEW, _NEAREST, _COMPONENTS, _CLOSE = 256, 10, 16, 1e-5


def self_geometry(
    matrix: torch.Tensor, metric: str, center: bool, progress: Progress = silent
) -> dict[str, float]:
    """What a matrix gives when it is compared with itself: overlap and CKA 1, distance 0; from an
    even sample of its rows.  Nothing where there are too few of them, and no CKA where it
    has no value: where all of them are equal.

    Raises where one is not what it must be: then no number of its kind can be believed.
    """
    sample = even_sample(matrix, _FEW)
    if len(sample) <= 2 * _NEAREST:
        return {}
    how: dict[str, Any] = {"device": "cpu", "progress": of_check(progress)}
    graphs = spectral_distance(sample, sample, _NEAREST, _COMPONENTS, floor=False, **how)
    found = {
        "self overlap": knn_overlap(sample, sample, _NEAREST, metric, center, **how).mean,
        "self distance": graphs.distance,
    }
    alike = cka(sample, sample, **how)
    if not alike.settings["notes"]:
        found["self CKA"] = alike.value
    for name, value in found.items():
        right = 0 if name == "self distance" else 1
        if not abs(value - right) <= _CLOSE:
            raise EmbtieError(
                f"The identity check failed: the {name} of a matrix is {value:.6f}, not {right}.",
                "The result is withheld. Please report the model and the settings.",
            )
    return found
