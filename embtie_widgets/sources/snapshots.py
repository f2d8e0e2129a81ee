"""Checkpoints of a training that lie in a folder: the steps that a local model can be had at."""

from dataclasses import dataclass
from pathlib import Path

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.sources import configuration
from embtie_widgets.sources.checkpoint import SingleFile
from embtie_widgets.sources.files import Files, optional_json
from embtie_widgets.sources.reading import sentences
from embtie_widgets.sources.revisions import checkpoints, parse
from embtie_widgets.sources.sourced import Sourced, checked, plain_config
from embtie_widgets.sources.status import Found
from embtie_widgets.sources.tokens import of_checkpoint

_FOLDER = "checkpoints"
_WEIGHTS = ("*.safetensors", "*.bin", "*.safetensors.index.json", "*.bin.index.json")


@dataclass(frozen=True)
class Snapshot:
    """One checkpoint of a local model: a model folder of its own, or a file of its matrices."""

    name: str
    path: Path


def snapshots(folder: Path) -> list[Snapshot]:
    """The checkpoints of the model in `folder`, in the order of their steps.

    They are folders in it (`checkpoint-500`, as trainers write them), or files
    `step-<n>.safetensors` in a folder `checkpoints` in it or beside it, as embtie writes them.
    """
    found: dict[str, Path] = {}
    with sentences(folder):
        inside = [path for path in folder.iterdir() if path.is_dir() and _has_weights(path)]
        for place in (folder.resolve().parent / _FOLDER, folder / _FOLDER):
            found |= {path.stem: path for path in place.glob("step*.safetensors")}
    found |= {path.name: path for path in inside}
    return [Snapshot(r.name, found[r.name]) for r in checkpoints(found)]


def find_snapshot(folder: Path, revision: str, name: str) -> Snapshot:
    """The checkpoint of that name, or of the same stage and step by another spelling."""
    known = snapshots(folder)
    wanted = parse(revision)
    for one in known:
        own = parse(one.name)
        same = wanted.is_checkpoint and (own.track, own.step) == (wanted.track, wanted.step)
        if one.name == revision or same:
            return one
    if not known:
        raise EmbtieError(
            f"'{name}' has no checkpoints, but '{revision}' was asked for.",
            "Leave the revision out, or name a model on the hub.",
        )
    names = ", ".join(one.name for one in known[:8])
    raise EmbtieError(f"'{name}' has no checkpoint '{revision}'.", f"Pick one of these: {names}.")


def read_snapshot(
    model: Files, snapshot: Snapshot, kind: str, progress: Progress = silent
) -> Sourced:
    """The matrices of a checkpoint file, with configuration and tokens of its model."""
    config = plain_config(optional_json(model, "config.json"))
    tied = configuration.says_tied(config)
    tensors = SingleFile(snapshot.path)
    names = {"input": "tied"} if tied else {"input": "input", "output": "output"}
    if names["input"] not in tensors:
        raise EmbtieError(
            f"{snapshot.path.name} holds no checkpoint of '{model.name}': it has no matrix "
            f"'{names['input']}'.",
            "Choose the other model of the run.",
        )
    held = {
        role: checked(tensors.read(name), name, role)
        for role, name in names.items()
        if name in tensors
    }
    found = Found(
        input=held["input"],
        output=held.get("output"),
        says_tied=tied,
        has_head=True,
        family=f"'{model.name}'",
    )
    return Sourced(
        kind=kind,
        name=model.name,
        found=found,
        names={role: f"{snapshot.path.name}: {names[role]}" for role in held},
        vocabulary=of_checkpoint(model, progress),
        vocab_size=configuration.vocab_size(config),
        scales=configuration.scales(config),
    )


def _has_weights(folder: Path) -> bool:
    return any(True for pattern in _WEIGHTS for _ in folder.glob(pattern))
