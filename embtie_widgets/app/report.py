"""Reports without a browser: what a panel or the dashboard saves, from scripts and notebooks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from embtie_widgets.app.dashboard import TABS, Dashboard
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.asked import Asked, asked_in
from embtie_widgets.jobs.exports import replace_file
from embtie_widgets.jobs.report import Saved, page_bytes
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.report import archive_of, now, page_of

SUFFIXES = (".html", ".zip")


def report(what: Any, path: str | Path, result: Any = None) -> Path:
    """Write a report and give its path: a page without network (.html), or a zip that the
    dashboard opens (.zip).

    `what` is a request, its JSON text or the path of a file with it, the query of a link, a report
    that is made anew, or a panel or dashboard, which is shown as it stands.  All but these two are
    run first, unless the `result` of a request is given; what is in the cache is there at once.
    """
    place = check_place(path)
    if isinstance(what, Dashboard):
        panels, front = what.opened(), what.panel
    elif isinstance(what, Panel):
        panels, front = [what], what
    else:
        panels, front = _shown(asked_in(what), (lambda _request: result) if result else _run)
    return write_report(panels, front, place)


def check_place(path: str | Path) -> Path:
    """The path, if a report can be written there; told before any long work."""
    place = Path(path)
    if place.suffix not in SUFFIXES:
        raise EmbtieError(
            f"A report is no '{place.suffix}' file.", f"Name it {' or '.join(SUFFIXES)}."
        )
    if not place.parent.is_dir():
        raise EmbtieError(
            f"There is no folder for '{place.name}'.", "Make it first, or name another place."
        )
    return place


def panel_with(saved: Saved) -> Panel:
    """A panel that shows this state, with its result."""
    tab = next(tab for tab in TABS if tab.kind == saved.request.kind)
    panel = tab.make(saved.shown, parts={"known": lambda _request: saved.result})
    panel.open_saved(saved, "")
    return panel


def write_report(panels: Sequence[Panel], front: Panel, place: Path) -> Path:
    """Write these panels as a report, whole or not at all."""
    made = now()
    whole = place.suffix == ".zip"
    data = archive_of(panels, front, made) if whole else page_bytes(page_of(panels, made))
    replace_file(place, data)
    return place


def _shown(asked: Asked, answer: Callable[[Any], Any]) -> tuple[list[Panel], Panel]:
    panels = [
        panel_with(replace(one, answered=one.request, result=answer(one.request)))
        for one in asked.panels
    ]
    return panels, panels[asked.front]


def _run(request: Any) -> Any:
    from embtie_widgets.jobs.run import run

    return run(request)
