"""Which families of models are read, for whoever shows it."""

from embtie_widgets.results.families import FamilyTable
from embtie_widgets.sources import families


def supported_families() -> FamilyTable:
    """Every family that is proven, and those registered here: `.rows`, `.to_frame()`."""
    return families.supported()
