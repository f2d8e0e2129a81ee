"""What a panel gives away: buttons whose files are made on a click, from what is shown."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ipywidgets as w

from embtie_widgets.charts.files import result_page, stamped
from embtie_widgets.jobs.exports import csv_bytes, summary_json
from embtie_widgets.panels.fields import usable
from embtie_widgets.panels.state import PanelState
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.requests.reading import request_key
from embtie_widgets.widgets import CopyButton, DownloadButton, File, PlotFigure

Guard = Callable[[Callable[..., Any]], Callable[..., None]]
_FAILED = "The file could not be made."


@dataclass(frozen=True)
class Offer:
    """A file to offer: `make(request, result)` gives it, or `begin(request, result, done, failed)`
    has the page make it and calls one of the two with bytes or a sentence.

    `needs` says whether there is something to give, and `lacks` what is missing where a result has
    nothing of it.
    """

    label: str
    title: str
    suffix: str
    mime: str
    make: Callable[..., bytes] | None = None
    begin: Callable[..., None] | None = None
    needs: Callable[[PanelState], bool] = field(default=lambda state: state.result is not None)
    lacks: str = "this result has nothing for it"

    def why_not(self, state: PanelState) -> str:
        """Why there is nothing to give; nothing where there is."""
        if self.needs(state):
            return ""
        return "there is no result yet" if state.result is None else self.lacks


def csv_offer() -> Offer:
    """Every row of the result with its numbers."""
    return Offer("CSV", "Every token with its numbers", ".csv", "text/csv", csv_bytes)


def selection_offer(
    make: Callable[[Any, Any], bytes], has_rows: Callable[[Any], bool] = lambda result: True
) -> Offer:
    """The chosen tokens, once there are any, of a result that `has_rows`."""
    return Offer(
        "CSV of selection",
        "The selected tokens with their numbers",
        "-selection.csv",
        "text/csv",
        make,
        needs=lambda state: (
            state.result is not None and has_rows(state.result) and bool(state.selection)
        ),
        lacks="no token of this result is selected",
    )


def page_offer() -> Offer:
    """The chart as the page that the command line writes too."""

    def make(request: Any, result: Any) -> bytes:
        plots = KINDS[request.kind].part("plots")(result)
        return result_page(plots, summary_json(request, result)).encode()

    return Offer("HTML", "The chart as a page that needs no network", ".html", "text/html", make)


def picture_offers(
    figure: PlotFigure, caption: Callable[[Any], str], name: str = "chart", *, own: bool = False
) -> list[Offer]:
    """The figure as a drawing and as a picture, each with its settings inside.

    Buttons and files of a panel's second figure have its name: `own`.
    """

    def svg(request: Any, result: Any, done: Any, failed: Any) -> None:
        figure.picture("svg", caption(result), summary_json(request, result), done, failed)

    def png(request: Any, result: Any, done: Any, failed: Any) -> None:
        figure.picture("png", caption(result), "", stamping(request, result, done), failed)

    label, suffix = (f"{name.capitalize()} ", f"-{name}") if own else ("", "")
    drawing, picture = f"The {name} as a drawing", f"The {name} as a picture"
    return [
        Offer(f"{label}SVG", drawing, f"{suffix}.svg", "image/svg+xml", begin=svg),
        Offer(f"{label}PNG", picture, f"{suffix}.png", "image/png", begin=png),
    ]


def stamping(request: Any, result: Any, done: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """`done` for a picture, which gets the settings inside first."""
    settings = summary_json(request, result)
    return lambda data: done(stamped(data, settings))


class ExportBar(w.HBox):
    """Copy link, copy code, and the files of a panel."""

    def __init__(
        self, state: PanelState, link: w.Widget, offers: list[Offer], callback: Guard
    ) -> None:
        self._state, self._callback = state, callback
        self.code = CopyButton(
            label="Copy code", title="The Python lines that make this result without the page"
        ).add_class("ep-code")
        self.files = {offer.label: self._button(offer) for offer in offers}
        self._offers = offers
        super().__init__([link, self.code, *self.files.values()])
        self.add_class("ep-exports")
        state.observe(callback(lambda _: self._follow()), ["request", "result", "selection"])
        self._follow()

    def _follow(self) -> None:
        self.code.text = to_code(self._state.shared)
        for offer in self._offers:
            usable(self.files[offer.label], offer.why_not(self._state))

    def _button(self, offer: Offer) -> DownloadButton:
        def make() -> File | None:
            made: list[File | None] = []
            self._callback(lambda: made.append(self._made(offer, button)))()
            if not made:
                button.fail(_FAILED)
            return made[0] if made else None

        button = DownloadButton(make, label=offer.label, title=offer.title)
        button.add_class("ep-download")
        return button

    def _made(self, offer: Offer, button: DownloadButton) -> File | None:
        request, result = self._state.answered, self._state.result
        name = f"embtie-{request.kind}-{request_key(request)[:8]}{offer.suffix}"
        if offer.make is not None:
            return File(offer.make(request, result), name, offer.mime)
        if offer.begin is not None:
            done = self._callback(lambda data: button.deliver(File(data, name, offer.mime)))
            offer.begin(request, result, done, button.fail)
        return None
