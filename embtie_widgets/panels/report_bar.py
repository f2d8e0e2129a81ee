"""The bar of a page with several panels: all that is open as a report, and a report opened."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w

from embtie_widgets.jobs.report import MOST_BYTES, Opened, read_report
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.guard import guard
from embtie_widgets.panels.notice import Notice
from embtie_widgets.panels.report import ARCHIVE, PAGE, files_of, title_of
from embtie_widgets.widgets import DownloadButton, File, UploadButton

_NAMES = {
    PAGE: ("embtie-report.html", "text/html"),
    ARCHIVE: ("embtie-report.zip", "application/zip"),
}
_FAILED = "The report could not be made."


class ReportBar(w.VBox):
    """Saves all `panels` that are open, with the one in `front` first, and hands a report that was
    read to `take`.  What goes wrong is said where the page says it."""

    def __init__(
        self,
        panels: Callable[[], Sequence[Panel]],
        front: Callable[[], Panel],
        take: Callable[[Opened], None],
    ) -> None:
        self._take, self.notice = take, Notice(where="Reports")
        made = files_of(panels, front)
        self.buttons = {label: self._button(label, make) for label, make in made.items()}
        self.upload = UploadButton(
            guard(self._read, self.notice.show),
            MOST_BYTES,
            label="Open report",
            title="A report ZIP, shown as it was saved: results, settings, selection and view",
            accept=".zip,.json",
        )
        row = w.Box([*self.buttons.values(), self.upload]).add_class("ep-report-files")
        super().__init__([row, self.notice])
        self.add_class("ep-reports")

    def _button(self, label: str, make: Callable[[], bytes]) -> DownloadButton:
        def made() -> File | None:
            found: list[File] = []

            def add() -> None:
                self.notice.clear()
                found.append(File(make(), *_NAMES[label]))

            guard(add, self.notice.show)()
            if not found:
                button.fail(_FAILED)
            return found[0] if found else None

        title = title_of(label, "Every tab that was opened,")
        button = DownloadButton(made, label=label, title=title)
        return button

    def _read(self, data: bytes, _name: Any) -> None:
        self.notice.clear()
        self._take(read_report(data))
