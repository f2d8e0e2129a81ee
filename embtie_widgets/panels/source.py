"""Choosing where a result comes from, a recorded file or run among it."""

from collections.abc import Callable, Sequence

import ipywidgets as w

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.fields import Field, labelled
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.recorded import FILE, RUN, RecordedForm

RECORDED = (FILE, RUN)
_UNNAMED = {
    FILE: ("No recorded file is named yet.", "Load one, or give its path, and press Run again."),
    RUN: ("No run is named yet.", "Give the path of its folder, and press Run again."),
}


class SourcePicker(w.VBox):
    """The source, and the form of a recorded file or run where it is one of these.

    A file or run is asked for only once it is named: until then the request keeps the source that
    it had, and `check` says so when Run is pressed.  `adapt(source)` is called whenever another one
    is chosen, for the panel to show what that one needs.
    """

    def __init__(
        self,
        options: Sequence[tuple[str, str]],
        words: tuple[str, str],
        form: RecordedForm,
        adapt: Callable[[str], None],
    ) -> None:
        label, tooltip = words
        self.source = labelled(w.Dropdown(description=label, options=options), tooltip)
        self.form, self._adapt = form, adapt
        self._before = next(value for _, value in options if value not in RECORDED)
        self._named = dict.fromkeys(RECORDED, "")
        super().__init__([self.source, form])
        self.add_class("ep-corpus")
        self.source.observe(told(lambda change: self._turned(change["old"])), "value")
        self._show()

    def fields(self) -> dict[str, Field]:
        """The request's fields that this edits."""
        form = self.form.fields()
        return {
            "source": Field(self.source, self._asked, self._kept),
            "file": Field(form["file"].control, lambda file: file if self._recorded else ""),
            "columns": Field(
                form["columns"].control, lambda pairs: pairs if self._recorded else ()
            ),
        }

    def check(self) -> None:
        """An EmbtieError where a file or run is to be named and is not."""
        if self.source.value in RECORDED and not self._recorded:
            raise EmbtieError(*_UNNAMED[self.source.value])

    @property
    def _recorded(self) -> bool:
        return self.source.value in RECORDED and bool(self.form.file.value)

    def _asked(self, source: str) -> str:
        if source in RECORDED:
            return source if self._recorded else self._before
        return self._kept(source)

    def _kept(self, source: str) -> str:
        if source not in RECORDED:
            self._before = source
        return source

    def _turned(self, before: str) -> None:
        """A file and a run are named each for itself."""
        now = self.source.value
        if before in RECORDED:
            self._named[before] = self.form.file.value
        if before in RECORDED and now in RECORDED:
            self.form.file.value = self._named[now]
        self._show()

    def _show(self) -> None:
        source = self.source.value
        self.form.layout.display = "" if source in RECORDED else "none"
        self.form.adapt(source)
        self._adapt(source)
