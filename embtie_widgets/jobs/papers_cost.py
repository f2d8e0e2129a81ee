"""What a PaperTablesRequest will cost, as far as its parts can tell; torch is not needed."""

from collections.abc import Callable, Iterator

from embtie_widgets.jobs.align_cost import estimate_align
from embtie_widgets.jobs.estimate import Estimate, experience
from embtie_widgets.jobs.geometry_cost import estimate_geometry
from embtie_widgets.jobs.local_copies import local_refs
from embtie_widgets.jobs.packaged import packaged_counts
from embtie_widgets.jobs.papers_families import Family, family, stand_in
from embtie_widgets.jobs.papers_items import ITEMS
from embtie_widgets.jobs.papers_printed import MAPS, NEO, OLMO, QWEN
from embtie_widgets.requests import AlignRequest
from embtie_widgets.requests.geometry import GeometryRequest
from embtie_widgets.requests.papers import PaperTablesRequest

Costs = Iterator[Estimate | None]


def estimate_papers(request: PaperTablesRequest) -> Estimate | None:
    """The cost of all items that are meant, as if nothing of it had been computed before; None
    where something of it cannot be told, as a download."""
    if request.fetch:
        return None
    return _sum(ITEMS[name].cost_of(request) for name in request.names)


def table_1(request: PaperTablesRequest) -> Estimate | None:
    """Of every map of two families."""
    return _sum(_alignments(request, (OLMO, NEO), tuple(MAPS)))


def figure_1(request: PaperTablesRequest) -> Estimate | None:
    """Of the linear map of one family; nothing where table 1 has computed it."""
    return (
        Estimate(0.0, 0)
        if "table-1" in request.names
        else _sum(_alignments(request, (OLMO,), ("linear",)))
    )


def table_5(request: PaperTablesRequest) -> Estimate | None:
    """Of neighbours and graphs of three families."""

    def cost(used: Family) -> Estimate | None:
        return estimate_geometry(
            GeometryRequest(used.a, used.b, spaces=False, device=request.device)
        )

    return _sum(_each(request, (OLMO, QWEN, NEO), cost))


def _alignments(
    request: PaperTablesRequest, names: tuple[str, ...], maps: tuple[str, ...]
) -> Costs:
    for map in maps:

        def cost(used: Family, map: str = map) -> Estimate | None:
            return estimate_align(AlignRequest(used.a, used.b, map=map, device=request.device))

        yield from _each(request, names, cost)


def _each(
    request: PaperTablesRequest,
    names: tuple[str, ...],
    cost: Callable[[Family], Estimate | None],
) -> Costs:
    """The cost for every family that is here, on two lists of rows, and once for the stand-in."""
    stands = False
    for known in map(family, names):
        if len(local_refs((known.a.ref, known.b.ref))) == 2:
            yield from [_seen(known, cost)] * 2
        elif request.stand_in and not stands:
            stands = True
            yield _seen(stand_in(known.name), cost)


def _seen(used: Family, cost: Callable[[Family], Estimate | None]) -> Estimate | None:
    """The cost of a family, whose sizes are known without opening it."""
    for ref in (used.a, used.b):
        facts = packaged_counts()[ref.ref].settings
        experience.saw(ref, (facts["rows"], facts["width"]))
    return cost(used)


def _sum(costs: Costs) -> Estimate | None:
    """All one after the other; None where one is not known."""
    total = Estimate(0.0, 0)
    for one in costs:
        if one is None:
            return None
        total = Estimate(total.seconds + one.seconds, max(total.bytes, one.bytes))
    return total
