"""`embtie run`: a request carried out without a browser."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embtie_widgets.charts.groups import group_text
from embtie_widgets.charts.sentences import on_centring
from embtie_widgets.cli import files
from embtie_widgets.cli.line import ProgressLine
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.asked import Asked, asked_in
from embtie_widgets.jobs.places import SPREAD_KINDS, use_cluster
from embtie_widgets.jobs.processors import share_processors
from embtie_widgets.jobs.report import Saved
from embtie_widgets.requests import AlignRequest, Request
from embtie_widgets.requests.kinds import KINDS

if TYPE_CHECKING:
    from embtie_widgets.results import PairAlignment


def run(arguments: argparse.Namespace) -> int:
    """Read what is asked for, carry it out, print its numbers and, if asked, write its files."""
    asked = asked_in(arguments.request)
    if arguments.cluster is not None:
        for one in asked.panels:
            _spread(one.request, arguments.cluster)
    if arguments.report is not None:
        _report(asked, arguments.out, arguments.report)
    else:
        _carried_out(asked, arguments.out)
    return 0


def _report(asked: Asked, out: Path | None, report: Path) -> None:
    """Carry it all out, and write what the panels show of it."""
    from embtie_widgets.app.report import check_place, panel_with, write_report

    place = check_place(report)
    panels = [panel_with(one) for one in _carried_out(asked, out)]
    write_report(panels, panels[asked.front], place)
    print(f"\nWritten: {place}")


def _carried_out(asked: Asked, out: Path | None) -> list[Saved]:
    """Every request with its result; the files of several go into a folder each."""
    several = len(asked.panels) > 1
    done = []
    for one in asked.panels:
        kind = one.request.kind
        result = carry_out(one.request, out / kind if several and out is not None else out)
        done.append(replace(one, answered=one.request, result=result))
    return done


def carry_out(request: Request, out: Path | None) -> Any:
    """Answer a request, print its numbers, write its files where a folder is named, and give the
    result."""
    if out is not None:
        files.prepare(out)
    share_processors()
    from embtie_widgets.jobs.turn import in_turn

    with ProgressLine() as progress:
        result = in_turn(request, progress)
    print(KINDS[request.kind].part("text")(request, result))
    if out is not None:
        written = files.write(out, request, result)
        print(f"\nWritten to {out}: {', '.join(written)}")
    return result


def _spread(request: Request, address: str) -> None:
    """Let the runs of a sweep be carried out there; an EmbtieError for what is none."""
    if request.kind not in SPREAD_KINDS:
        raise EmbtieError(
            f"This request is of the kind '{request.kind}', which is not made of runs that a "
            "cluster could share.",
            f"Leave --cluster out, or give a request of the kind {', '.join(SPREAD_KINDS)}.",
        )
    use_cluster(address)


def describe(request: AlignRequest, result: "PairAlignment") -> str:
    """The models, the settings, the numbers with hold-out and floor, kinds, and every note."""
    paragraphs = [
        "\n".join(f"{name}: {_model(known)}" for name, known in result.models.items()),
        _settings(request, result),
        _table(result),
        group_text(result),
        "tokens: " + ", ".join(f"{count:,} {_word(kind)}" for kind, count in result.counts.items()),
        "\n".join(f"note: {note}" for note in result.notes),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _model(known: dict[str, Any]) -> str:
    revision = f" @ {known['revision']}" if known["revision"] else ""
    shape = f"{known['rows']:,} x {known['width']:,}"
    return f"{known['name']}{revision}, {known['tied']}, {shape}, {known['dtype']}"


def _settings(request: AlignRequest, result: "PairAlignment") -> str:
    centring = "centred" if request.center else "not centred"
    centring = ", ".join(filter(None, (centring, on_centring(result))))
    devices = {one.settings["device"] for one in result.comparisons.values()}
    origin = " (computed before, kept in the cache)" if result.settings.get("cached") else ""
    return (
        f"{request.map} map, {centring}, ridge {request.ridge:g}, hold-out {request.holdout:.0%}, "
        f"seed {request.seed}, on {', '.join(sorted(devices))}{origin}"
    )


def _word(kind: str) -> str:
    return kind.replace("_a", " in A").replace("_b", " in B").replace("_", " ")


def _table(result: "PairAlignment") -> str:
    """Mean cosines; what chance reaches stands beside what was found."""
    import pandas as pd

    columns = {
        "comparison": "comparison",
        "mean": "mean",
        "heldout_mean": "held-out",
        "floor_mean": "floor",
        "median": "median",
        "tokens": "tokens",
    }
    frame = pd.DataFrame(result.summary())[list(columns)].rename(columns=columns)
    shown = frame.astype({"held-out": float, "floor": float})
    return shown.to_string(index=False, float_format="{:.4f}".format, na_rep="-")
