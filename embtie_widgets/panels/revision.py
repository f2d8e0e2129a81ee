"""Choosing a revision: by its name, or by the step it was saved at."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.charts.steps import ticks
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.listing import ask_listing
from embtie_widgets.panels.fields import labelled, usable
from embtie_widgets.panels.guard import guard
from embtie_widgets.panels.turns import Turns
from embtie_widgets.panels.words import escape
from embtie_widgets.results.checkpoints import CheckpointReport
from embtie_widgets.widgets import StepSlider

Ask = Callable[..., None]


class RevisionPicker(w.Box):
    """A text field for a revision, and on demand a slider over the model's checkpoints.

    `value` is what the field holds, "" for the latest.  `ref` gives the model whose checkpoints
    are meant; they are asked for on a click alone, for the hub has to be asked.
    """

    value = t.Unicode("")

    def __init__(self, ref: Callable[[], str], ask: Ask = ask_listing) -> None:
        self._ref, self._ask, self._turns = ref, ask, Turns()
        self._report: CheckpointReport | None = None
        self._asked: str | None = None
        self.text = labelled(
            w.Text(description="revision", placeholder="latest", continuous_update=False),
            "A branch, tag or commit of a model from the hub, or a checkpoint of a folder",
        )
        self.by_step = w.Button(
            description="by step…",
            tooltip="List the model's checkpoints and choose one by its step",
        ).add_class("ep-by-step")
        self.status = w.HTML().add_class("ep-listing")
        self.slider = StepSlider(label="Checkpoint")
        super().__init__([self.text, self.by_step, self.status, self.slider])
        self.add_class("ep-revision")
        self._fold()
        self.text.observe(self._turn(self._typed), "value")
        self.by_step.on_click(self._turn(self._clicked))
        self.slider.observe(self._turn(self._slid), "index")
        self.observe(self._turn(self._follow), "value")

    @property
    def parts(self) -> tuple[w.Widget, w.Widget]:
        """What is used to choose one."""
        return self.text, self.by_step

    def forget(self) -> None:
        """Fold away what was said of another model."""
        if self._asked not in (None, self._ref()):
            self._asked = self._report = None
            self._fold()

    def _turn(self, action: Callable[..., None]) -> Callable[..., None]:
        """The action as a callback that no other thread disturbs and whose error is shown."""

        def in_turn(*arguments: Any) -> None:
            with self._turns.hold():
                action(*arguments)

        return guard(in_turn, self._fail)

    def _later(self, action: Callable[..., None]) -> Callable[..., None]:
        guarded = guard(action, self._fail)
        return lambda *arguments: self._turns.post(lambda: guarded(*arguments))

    def _fold(self) -> None:
        self.slider.layout.display = "none"
        self._say("")

    def _say(self, text: str) -> None:
        self.status.value = f'<p class="ep-quiet" role="status">{escape(text)}</p>' if text else ""
        self.status.layout.display = "" if text else "none"

    def _fail(self, error: EmbtieError, _details: str = "") -> None:
        usable(self.by_step)
        self._say(f"{error.message} {error.hint}")

    def _clicked(self, _click: Any) -> None:
        if self._report is not None:
            self._report = None
            self._fold()
            return
        ref = self._asked = self._ref()
        usable(self.by_step, "the list is on its way")
        self._say("Listing checkpoints…")
        self._ask(ref, self._later(lambda report: self._show(ref, report)), self._later(self._fail))

    def _show(self, ref: str, report: CheckpointReport) -> None:
        usable(self.by_step)
        if ref != self._ref():
            self._fold()
            return
        self._report = report
        self.slider.show(**ticks(report), index=self._index())
        self.slider.layout.display = ""
        self._say(f"{len(report.rows):,} checkpoints of {report.name}")

    def _index(self) -> int:
        names = [row.name for row in self._report.rows] if self._report else []
        return names.index(self.value) if self.value in names else -1

    def _typed(self, _change: Any) -> None:
        self.value = self.text.value.strip()

    def _slid(self, _change: Any) -> None:
        if self._report is not None and self.slider.index >= 0:
            self.value = self._report.rows[self.slider.index].name

    def _follow(self, _change: Any) -> None:
        self.text.value = self.value
        self.slider.index = self._index()
