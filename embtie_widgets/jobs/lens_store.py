"""Trained translators between runs: what was learned is found again, finished or not.

They are kept like parts of results, by model, text and settings, and the last few in memory too,
so that they can be saved where nothing is kept on disk.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from embtie_widgets.jobs.cache import SIZE_LIMIT, keep
from embtie_widgets.jobs.parts import Part, known_part
from embtie_widgets.results.storage import storable
from embtie_widgets.sources.kept import keeps
from embtie_widgets.training.translators import Translators

Vector = np.ndarray[Any, np.dtype[Any]]
_RECENT = 4


@storable
@dataclass(frozen=True)
class KeptTranslators:
    """`Translators` as they are stored."""

    weights: Vector
    biases: Vector
    settings: dict[str, Any]
    hashes: dict[str, str]
    columns: Vector | None


def is_whole(translators: Translators) -> bool:
    """Whether every step of their training was taken."""
    return "stopped" not in translators.settings


def curve_of(translators: Translators) -> dict[str, Vector]:
    """How their training went: "step" (m,), "kl_bits" (m, L) on text held out, "loss_bits" (m,);
    empty where there was none."""
    known = translators.settings.get("curve") or {}
    if not known.get("step"):
        return {}
    return {name: np.array(values, "f8") for name, values in known.items()}


_recent: OrderedDict[str, Translators] = OrderedDict()
_lock = threading.Lock()


def remember(key: str, translators: Translators) -> None:
    """Keep them; on disk unless they are so large that they would push everything else out."""
    with _lock:
        _recent[key] = translators
        _recent.move_to_end(key)
        while len(_recent) > _RECENT:
            _recent.popitem(last=False)
    if translators.weights.nbytes <= SIZE_LIMIT // 4:
        keep(key, Part(_stored(translators)))


def recalled(key: str) -> Translators | None:
    """What was kept under this name."""
    with _lock:
        found = _recent.get(key)
    if found is not None:
        return found
    kept = known_part(key)
    return _restored(kept) if isinstance(kept, KeptTranslators) else None


@keeps
def forget() -> None:
    """Keep none in memory."""
    with _lock:
        _recent.clear()


def _stored(one: Translators) -> KeptTranslators:
    columns = None if one.columns is None else one.columns.numpy()
    return KeptTranslators(
        one.weights.numpy(), one.biases.numpy(), one.settings, dict(one.hashes), columns
    )


def _restored(kept: KeptTranslators) -> Translators:
    columns = None if kept.columns is None else torch.from_numpy(kept.columns)
    return Translators(
        torch.from_numpy(kept.weights),
        torch.from_numpy(kept.biases),
        kept.settings,
        kept.hashes,
        columns,
    )
