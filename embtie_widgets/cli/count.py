"""`embtie count`: how often each token of a model occurs in a text."""

import argparse
from typing import TYPE_CHECKING

from embtie_widgets.cli import files
from embtie_widgets.cli.line import ProgressLine
from embtie_widgets.jobs.fetch import model_named
from embtie_widgets.jobs.processors import share_processors
from embtie_widgets.progress import spoken
from embtie_widgets.requests import CorpusRef

if TYPE_CHECKING:
    from embtie_widgets.results import Counts


def count(arguments: argparse.Namespace) -> int:
    """Count, say what was found, and write the table where that was asked for."""
    model = model_named(arguments.model)
    corpus = CorpusRef(
        arguments.corpus, arguments.column, arguments.split, limit_mb=arguments.limit_mb
    )
    if arguments.out is not None:
        files.prepare(arguments.out.parent)
    share_processors()
    from embtie_widgets.jobs.counting import count_tokens
    from embtie_widgets.jobs.exports import counts_csv, replace_file

    with ProgressLine(unit="B") as progress:
        counts = count_tokens(corpus, model, progress)
    print(describe(counts))
    if arguments.out is not None:
        replace_file(arguments.out, counts_csv(counts))
        print(f"Written to {arguments.out}")
    return 0


def describe(counts: "Counts") -> str:
    """What was read, how many tokens it has, and every note."""
    seen = int((counts.counts > 0).sum())
    read = ""
    if counts.documents:
        texts = "1 text" if counts.documents == 1 else f"{counts.documents:,} texts"
        read = f" ({texts}, {spoken(counts.bytes)})"
    kept = ", counted before and kept" if counts.settings.get("cached") else ""
    lines = [
        f"{counts.name}{read}{kept}",
        f"{counts.total:,} tokens; {seen:,} of {len(counts.counts):,} rows occur",
        *(f"note: {note}" for note in counts.notes),
    ]
    return "\n".join(lines)
