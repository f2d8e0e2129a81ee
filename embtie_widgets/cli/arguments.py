"""What may be typed after `embtie`.  Commands import what is heavy when they are carried out."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from embtie_widgets import __version__
from embtie_widgets.app.settings import LESSONS_PORT, PORT, ServeSettings, default_words, rule
from embtie_widgets.cli.count import count
from embtie_widgets.cli.doctor import doctor
from embtie_widgets.cli.fetch import fetch
from embtie_widgets.cli.reproduce import reproduce
from embtie_widgets.cli.run import run
from embtie_widgets.cli.serve import serve
from embtie_widgets.cli.train import train_nano


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments with their `command`; without one, the options are those of `serve`."""
    own = argv and (not argv[0].startswith("-") or argv[0] in {"-h", "--help", "--version"})
    return _parser().parse_args(argv if own else ["serve", *argv])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="embtie",
        description="What weight tying does to a language model's token embeddings.",
        epilog="Without a command, `embtie` serves the dashboard and takes the options of `serve`.",
    )
    parser.add_argument("--version", action="version", version=f"embtie {__version__}")
    add = parser.add_subparsers(metavar="COMMAND", required=True).add_parser
    for part in (
        _add_serve,
        _add_run,
        _add_reproduce,
        _add_count,
        _add_fetch,
        _add_doctor,
        _add_train,
    ):
        part(add)
    return parser


Add = Callable[..., argparse.ArgumentParser]


def _add_serve(add: Add) -> None:
    for name, what, port in (
        ("serve", "dashboard", PORT),
        ("lessons", "lessons", LESSONS_PORT),
    ):
        serving = add(name, help=f"serve the {what} and open the page in the browser")
        _add_serving(serving, port)
        serving.set_defaults(command=serve, lessons=name == "lessons", default_port=port)


def _add_serving(serving: argparse.ArgumentParser, port: int) -> None:
    """An option for each setting: only what is typed becomes an argument."""
    serving.add_argument("--config", default="", metavar="FILE.toml", help="a file of settings")
    serving.add_argument(
        "--show-settings", action="store_true", help="say what is set, and where, and serve nothing"
    )
    serving.add_argument(
        "--no-browser", dest="open_browser", action="store_false", help="do not open the browser",
        default=argparse.SUPPRESS,
    )  # fmt: skip
    for setting in fields(ServeSettings):
        option = f"--{setting.name.replace('_', '-')}"
        usual = str(port) if setting.name == "port" else default_words(setting.name)
        says = f"{rule(setting.name).says} (default: {usual})".replace("%", "%%")
        serving.add_argument(option, **_taken(setting), default=argparse.SUPPRESS, help=says)


def _taken(setting: Any) -> dict[str, Any]:
    """How the text after an option becomes the value of a setting."""
    if setting.type == tuple[str, ...]:
        return {"action": "append", "metavar": "NAME"}
    if isinstance(setting.default, bool) or "bool" in str(setting.type):
        return {"action": argparse.BooleanOptionalAction}
    if setting.type in (int, float):
        return {"type": _number, "metavar": "N"}
    return {"metavar": "TEXT"}


def _add_run(add: Add) -> None:
    running = add("run", help="carry out a request without a browser")
    running.add_argument(
        "request",
        metavar="REQUEST",
        help="a request file (.json), a link or its query, or a report (.zip) to make anew",
    )
    running.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="write request.json, result.json, a table (.csv) and figure.html into this folder",
    )
    running.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write a report: a page without network (.html), or a zip for the dashboard (.zip)",
    )
    running.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="where the runs of a sweep are trained: a Dask scheduler (tcp://host:8786), 'local:4' "
        "for four processes of this machine, or 'here'",
    )
    running.set_defaults(command=run)


def _add_reproduce(add: Add) -> None:
    reproducing = add(
        "reproduce",
        help="hold the papers' printed tables and figures against what is computed here",
        description="Computes what can be computed of the papers' printed numbers, and says of the "
        "rest what is missing: the same as `embtie run` of such a request.",
    )
    reproducing.add_argument(
        "items",
        nargs="*",
        metavar="ITEM",
        help="such as table-1 or figure-4, or a paper; all without one",
    )
    reproducing.add_argument("--list", action="store_true", help="list what there is")
    reproducing.add_argument(
        "--fetch", action="store_true", help="bring what is missing from the hub; this may be much"
    )
    reproducing.add_argument(
        "--data",
        default="",
        metavar="FOLDER",
        help="where the recorded runs lie that the papers' authors released",
    )
    reproducing.add_argument(
        "--no-stand-in",
        action="store_true",
        help="leave out what the bundled pair gives in place of models that are not here",
    )
    reproducing.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="write request, result, table (.csv) and figure.html into this folder",
    )
    reproducing.set_defaults(command=reproduce)


def _add_count(add: Add) -> None:
    counting = add(
        "count",
        help="count the tokens of a text",
        description="Counts how often each token of a model occurs in a text, and keeps it.",
    )
    counting.add_argument("model", metavar="MODEL", help="a model, with @REVISION if need be")
    counting.add_argument(
        "corpus",
        metavar="CORPUS",
        help="'bundled', a text (.txt, .jsonl, .gz), a folder of them, datasets:NAME[:SUBSET], or "
        "ready counts (.npy, .json, .csv, .tsv)",
    )
    counting.add_argument("--out", type=Path, metavar="FILE.csv", help="write the counts there")
    counting.add_argument("--column", default="text", help="where records hold it (%(default)s)")
    counting.add_argument("--split", default="train", help="part of a data set (%(default)s)")
    counting.add_argument(
        "--limit-mb", type=_positive, default=0, metavar="N", help="stop after N MB of text"
    )
    counting.set_defaults(command=count)


def _add_fetch(add: Add) -> None:
    fetching = add(
        "fetch",
        help="bring the matrices of models from the hub to this machine",
        description="Fetches only the matrices, into the cache; what broke off goes on from there.",
    )
    fetching.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="a pair of the catalogue by name, or hub ids, each with @REVISION if need be",
    )
    fetching.add_argument("--dry-run", action="store_true", help="only say what would be fetched")
    fetching.add_argument("--list", action="store_true", help="list the catalogue")
    fetching.set_defaults(command=fetch)


def _add_doctor(add: Add) -> None:
    checking = add("doctor", help="say what is installed, usable and cached")
    checking.add_argument("--json", action="store_true", help="print JSON")
    checking.set_defaults(command=doctor)


def _add_train(add: Add) -> None:
    training = add("train-nano", help="train the bundled pair of twins again")
    training.add_argument(
        "--out",
        type=Path,
        default=Path("nano"),
        metavar="FOLDER",
        help="where the pair is written (%(default)s)",
    )
    training.add_argument("--steps", type=_positive, metavar="N", help="optimiser steps")
    training.add_argument("--corpus", type=Path, metavar="FILE", help="plain or gzipped text")
    training.add_argument("--note", metavar="TEXT", help="what the corpus is, for the provenance")
    training.set_defaults(command=train_nano)


def _number(text: str) -> float | str:
    """The number, or the text that is none: what a setting may be is told by its rule."""
    for kind in (int, float):
        try:
            return kind(text) if text.isascii() else text
        except ValueError:
            continue
    return text


def _positive(text: str) -> int:
    return _whole(text, 1, 10**9)


def _whole(text: str, low: int, high: int) -> int:
    if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
    return int(text)
