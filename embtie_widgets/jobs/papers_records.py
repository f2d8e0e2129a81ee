"""The files that the papers' authors released, in a folder that a request names: each is known by
what it holds, whatever it is called."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.papers_ground import Lack
from embtie_widgets.sources.permission import RUNS, run_path

_MOST = 200  # files of a folder that are looked into
_ASK = f"Leave it empty, or ask the page's owner to put the folder into the {RUNS} folder."
_TOLD = 5  # names of files that are told beside what is missing
GRADIENT, DRIFT, SWEEP = "paper-gradient", "paper-drift", "paper-sweep"
_TYING = "github.com/AntonioLopardo/weight-tying-bias"
_RELEASED = {  # what it is, where its authors keep it, and about how many bytes
    GRADIENT: ("the gradient log of OLMo-1B, a CSV of 10,010 steps", _TYING, 2_186_323),
    SWEEP: (
        "the 140 runs of the centering paper, a CSV",
        "github.com/flxst/output-embedding-centering",
        62_692,
    ),
    DRIFT: ("the drift series of {model}, a JSON file", _TYING, 2_000),
}


@dataclass(frozen=True)
class Records:
    """Released files by what they are; drift series by model too.  `folder` says whether one was
    named, `unread` the files in it that hold no table, or a damaged one."""

    folder: bool = False
    files: dict[tuple[str, str], Path] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def find(self, kind: str, model: str = "") -> Path | None:
        """The file of this kind, None where it is not there."""
        return self.files.get((kind, model))

    def lack(self, kind: str, model: str = "") -> Lack:
        """What to say of a file that is not there."""
        what, where, size = _RELEASED[kind]
        reason = "No folder of recorded runs was named; give it as data."
        if self.folder:
            reason = f"The folder of recorded runs does not hold it.{self._unread()}"
        return Lack(f"{what.format(model=model)} ({where})", size, reason)

    def _unread(self) -> str:
        named = ", ".join(f"'{name}'" for name in self.unread[:_TOLD])
        more = len(self.unread) - _TOLD
        rest = f" and {more:,} more" if more > 0 else ""
        return f" No table could be read from {named}{rest}: cut short, or none." if named else ""


def records_in(named: str) -> Records:
    """What is in the folder that a request names, "" for none; an EmbtieError where there is no
    such folder, or a visitor may not look into it."""
    if not named:
        return Records()
    try:
        folder = run_path(named)
    except EmbtieError as error:  # whose hint speaks of an upload, which this panel has none of
        raise EmbtieError(error.message, _ASK) from None
    if not folder.is_dir():
        raise EmbtieError(
            f"There is no folder called '{folder.name or named}' to find the papers' recorded runs "
            "in.",
            "Name the folder that holds the released CSV and JSON files.",
        )
    from embtie_widgets.sources.tables import SUFFIXES

    found: dict[tuple[str, str], Path] = {}
    unread: list[str] = []
    for path in sorted(path for path in folder.iterdir() if path.is_file())[:_MOST]:
        if path.name.startswith(".") or path.suffix.lower() not in SUFFIXES:
            continue
        try:
            known = _known(path)
        except EmbtieError:
            unread.append(path.name)
            continue
        if known is not None:
            found.setdefault(known, path)
    return Records(True, found, tuple(unread))


def _known(path: Path) -> tuple[str, str] | None:
    """Which released file this is; None for any other.  An EmbtieError where it is no table."""
    from embtie_widgets.sources.recorded_names import known
    from embtie_widgets.sources.tables import read_table

    table = read_table(path)
    file: Any = known(tuple(table.frame.columns))
    if file is None or file.key not in _RELEASED:
        return None
    return file.key, table.facts.get("model_id", "") if file.key == DRIFT else ""
