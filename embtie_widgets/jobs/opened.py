"""What results say of a model that was opened, as plain values."""

from dataclasses import replace
from typing import Any, TypeVar

from embtie_widgets.sources.models import OpenModel

Found = TypeVar("Found", bound=Any)


def described(opened: OpenModel) -> dict[str, Any]:
    """Its name, its sizes, and how it is held."""
    matrix = opened.model.get_output_embeddings().weight
    return {
        "name": opened.name,
        "revision": opened.revision,
        "tied": opened.tied,
        "rows": int(matrix.shape[0]),
        "width": int(matrix.shape[1]),
        "dtype": opened.precision,
        "device": opened.device.type,
        "placement": opened.placement,
        "parameters": sum(p.numel() for p in opened.model.parameters()),
        "notes": list(opened.notes),
    }


def of_model(found: Found, opened: OpenModel, settings: dict[str, Any]) -> Found:
    """A measure's result with the model that it is of, and what else was set."""
    about = {
        "model": opened.name,
        "revision": opened.revision,
        "tied": opened.tied == "tied",
        "placement": opened.placement,
    }
    known = {**found.settings, **settings, **about}
    made: Found = replace(found, settings=known, hashes={**found.hashes, **opened.hashes})
    return made
