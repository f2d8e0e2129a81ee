"""Which models are here as a whole, to be run on a text, and what is missing of others."""

from functools import reduce

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs.packaged import packaged_counts
from embtie_widgets.jobs.papers_ground import Ground, Lack
from embtie_widgets.requests import ModelRef
from embtie_widgets.results.bottleneck_published import SIZES


def lacking_whole(ground: Ground, *models: ModelRef) -> Lack | None:
    """What of these models is neither here nor may be fetched; None where all can be run."""
    lacks = [lack for model in models if (lack := _lack(ground, model)) is not None]
    return reduce(Lack.__add__, lacks) if lacks else None


def _lack(ground: Ground, model: ModelRef) -> Lack | None:
    from embtie_widgets.sources.whole import find_whole

    ground.progress(f"looking for {model.written}", 0, 1)
    try:
        moved = find_whole(model, ground.progress).to_fetch()
    except Cancelled:
        raise
    except EmbtieError as error:
        size = _size(model)
        taken = "" if size is None else " (taken as 16-bit numbers)"
        return Lack(f"the whole model {model.written}{taken}", size, error.message)
    if ground.request.fetch or not moved:
        return None
    why = f"{model.written} is not whole on this machine, and nothing was to be fetched."
    return Lack(f"the whole model {model.written}", moved, why)


def _size(model: ModelRef) -> int | None:
    """Of its weights as 16-bit numbers, by what ships with embtie."""
    facts = packaged_counts().get(model.ref)
    if facts is None:
        known = SIZES.get(model.ref)
        return None if known is None else 2 * known.parameters
    return 2 * (facts.untied if facts.settings["matrices"] == "two" else facts.tied)
