"""The papers' pairs of models, opened for their tables: on the rows that the paper compared, and
on others, which explain where the numbers part."""

from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.jobs.align import align_opened
from embtie_widgets.jobs.geometry import geometry_opened
from embtie_widgets.jobs.packaged import packaged_counts
from embtie_widgets.jobs.pairs import OpenPair, describe, open_pair
from embtie_widgets.jobs.papers_families import STORED, TOKENS, Family
from embtie_widgets.jobs.papers_ground import Ground
from embtie_widgets.requests import AlignRequest, ModelRef, PairRequest
from embtie_widgets.requests.geometry import GeometryRequest
from embtie_widgets.results import PairAlignment
from embtie_widgets.results.geometry import PairGeometry
from embtie_widgets.sources.loaded import Loaded


class Opened:
    """A family with its models open, and the work of the other panels on it; a
    measure adds facts to `more` and sentences to `said`."""

    def __init__(self, known: Family, ground: Ground) -> None:
        self.family, self.ground = known, ground
        self.more: dict[str, Any] = {}
        self.said: list[str] = []

    def pair(self, rows: str) -> OpenPair:
        """Both models, their rows matched in one of the two ways."""
        known = self.family

        def make() -> OpenPair:
            if rows == STORED:
                return by_number(self.pair(TOKENS))
            return open_pair(PairRequest(known.a, known.b), self.ground.progress)

        return self.ground.once((known.a, known.b, rows), make)

    def aligned(self, map: str, rows: str = "", **how: Any) -> PairAlignment:
        """What the Alignment panel says of them; on tokens it is the panel's own result."""
        known, request, rows = self.family, self.ground.request, rows or self.family.rows
        asked = AlignRequest(
            known.a, known.b, map=map, device=request.device, seed=request.seed, **how
        )
        return self.ground.once(
            (asked, rows), lambda: align_opened(asked, self.pair(rows), self.ground.progress)
        )

    def geometry(self, rows: str = "") -> PairGeometry:
        """Neighbours and graphs as the Geometry panel compares them, without what it says of the
        matrices as wholes."""
        known, request, rows = self.family, self.ground.request, rows or self.family.rows
        asked = GeometryRequest(
            known.a, known.b, spaces=False, device=request.device, seed=request.seed
        )
        return self.ground.once(
            (asked, rows), lambda: geometry_opened(asked, self.pair(rows), self.ground.progress)
        )

    def source(self, rows: str = "") -> str:
        """Which models, and how many rows of which kind."""
        rows = rows or self.family.rows
        pair = self.pair(rows)
        names = " and ".join(model.written for model in (self.family.a, self.family.b))
        return f"{names}, {len(pair.matched.rows_a):,} {rows}"

    @property
    def sizes(self) -> str:
        """A sentence on each model whose matrices are not as large as its configuration says."""
        pair = self.pair(TOKENS)
        models = {self.family.a: pair.a, self.family.b: pair.b}
        return " ".join(filter(None, (other_size(ref, one) for ref, one in models.items())))

    def facts(self) -> dict[str, Any]:
        """What was opened: models, and how their rows were matched."""
        pair = self.pair(self.family.rows)
        return {
            "A": describe(pair.a),
            "B": describe(pair.b),
            "rows": self.family.rows,
            "rows used": len(pair.matched.rows_a),
            "tokens": len(self.pair(TOKENS).matched.rows_a),
            "counts": dict(pair.matched.counts),
            **self.more,
        }

    def hashes(self) -> dict[str, str]:
        """Of their matrices, by model and role."""
        pair = self.pair(TOKENS)
        names = {n: self.family.b if n == "Tied" else self.family.a for n in pair.roles.hashes}
        return {f"{names[n].written}: {n}": sha for n, sha in pair.roles.hashes.items()}


def other_size(ref: ModelRef, loaded: Loaded) -> str:
    """A sentence where a model's matrices are not as large as what ships with embtie says."""
    facts = packaged_counts().get(ref.ref)
    rows, width = len(loaded.input), int(loaded.input.shape[1])
    if facts is None or (facts.settings["rows"], facts.settings["width"]) == (rows, width):
        return ""
    known = f"{facts.settings['rows']:,} x {facts.settings['width']:,}"
    return f"A matrix of {ref.written} is {rows:,} x {width:,} here, not {known}."


def by_number(pair: OpenPair) -> OpenPair:
    """The same pair with all stored rows that every matrix has, matched by their numbers: padding
    is among them, and rows of different vocabularies are of different tokens."""
    n = min(map(len, pair.roles.stored.values()))
    rows = np.arange(n, dtype=np.int64)
    left = {"only_a": len(pair.a.input) - n, "only_b": len(pair.b.input) - n}
    counts = dict.fromkeys(pair.matched.counts, 0) | left | {"matched": n}
    tokens = pair.a.tokens
    matched = replace(
        pair.matched,
        rows_a=rows,
        rows_b=rows,
        counts=counts,
        keys=[None] * n if tokens is None else list(tokens[:n]),
        policy="rows",
        ambiguous_a=0,
        ambiguous_b=0,
        notes=["All stored rows were paired by their numbers, padding among them."],
    )
    roles = replace(pair.roles, rows=dict.fromkeys(pair.roles.rows, rows))
    return replace(pair, matched=matched, roles=roles)
