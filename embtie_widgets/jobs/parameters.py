"""From a ParametersRequest to a ParameterReport; models of the catalogue need no torch."""

import json
from functools import cache

from embtie_widgets.jobs.catalogue import label_of
from embtie_widgets.jobs.estimate import Estimate
from embtie_widgets.jobs.local_copies import on_disk
from embtie_widgets.jobs.packaged import DATA, packaged_counts
from embtie_widgets.measures.printed import Row, table_3, table_4
from embtie_widgets.progress import Progress
from embtie_widgets.requests.parameters import ParametersRequest
from embtie_widgets.results import ParameterReport, Parameters, Printed

_SUITE = "EleutherAI/pythia-"


def run_parameters(request: ParametersRequest, progress: Progress) -> ParameterReport:
    """Count from packaged facts where they answer, else from headers or the configuration."""
    known = shipped_report(request)
    if known is not None:
        return known
    from embtie_widgets.sources.parameters import parameters

    progress("reading headers", 0, 1)
    asked = json.loads(request.config) if request.config else request.model
    counted = parameters(asked, progress=progress)
    return _report(request, counted)


def shipped_report(request: ParametersRequest) -> ParameterReport | None:
    """The answer from packaged facts, None where they do not answer; at once, without torch."""
    model, counts = request.model, packaged_counts()
    plain = model.to_dict().keys() == {"ref"}
    if request.config or request.source != "auto" or not plain or model.ref not in counts:
        return None
    return _report(request, counts[model.ref])


def estimate_parameters(request: ParametersRequest) -> Estimate | None:
    """Nothing for what needs no network; None for the hub, whose speed nobody knows."""
    if request.config or shipped_report(request) is not None:
        return Estimate(0.0, 0)
    return Estimate(0.0, 0) if on_disk(request.model.ref) else None


@cache
def printed_tables() -> tuple[Printed, ...]:
    """Every number of the paper's tables 3 and 4 beside the exact one."""
    facts = json.loads((DATA / "printed_parameters.json").read_text(encoding="utf-8"))
    rows = {
        ref: (Row(label_of(ref), one["nominal"], one), packaged_counts()[ref])
        for ref, one in facts["models"].items()
    }
    third = [number for row, exact in rows.values() for number in table_3(row, exact)]
    fourth = [
        number
        for row, exact in rows.values()
        for number in table_4(row, exact, facts["nominal_rows"])
    ]
    return (*third, *fourth)


def _report(request: ParametersRequest, counted: Parameters) -> ParameterReport:
    suite = {label_of(r): c for r, c in packaged_counts().items() if r.startswith(_SUITE)}
    return ParameterReport(
        name=_name(request, counted),
        model=counted,
        beside=suite,
        notes=counted.notes,
        settings=request.to_dict() | {"cached": False},
    )


def _name(request: ParametersRequest, counted: Parameters) -> str:
    if not request.config:
        name = str(counted.settings["model"].get("name") or request.model.ref)
        return label_of(request.model.ref, name)
    return str(counted.settings["model"].get("class", "model"))
