"""Run, Cancel, and how far the work is."""

from typing import Any

import ipywidgets as w

from embtie_widgets.jobs.turn import before
from embtie_widgets.panels.fields import usable
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.notice import Notice
from embtie_widgets.panels.state import PanelState
from embtie_widgets.panels.words import escape, seconds
from embtie_widgets.progress import spoken

_FOLLOWED = ["phase", "stage", "ended", "request", "answered", "preview_of"]


class RunBar(w.HBox):
    """Shows the phase of a panel; what its buttons do is the panel's affair."""

    def __init__(self, state: PanelState, notice: Notice) -> None:
        self.run = w.Button(description="Run", tooltip="Compute with these settings")
        self.cancel = w.Button(description="Cancel", tooltip="Stop; the earlier result is kept")
        self.bar = w.HTML()
        self.text = w.HTML()
        self._state, self._notice, self._expected = state, notice, ""
        self.run.add_class("ep-primary")
        self.bar.add_class("ep-bar")
        self.text.add_class("ep-status")
        super().__init__([self.run, self.cancel, self.bar, self.text])
        self.add_class("ep-runbar")
        state.observe(told(self._draw), _FOLLOWED)
        notice.observe(self._draw, "messages")
        self._draw()

    def expect(self, estimate: Any) -> None:
        """Say what a run would cost (None: nothing to say), and how many would go before it."""
        self._expected = ""
        if estimate is not None:
            self._expected = _cost(estimate, before(self._state.request, estimate))
        self._draw()

    def _draw(self, _change: Any = None) -> None:
        phase = self._state.phase
        # One can be pressed before the other cannot: the focus of who goes by keys has where to go.
        states = [
            ("a run is under way" if phase == "running" else "", self.run),
            ("nothing runs" if phase == "idle" else "", self.cancel),
        ]
        for why_not, button in sorted(states, key=lambda state: bool(state[0])):
            usable(button, why_not)
        self.bar.value = "" if phase == "idle" else _bar(self._state.stage)
        text = self._resting() if phase == "idle" else self._running()
        # Seconds that go by are for the eye: the page speaks this line by stage (aloud.js).
        self.text.value = f'<span data-stage="{escape(self._stage())}">{escape(text)}</span>'

    def _stage(self) -> str:
        """What runs, in words that stay the same while it does; nothing at rest."""
        if self._state.phase == "running" and self._state.stage is not None:
            return str(self._state.stage.stage)
        return {"idle": "", "looking": "looking for an earlier result"}.get(
            self._state.phase, "starting"
        )

    def _running(self) -> str:
        stage = self._state.stage
        if stage is None:
            if self._state.phase == "looking":
                return "looking for an earlier result"
            return "starting" + (f" ({self._expected})" if self._expected else "")
        count = f" {stage.done} of {stage.total}" if stage.total > 1 else ""
        left = "" if stage.remaining is None else f", about {seconds(stage.remaining)} left"
        return f"{stage.stage}{count}, {seconds(stage.elapsed)} gone{left}"

    def _resting(self) -> str:
        ended = self._state.ended
        if self._failed():
            return "Failed; see the message."
        if self._notice.messages:
            return "See the message."
        previewed = self._state.previewing
        if previewed and ended is not None and ended.cancelled and self._of_these(ended):
            kept = "what there is" if self._state.unfinished else "the preview"
            return f"Cancelled; {kept} is kept."
        if self._state.stale or previewed or ended is None:
            said = "Settings changed: run to update." if self._state.stale else "Ready to run."
            return said + (f" Expected: {self._expected}." if self._expected else "")
        if ended.cancelled:
            return "Cancelled; the earlier result is kept."
        if ended.cached:
            return "Computed before."
        waited = f", after a wait of {seconds(ended.waited)}" if ended.waited >= 0.1 else ""
        return f"Computed in {seconds(ended.seconds - ended.waited)}{waited}."

    def _failed(self) -> bool:
        """Whether these very settings have failed."""
        ended = self._state.ended
        return ended is not None and ended.error is not None and self._of_these(ended)

    def _of_these(self, ended: Any) -> bool:
        return bool(ended.request == self._state.request)


def _cost(estimate: Any, others: int) -> str:
    cost = f"about {seconds(estimate.seconds)}, {spoken(estimate.bytes)} of memory"
    return cost + (f", after {others:,} other{'s' * (others > 1)}" if others else "")


def _bar(stage: Any) -> str:
    known = stage is not None and stage.total > 1
    value = f'value="{stage.done}" max="{stage.total}"' if known else ""
    return f'<progress {value} aria-label="progress"></progress>'
