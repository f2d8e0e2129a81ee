"""What results say of a model that was opened, as plain values."""

from typing import Any

from embtie_widgets.sources.models import OpenModel


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
