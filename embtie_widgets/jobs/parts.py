"""Parts of results that several runs share, kept on disk like the results themselves.

A part belongs to the matrices it was measured on, to their rows and to a few settings, and to no
request: another k, another partner or another panel finds it.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from embtie_widgets.jobs.cache import MEASURES, keep, recall
from embtie_widgets.jobs.pairs import Roles
from embtie_widgets.results.storage import storable


@storable
@dataclass(frozen=True)
class Part:
    """What a cache entry holds of a part."""

    value: Any
    settings: dict[str, Any] = field(default_factory=dict)


def part_key(what: str, roles: Roles, names: Collection[str], facts: Mapping[str, Any]) -> str:
    """The name of a part: what was measured on which rows of the matrices of these names."""
    rows = [
        [roles.hashes[n], hashlib.sha256(roles.rows[n].tobytes()).hexdigest()]
        + ["without its mean row"] * roles.is_centred(n)
        for n in names
    ]
    text = json.dumps([MEASURES, what, rows, dict(facts)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def known_part(key: str) -> Any | None:
    """The part that is kept under this name, or None."""
    found = recall(key)
    return found.value if isinstance(found, Part) else None


def kept_part(
    key: str, make: Callable[[], Any], serves: Callable[[Any], bool] = lambda found: True
) -> Any:
    """The part of this name if it is kept and `serves`, else the one that `make` gives."""
    found = known_part(key)
    if found is None or not serves(found):
        found = make()
        keep(key, Part(found))
    return found
