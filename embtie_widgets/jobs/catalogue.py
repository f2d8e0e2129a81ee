"""Models and pairs to choose from: the papers' own, families of many sizes, the user's own."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from embtie_widgets.jobs.fitting import unopened
from embtie_widgets.jobs.local_copies import local_refs
from embtie_widgets.jobs.packaged import packaged_counts
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources import catalogue_file
from embtie_widgets.sources.catalogue_file import Entry, Pair
from embtie_widgets.sources.named_models import laid_out_models

__all__ = [
    "Entry",
    "Hit",
    "Pair",
    "entries",
    "faults",
    "find_pair",
    "label_of",
    "pair_of",
    "pairs",
    "search",
    "search_pairs",
]


@dataclass(frozen=True)
class Hit:
    """What a picker shows: the value it stands for, a readable name, a line about it, and why it
    cannot be chosen, "" where it can."""

    value: str
    label: str
    detail: str
    off: str = ""


def entries() -> tuple[Entry, ...]:
    """Every model, each once: those that the user's own file names, those laid out in the folders
    of EMBTIE_MODELS, and the presets."""
    own = catalogue_file.read(catalogue_file.user_file()).models
    laid_out = (Entry(name, name) for name in laid_out_models())
    preset = catalogue_file.read(catalogue_file.PRESETS).models
    found: dict[str, Entry] = {}
    for entry in (*own, *laid_out, *preset):
        found.setdefault(entry.ref, entry)
    return tuple(found.values())


def pairs() -> tuple[Pair, ...]:
    """Every pair, the user's own first."""
    own = catalogue_file.read(catalogue_file.user_file()).pairs
    named = {pair.name for pair in own}
    preset = catalogue_file.read(catalogue_file.PRESETS).pairs
    return (*own, *(pair for pair in preset if pair.name not in named))


def faults() -> tuple[str, ...]:
    """What of the user's file is not read, with its line."""
    return catalogue_file.read(catalogue_file.user_file()).faults


def label_of(ref: str, otherwise: str = "") -> str:
    """The readable name of a model of the catalogue."""
    return next((entry.label for entry in entries() if entry.ref == ref), otherwise or ref)


def find_pair(name: str) -> Pair | None:
    """The pair of that name."""
    return next((pair for pair in pairs() if pair.name == name), None)


def pair_of(a: ModelRef, b: ModelRef, role_b: str | None = None) -> Pair | None:
    """The pair that consists of these, with any role of B for None; None where none does."""
    both = (pair for pair in pairs() if (pair.a, pair.b) == (a, b))
    return next((pair for pair in both if role_b in (None, pair.role_b)), None)


def search(text: str, limit: int = 50, *, whole: bool = False) -> list[Hit]:
    """The models that hold every word of `text`, those on this machine first; all for none.  What
    reads the `whole` of a model opens fewer on a public page."""
    known = entries()
    here = local_refs((entry.ref for entry in known), whole=whole)
    hits = []
    for entry in known:
        off = unopened([entry.ref], here, whole)
        hits.append((entry.ref in here, Hit(entry.ref, entry.label, _detail(entry, here), off)))
    return _best(text, hits, limit)


def search_pairs(text: str, limit: int = 50, *, whole: bool = False) -> list[Hit]:
    """The pairs that hold every word of `text`, those whose models are both here first."""
    known = pairs()
    here = local_refs((model.ref for pair in known for model in (pair.a, pair.b)), whole=whole)
    hits = []
    for pair in known:
        both = {pair.a.ref, pair.b.ref} <= here
        detail = _joined(f"{pair.a.ref} and {pair.b.ref}", pair.paper, "on this machine" * both)
        off = unopened({pair.a.ref, pair.b.ref}, here, whole)
        hits.append((both, Hit(pair.name, pair.label, detail, off)))
    return _best(text, hits, limit)


def _best(text: str, hits: Iterable[tuple[bool, Hit]], limit: int) -> list[Hit]:
    words = text.lower().split()
    found = [
        (here, hit)
        for here, hit in hits
        if all(word in f"{hit.value} {hit.label} {hit.detail}".lower() for word in words)
    ]
    order = sorted(found, key=lambda pair: (pair[1].off != "", not pair[0]))
    return [hit for _, hit in order][:limit]


def _detail(entry: Entry, here: Collection[str]) -> str:
    counted = packaged_counts().get(entry.ref)
    size = ""
    if counted is not None:
        size = f"{counted.settings['rows']:,} x {counted.settings['width']:,}"
    where = "bundled" if entry.ref.startswith("nano-") else "on this machine"
    return _joined(entry.role, size, entry.note, entry.paper, where * (entry.ref in here))


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
