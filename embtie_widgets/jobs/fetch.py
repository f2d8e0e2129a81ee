"""Bringing the matrices of models from the hub to this machine before they are needed."""

from collections.abc import Sequence
from dataclasses import dataclass

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.catalogue import find_pair, pairs
from embtie_widgets.jobs.local_copies import on_disk
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources.place import can_keep_tensors, tensors_folder


@dataclass(frozen=True)
class Plan:
    """What fetching a model would move.

    moved   bytes still to come; 0 where nothing is missing
    whole   bytes of all its weights files, 0 for a model that is no hub's
    commit  what its revision stands for
    notes   sentences to show before it starts
    """

    model: ModelRef
    moved: int = 0
    whole: int = 0
    commit: str = ""
    notes: tuple[str, ...] = ()


def wanted(names: Sequence[str]) -> tuple[ModelRef, ...]:
    """The models that names stand for: a pair of the catalogue, or `reference@revision`."""
    models: list[ModelRef] = []
    for name in names:
        pair = find_pair(name)
        models += [pair.a, pair.b] if pair is not None else [model_named(name)]
    return tuple(dict.fromkeys(models))


def plan(model: ModelRef, progress: Progress = silent) -> Plan:
    """What fetching it would move; at most headers and small files are read for it."""
    from embtie_widgets.sources import hub

    if not hub.is_hub_id(model.ref) or on_disk(model.ref):
        return Plan(_found(model))
    if tensors_folder() is None:
        raise EmbtieError(
            "EMBTIE_CACHE is off, so nothing that is fetched could be kept.",
            "Unset it, or let it name a folder.",
        )
    try:
        cost = hub.cost(model.ref, model.revision, progress)
    except EmbtieError as error:
        raise _with_pairs(error, model.ref) from None
    parts = [size for file, size in cost.moved.items() if file.endswith(".safetensors")]
    if any(parts) and not can_keep_tensors():
        raise EmbtieError(
            "The folder for what is fetched cannot be written, so nothing could be kept.",
            "Let EMBTIE_CACHE name a folder that you may write to.",
        )
    return Plan(model, cost.total, sum(cost.files.values()), cost.commit, cost.notes)


def fetch(model: ModelRef, progress: Progress = silent) -> str:
    """Bring the matrices here; what is there, in a line.  What broke off goes on from there."""
    from embtie_widgets.sources.load import load

    loaded = load(model, progress=progress)
    kind = str(loaded.input.dtype).removeprefix("torch.")
    return f"{loaded.tied}, {loaded.input.shape[0]:,} x {loaded.input.shape[1]:,}, {kind}"


def model_named(name: str) -> ModelRef:
    """A model by `reference` or `reference@revision`."""
    ref, at, revision = name.rpartition("@")
    return ModelRef(ref, revision) if at and ref and not on_disk(name) else ModelRef(name)


def _found(model: ModelRef) -> ModelRef:
    from embtie_widgets.sources.load import find

    find(model.ref, model.revision)
    return model


def _with_pairs(error: EmbtieError, ref: str) -> EmbtieError:
    """A name without owner may have been meant for a pair."""
    if "/" in ref:
        return error
    known = ", ".join(pair.name for pair in pairs())
    return EmbtieError(error.message, f"{error.hint} The pairs of the catalogue are {known}.")
