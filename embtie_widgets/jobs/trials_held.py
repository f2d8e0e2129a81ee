"""How a trained run of SpamLang does on every symbol, asked once and kept in its manifest."""

from typing import Any

from embtie_widgets.machine import pick_device
from embtie_widgets.progress import Progress, silent
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.runs import RunSpec, load_trained
from embtie_widgets.training.spamlang import SpamLang, spam_numbers

_KEY = "every symbol"


def spam_held(
    spec: RunSpec, store: RunStore, held: Corpus, progress: Progress = silent
) -> dict[str, Any] | None:
    """What `spam_numbers` finds, in float32 whatever the run was trained in; None for a run that
    has diverged."""
    if not isinstance(held, SpamLang) or store.manifest.get("diverged") is not None:
        return None
    known = spam_known(store)
    if known is not None:
        return known
    model = load_trained(store).to(pick_device(spec.config.device)).eval()
    found = spam_numbers(model, held, spec.config.length, spec.interventions, progress)
    manifest = store.manifest
    store.set_state(manifest["state"], manifest["done"], **{_KEY: found})
    return found


def spam_known(store: RunStore) -> dict[str, Any] | None:
    """What an earlier question has left."""
    kept = store.manifest.get(_KEY)
    return kept if isinstance(kept, dict) else None
