"""`embtie fetch`: the matrices of a pair, brought here before they are needed."""

import argparse
import sys
from collections.abc import Sequence

from embtie_widgets.cli.findings import short_path
from embtie_widgets.cli.line import ProgressLine
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import catalogue
from embtie_widgets.jobs import fetch as jobs
from embtie_widgets.jobs.fetch import Plan
from embtie_widgets.progress import spoken
from embtie_widgets.sources import catalogue_file

FAULT = 2


def fetch(arguments: argparse.Namespace) -> int:
    """Say what is missing and how large it is, then bring it; 2 if any model cannot be had."""
    if arguments.list:
        print(listed())
        return 0
    if not arguments.models:
        raise EmbtieError(
            "No model was named.", "Name a pair or a model; `embtie fetch --list` shows them."
        )
    failed = False
    plans = []
    models = jobs.wanted(arguments.models)
    for model in models:
        try:
            plans.append(jobs.plan(model))
            print(_line(plans[-1]))
        except EmbtieError as error:
            failed = _complain(error)
    if plans:
        print(_total(plans, len(models)), flush=True)
    if not arguments.dry_run:
        failed = sum(map(_carry_out, plans)) > 0 or failed
    return FAULT if failed else 0


def _total(plans: Sequence[Plan], asked: int) -> str:
    part = "" if len(plans) == asked else f", for {len(plans)} of the {asked} models"
    return f"To fetch{part}: {spoken(sum(plan.moved for plan in plans))}."


def _carry_out(plan: Plan) -> bool:
    """Fetch; whether that failed.  What is whole already is looked at too."""
    if not plan.whole:
        return False
    try:
        with ProgressLine(unit="B") as progress:
            found = jobs.fetch(plan.model, progress)
    except Cancelled:
        raise
    except EmbtieError as error:
        return _complain(error)
    print(f"{plan.model.written} is here: {found}.", flush=True)
    return False


def _complain(error: EmbtieError) -> bool:
    print(f"embtie: {error.message}\n        {error.hint}".rstrip(), file=sys.stderr)
    return True


def _line(plan: Plan) -> str:
    if not plan.whole:
        said = "on this machine, nothing to fetch"
    elif not plan.moved:
        said = f"all fetched, at {plan.commit[:12]}"
    else:
        said = f"{spoken(plan.moved)} of {spoken(plan.whole)}, at {plan.commit[:12]}"
    return "\n".join([f"{plan.model.written}: {said}", *(f"  note: {note}" for note in plan.notes)])


def listed() -> str:
    """The catalogue, what is on this machine first, and where a file of one's own may lie."""
    found = [("Pairs", catalogue.search_pairs("", limit=10_000))]
    found.append(("Models", catalogue.search("", limit=10_000)))
    wide = max(len(hit.value) for _, hits in found for hit in hits)
    parts = [
        "\n".join([title, *(f"  {hit.value:<{wide}}  {hit.label}: {hit.detail}" for hit in hits)])
        for title, hits in found
    ]
    own = catalogue_file.user_file()
    state = "is read too" if own.exists() else "would add to it"
    parts.append(f"{short_path(own)} {state}.")
    return "\n\n".join([*parts, *catalogue.faults()])
