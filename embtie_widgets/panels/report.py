"""Panels as a report: the page and the archive that their present state makes."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from embtie_widgets import __version__, guide
from embtie_widgets.charts.report import Part, report_page
from embtie_widgets.jobs.citation import papers, software
from embtie_widgets.jobs.exports import summary
from embtie_widgets.jobs.report import WHOLE, Saved, page_bytes, report_zip
from embtie_widgets.panels.exports import Offer
from embtie_widgets.panels.facts import facts_of
from embtie_widgets.panels.snapshot import Snapshot, snapshot
from embtie_widgets.panels.style import sheet
from embtie_widgets.panels.words import escape
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.reading import to_json

if TYPE_CHECKING:
    from embtie_widgets.panels.frame import Panel

PAGE, ARCHIVE = "Report", "Report ZIP"
_NOTHING = "Nothing was computed when this was saved: below is what was asked for."
_TITLES = {
    PAGE: "with settings, method and citation, as a page that needs no network",
    ARCHIVE: "as such a page with all data and requests; embtie opens it to what is shown now",
}


def page_of(
    panels: Sequence["Panel"], made: str, notes: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The report of these panels, as they stand, with what its zip says of itself, if any."""
    title = panels[0].title if len(panels) == 1 else "What weight tying does to token embeddings"
    said = f"Made with embtie {__version__} on {made[:16].replace('T', ' at ')} UTC"
    said = f"{said}. {notes[WHOLE]}" if WHOLE in notes else said
    settings = [_summary(panel) for panel in panels]
    return report_page(
        title,
        said,
        [_part(panel, notes.get(panel.request.kind, "")) for panel in panels],
        _citation([panel.request.kind for panel in panels]),
        sheet(),
        json.dumps(settings if len(panels) > 1 else settings[0], allow_nan=False),
    )


def archive_of(panels: Sequence["Panel"], front: "Panel", made: str) -> bytes:
    """The same as a zip that the dashboard opens, with `front` in front."""
    saved = [state_of(panel) for panel in panels]
    return report_zip(saved, front.request.kind, lambda notes: page_of(panels, made, notes), made)


def state_of(panel: "Panel") -> Saved:
    """What the panel asks and shows."""
    state = panel.state
    if state.result is None:
        return Saved(state.request, tokens=state.selection, view=state.view)
    shown = (state.answered, state.preview_of, state.result)
    return Saved(state.request, *shown, state.selection, state.view)


def now() -> str:
    """The time that a report is made at."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def files_of(
    panels: Callable[[], Sequence["Panel"]], front: Callable[[], "Panel"]
) -> dict[str, Callable[[], bytes]]:
    """How either file of a report is made, by the label of its button: at one moment of all."""

    def held(make: Callable[[Sequence["Panel"]], bytes]) -> bytes:
        shown = panels()
        with ExitStack() as turns:
            for panel in shown:
                turns.enter_context(panel.held())
            return make(shown)

    return {
        PAGE: lambda: held(lambda shown: page_bytes(page_of(shown, now()))),
        ARCHIVE: lambda: held(lambda shown: archive_of(shown, front(), now())),
    }


def report_offers(panel: "Panel") -> list[Offer]:
    """Both files of one panel, for its export bar."""
    made = files_of(lambda: [panel], lambda: panel)
    return [
        _offer(PAGE, "-report.html", "text/html", made[PAGE]),
        _offer(ARCHIVE, "-report.zip", "application/zip", made[ARCHIVE]),
    ]


def title_of(label: str, what: str = "This panel") -> str:
    """What a button of a report says on hover; `what` goes into it."""
    return f"{what} {_TITLES[label]}"


def _offer(label: str, suffix: str, mime: str, make: Callable[[], bytes]) -> Offer:
    return Offer(label, title_of(label), suffix, mime, lambda _request, _result: make())


def _part(panel: "Panel", note: str) -> Part:
    saved = state_of(panel)
    empty = saved.result is None
    seen = Snapshot() if empty else snapshot(panel.results)
    return Part(
        title=panel.title,
        lead=panel.lead,
        origin=" ".join(filter(None, (panel.outdated.words, _NOTHING * empty, note))),
        shown=seen.html,
        charts=seen.charts,
        facts=_facts(saved),
        request=to_json(saved.shown, indent=2),
        code=to_code(saved.shown),
        link=saved.link,
        method=guide.page(saved.shown.kind) if guide.known(saved.shown.kind) else "",
    )


def _facts(saved: Saved) -> str:
    """What was asked, with what it was made, and the hashes of what it was made of."""
    result = saved.result
    asked = saved.shown.to_dict()
    settings = {k: v for k, v in getattr(result, "settings", {}).items() if asked.get(k) != v}
    about = {"asked for": asked, **({"made with": settings} if settings else {})}
    return facts_of(about, getattr(result, "hashes", {}), (), "how this was made")


def _summary(panel: "Panel") -> Any:
    saved = state_of(panel)
    if saved.result is None:
        return {"embtie": __version__, "request": json.loads(to_json(saved.shown))}
    return summary(saved.shown, saved.result)


def _citation(kinds: Sequence[str]) -> str:
    """embtie, and the papers whose measures the panels use."""
    used = "".join(f"<li>{escape(one.text)}</li>" for one in papers(kinds))
    listed = f"<p>The papers that this report stands on:</p><ul>{used}</ul>" if used else ""
    return f"<p>{escape(software().text)}</p>{listed}"
