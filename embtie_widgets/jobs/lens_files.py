"""Lenses that were trained here, as files, to be saved."""

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import ModelRef
from embtie_widgets.results.lens import PairLens


def trained_lens(result: PairLens, side: str) -> bytes:
    """The file of the translators that a result was made with, as `.save(path)` writes it; they
    may have been trained here or ship with the model."""
    from embtie_widgets.jobs.lens_sides import bundled_lens, hash_of
    from embtie_widgets.jobs.lens_store import recalled

    ships = bundled_lens(ModelRef.from_value(result.settings[side.lower()]))
    if ships is not None and result.hashes.get(f"translators {side}") == hash_of(ships):
        return ships.read_bytes()
    learned = recalled(result.hashes.get(f"translators {side}", ""))
    if learned is None:
        raise EmbtieError(
            "The translators of this result are not here any more, or were not trained here.",
            "Run it once more with translators that are trained here, then save them.",
        )
    return learned.to_bytes()
