"""From a PaperTablesRequest to PaperTables: every item made by itself, shown as it comes."""

import hashlib
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from embtie_widgets.errors import Cancelled
from embtie_widgets.jobs.cache import kept_or_made, latest
from embtie_widgets.jobs.papers_ground import Ground
from embtie_widgets.jobs.papers_items import ITEMS, Item
from embtie_widgets.jobs.runner import told
from embtie_widgets.progress import Progress, hand_on
from embtie_widgets.requests.papers import PaperTablesRequest
from embtie_widgets.results.papers import PaperItem, PaperTables
from embtie_widgets.results.storage import to_bytes


def run_papers(request: PaperTablesRequest, progress: Progress) -> PaperTables:
    """Make every item that is meant; what it reads is asked for anew, so that models that have
    come since are seen, and what was measured before is taken from the cache."""
    from embtie_widgets.sources.hub import without_asking

    names = [name for name in request.names if name in ITEMS]
    # As of every recorded file, the result tells the name alone, not where the folder is.
    told_of = request.to_dict() | {"data": Path(request.data).name, "cached": False}
    done = PaperTables({}, told_of)
    with nullcontext() if request.fetch else without_asking():
        ground = Ground(request)
        for number, name in enumerate(names):
            ground.progress = _within(progress, name, number, len(names))
            done = _with(done, name, ground)
            hand_on(progress, done)
    content = {"what came": hashlib.sha256(to_bytes(done)).hexdigest()}
    result: PaperTables = kept_or_made(request, done.hashes | content, lambda: done)
    return result


def look_up(request: PaperTablesRequest) -> PaperTables | None:
    """What this request gave last, here or elsewhere on this machine; models that were fetched
    since show when it is run anew."""
    found: PaperTables | None = latest(request)
    return found


def _with(done: PaperTables, name: str, ground: Ground) -> PaperTables:
    """The same with one more item; what goes wrong with it is written down, and no more lost."""
    item = ITEMS[name]
    try:
        made = item.made(ground)
    except Cancelled:
        raise
    except Exception as fault:
        said = str(told(fault))
        return replace(
            done,
            items=done.items | {name: _failed(item, said)},
            failed=done.failed | {name: said},
        )
    return replace(done, items=done.items | {name: made})


def _failed(item: Item, said: str) -> PaperItem:
    printed = item.as_printed()
    numbers = tuple(number.lacking("", None, said) for number in printed.numbers)
    return replace(printed, numbers=numbers)


def _within(progress: Progress, name: str, number: int, of: int) -> Progress:
    """Progress of one item; what its jobs hand on of their own results is no table."""
    where = f"{name} ({number + 1} of {of})"
    return lambda stage, done, total: progress(f"{where}: {stage}", done, total)
