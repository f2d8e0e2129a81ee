"""`embtie train-nano`."""

import argparse

from embtie_widgets.cli.line import ProgressLine


def train_nano(arguments: argparse.Namespace) -> int:
    """Train the bundled pair; arguments that were not given keep the values of the bundled one."""
    text = arguments.corpus.name if arguments.corpus else "the bundled sample of the corpus"
    print(f"A tied and an untied model will be trained on {text}.", flush=True)
    from embtie_widgets.training import nano

    given = {name: getattr(arguments, name) for name in ("out", "steps", "corpus", "note")}
    with ProgressLine(lines=True) as progress:
        folder = nano.train_nano(
            **{name: value for name, value in given.items() if value is not None},
            progress=progress,
        )
    print(f"The pair and its provenance are in {folder}.")
    return 0
