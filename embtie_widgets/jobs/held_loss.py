"""The loss of a trained run on the text held out, and the share of its predictions that are right
there: measured once and kept in its manifest."""

import math
from contextlib import nullcontext
from typing import Any

import torch

from embtie_widgets.machine import pick_device
from embtie_widgets.progress import Progress, silent
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import held_out
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.runs import RunSpec, load_trained

# So many tokens of the text held out tell losses apart that a reader would; read so many at once.
_HELD_TOKENS, _AT_ONCE = 32_768, 2_048


def held_loss(
    spec: RunSpec, store: RunStore, held: Corpus, progress: Progress = silent
) -> float | None:
    """Nats per token, in the run's own precision and with what its plug-ins change whenever it
    predicts; None for a text that is too short for a piece, NaN for a run that has diverged."""
    if len(held.ids) <= spec.config.length:
        return None
    known = known_loss(store, held)
    return _measured(spec, store, held, progress) if known is None else known


def known_loss(store: RunStore, held: Corpus) -> float | None:
    """What an earlier measurement has left."""
    manifest = store.manifest
    if manifest.get("diverged") is not None:  # its matrices are those before that step
        return math.nan
    kept = manifest.get(_key(held))
    return kept if isinstance(kept, float) else None


def known_accuracy(store: RunStore, held: Corpus) -> float | None:
    """The share of right predictions that a measurement of the loss has left."""
    kept = store.manifest.get(_key(held, "accuracy"))
    return kept if isinstance(kept, float) else None


def too_short(held: Corpus, length: int) -> str:
    """Why there is no loss, in words; "" where there is one."""
    if len(held.ids) > length:
        return ""
    return (
        f"The text held out has {len(held.ids):,} tokens, too few for a piece of {length:,}: no "
        "loss is measured on it."
    )


def _measured(spec: RunSpec, store: RunStore, held: Corpus, progress: Progress) -> float:
    progress(f"loss of {spec.name} on text held out", 0, 1)
    config, manifest = spec.config, store.manifest
    model = load_trained(store).to(pick_device(config.device)).eval()
    with _cast(manifest["settings"].get("precision"), model.device):
        found = held_out(
            model,
            Corpus(held.ids[: max(_HELD_TOKENS, config.length) + 1]),
            max(1, _AT_ONCE // config.length),
            config.length,
            spec.interventions,
        )
    numbers = {_key(held): found.loss, _key(held, "accuracy"): found.accuracy}
    store.set_state(manifest["state"], manifest["done"], **numbers)
    return found.loss


def _cast(precision: Any, device: torch.device) -> Any:
    """The products of a run of that precision, as a context."""
    mixed = precision == "bfloat16"
    return torch.autocast(device.type, torch.bfloat16) if mixed else nullcontext()


def _key(held: Corpus, what: str = "loss") -> str:
    return f"held_{what} {held.sha256[:16]}"
