"""`embtie run`: a request carried out without a browser."""

import argparse
from typing import TYPE_CHECKING

from embtie_widgets.cli import files
from embtie_widgets.cli.line import ProgressLine
from embtie_widgets.requests import AlignRequest, read_request

if TYPE_CHECKING:
    from embtie_widgets.results import PairAlignment


def run(arguments: argparse.Namespace) -> int:
    """Read the request, carry it out, print its numbers and, if asked, write its files."""
    request = read_request(arguments.request)
    if arguments.out is not None:
        files.prepare(arguments.out)
    from embtie_widgets.jobs.run import run as run_request

    with ProgressLine() as progress:
        result = run_request(request, progress=progress)
    print(describe(request, result))
    if arguments.out is not None:
        written = files.write(arguments.out, request, result)
        print(f"\nWritten to {arguments.out}: {', '.join(written)}")
    return 0


def describe(request: AlignRequest, result: "PairAlignment") -> str:
    """The models, the settings, the numbers with hold-out and floor, and every note."""
    paragraphs = [
        "\n".join(f"{name}: {_model(known)}" for name, known in result.models.items()),
        _settings(request),
        _table(result),
        ", ".join(f"{name} {count:,}" for name, count in result.counts.items()),
        "\n".join(f"note: {note}" for note in result.notes),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _model(known: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in known.items() if _is_short(value))


def _is_short(value: object) -> bool:
    return (value is not None and not isinstance(value, dict | list | tuple)) or value == ()


def _settings(request: AlignRequest) -> str:
    centring = "centred" if request.center else "not centred"
    return (
        f"{request.map} map, {centring}, ridge {request.ridge:g}, "
        f"hold-out {request.holdout:.0%}, seed {request.seed}"
    )


def _table(result: "PairAlignment") -> str:
    """Mean cosines; what chance reaches stands beside what was found."""
    import pandas as pd

    frame = pd.DataFrame(result.summary())
    columns = {
        "comparison": "comparison",
        "mean": "mean",
        "heldout_mean": "held-out",
        "floor_mean": "floor",
        "median": "median",
        "tokens": "tokens",
    }
    shown = frame[list(columns)].rename(columns=columns)
    return shown.to_string(index=False, float_format="{:.4f}".format, na_rep="-")
