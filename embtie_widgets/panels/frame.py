"""What every panel has: a request, Run and Cancel, notices, guide, link, code, and its own parts.

A panel is one measure, one chart and one short file; `.github/CONTRIBUTING.md` walks through all
that a new one needs.  Here: it names the request that it `asks`, gives controls, views, settings
and exports once (`build_...`), shows a result (`draw`: words first, the heavy figure last) and
lights up `state.lit` (`selected`).

A kind whose exact run takes long names a cheaper request too (`preview`), whose result is shown
until the exact one is there; `part_of` says in the panel on how much of the whole it rests.  One
whose result grows hands on what there is of it (`progress.hand_on`): the panel draws that, says by
`part_of` how far it has come, and keeps it on the page where the run is cancelled.

One with a number per token of a model pair stands on `panels/token_panel.py`, whose text goes on
from here; `panels/alignment.py` is such a panel.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import ipywidgets as w

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.previews import Preview
from embtie_widgets.jobs.report import Saved
from embtie_widgets.jobs.run import estimate, first
from embtie_widgets.jobs.runner import Job, Outcome, Runner, Stage
from embtie_widgets.panels.answer import Answer, Word
from embtie_widgets.panels.exports import ExportBar, Offer
from embtie_widgets.panels.fields import Binding, Field, Setting, Settings, fold_where_narrow
from embtie_widgets.panels.guard import guard, telling
from embtie_widgets.panels.guide import Head
from embtie_widgets.panels.links import PanelLink
from embtie_widgets.panels.notice import Notice, Outdated
from embtie_widgets.panels.report import report_offers
from embtie_widgets.panels.runbar import RunBar
from embtie_widgets.panels.selection import SelectionBar
from embtie_widgets.panels.state import PanelState, ids_of
from embtie_widgets.panels.style import style
from embtie_widgets.panels.turns import Turns
from embtie_widgets.requests.link import Link
from embtie_widgets.results import carried
from embtie_widgets.widgets import Aria, Gathering, KernelWatch

AT_ONCE_SECONDS = 1.0


class Panel(w.VBox, metaclass=Gathering):
    """The frame of a panel; see the module's text for what a panel adds to it.

    `runner` runs requests, `estimate` says beforehand what they cost, and `known` gives a result
    that is already there; they have the defaults that users want.  Without a request, `options`
    are the fields of one of the kind that the panel `asks`.
    """

    title = ""
    lead = ""
    asks: Any = None

    def __init__(
        self,
        request: Any = None,
        *,
        runner: Any = None,
        estimate: Callable[[Any], Any] = estimate,
        known: Callable[[Any], Any] = first,
        **options: Any,
    ) -> None:
        request = self.asks(**options) if request is None else request
        self.state = PanelState(request=request)
        self._turns = Turns()
        self._runner, self._estimate, self._known = runner or Runner(), estimate, known
        self._job: Job | None = None
        self._answer: Answer | None = None
        self._drawing = False
        self.notice, self.outdated = Notice(where=self.title), Outdated()
        with telling(self.notice.show):
            parts = self._built(request)
        super().__init__(parts)
        self.add_class("embtie-panel")
        self._listen()

    def _built(self, request: Any) -> list[w.Widget]:
        self.runbar = RunBar(self.state, self.notice)
        self.selection_bar = SelectionBar(self.state)
        fields, controls = self.build_controls()
        self._binding = Binding(fields, self.callback(self._edited))
        self._binding.write(request)
        self.results = w.VBox(list(self.build_views())).add_class("ep-results")
        self._settings = Settings(self.build_settings(), self.state, self.callback)
        self.link = PanelLink(self.state, self.open_link, self.callback)
        offers = [*self.build_exports(), *report_offers(self)]
        self.exports = ExportBar(self.state, self.link.copy, offers, self.callback)
        aria, body = Aria(), self._body(controls)
        aria.follow(body)
        unseen = [style(), aria, KernelWatch(), self.notice, self.link.page]
        self.head = Head(self.title, self.lead, request.kind, self.callback)
        return [*unseen, self.head, body]

    def _listen(self) -> None:
        self.runbar.run.on_click(self.callback(self._run_clicked))
        self.runbar.cancel.on_click(self.callback(lambda _: self.cancel()))
        self.state.observe(
            self.callback(self._restate),
            ["request", "result", "answered", "preview_of", "phase", "wanted", "origin"],
        )
        self.state.observe(self.callback(self._reselect), ["selection", "found"])
        self.selection_bar.clear.on_click(self.callback(lambda _: self.state.choose(())))
        self.selection_bar.take.on_click(self.callback(self._select_found))

    # What a panel adds.

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """The controls by field of the request, and how they stand in the page."""
        return {}, []

    def build_views(self) -> Iterable[w.Widget]:
        """Charts and tables, in the order shown; made once."""
        return []

    def build_settings(self) -> Mapping[str, Setting]:
        """How the result is looked at, by a short name: what a link carries beside the request.
        A link sets them in this order."""
        return {}

    def build_exports(self) -> Iterable[Offer]:
        """The files that the export bar offers, beside the link and the code."""
        return []

    def draw(self, result: Any) -> None:
        """Show a whole result in the views: words and tables first, heavy figures last."""

    def selected(self) -> None:
        """Light `state.lit` up in every view; `selection_bar` is there to be placed among them."""

    def part_of(self, result: Any) -> str:
        """On how much of the whole a preview rests, such as "2,000 of 50,304 tokens"."""
        return "a part of the whole"

    def edited(self) -> None:
        """Adapt the controls to one another after a change."""

    def check(self) -> None:
        """Raise what Run should say where the controls leave out what they ask for."""

    def prepare(self, request: Any) -> None:
        """Make the controls able to show a request that comes from elsewhere."""

    def at_hand(self, request: Any) -> Any:
        """The result of a request that the panel still has; None where it has none."""

    def patience(self, request: Any) -> float:
        """How many seconds a run may take that begins without Run."""
        return AT_ONCE_SECONDS

    # What code and other parts use.

    def begin(self) -> None:
        """Answer the first request: at once where its result is already there."""
        self.callback(self._begin)()

    @property
    def request(self) -> Any:
        """What the controls say; setting it sets them."""
        return self.state.request

    @request.setter
    def request(self, request: Any) -> None:
        with self._turns.hold():
            with self._binding.quiet():
                self.prepare(request)
            self._binding.write(request)
            self._changed(request)

    @property
    def result(self) -> Any:
        """The last whole result, None before the first."""
        return self.state.result

    @property
    def selection(self) -> frozenset[int]:
        """The chosen tokens, by their place in `result.tokens`."""
        return self.state.selection

    @selection.setter
    def selection(self, ids: Iterable[int]) -> None:
        with self._turns.hold():
            self.state.selection = ids_of(ids)

    def run(self) -> Any:
        """Run the request, wait for it, and return its result; raises what went wrong, and
        `Cancelled` where somebody has stopped it."""
        answer = self.start()
        answer.event.wait()
        if answer.error is not None:
            raise answer.error
        return self.result

    def start(self) -> Answer:
        """Start the request and return at once; the page follows it.  A preview comes first where
        the kind of request has one, unless something of this request is on the page already."""
        with self._turns.hold():
            previews = not self.state.shows(self.request)
            return self._started("running", partial(self._runner.submit, previews=previews))

    def held(self) -> AbstractContextManager[None]:
        """Inside, nothing else changes what the panel shows."""
        return self._turns.hold()

    def cancel(self) -> None:
        """Stop the running job; the earlier result is kept."""
        if self._job is not None:
            self._job.cancel()

    def callback(self, action: Callable[..., Any]) -> Callable[..., None]:
        """The action as a callback: in its turn, and with no error lost."""

        def in_turn(*arguments: Any) -> None:
            with self._turns.hold():
                action(*arguments)

        in_turn.__qualname__ = getattr(action, "__qualname__", None) or repr(action)
        return guard(in_turn, self.notice.show)

    def later(self, action: Callable[..., Any]) -> Callable[..., None]:
        """The action for another thread to call: carried out in the panel's turn, without waiting
        for it, and with no error lost."""
        guarded = guard(action, self.notice.show)
        return lambda *arguments: self._turns.post(lambda: guarded(*arguments))

    # How it works.

    def _body(self, controls: Iterable[w.Widget]) -> w.Widget:
        asked = w.VBox([*controls]).add_class("ep-asked")
        foot = w.VBox([self.runbar]).add_class("ep-foot")
        side = w.VBox([fold_where_narrow("Settings", asked), asked, foot]).add_class("ep-side")
        main = w.VBox([self.outdated, self.exports, self.results]).add_class("ep-main")
        return w.Box([side, main]).add_class("ep-body")

    def _begin(self) -> None:
        result = self._known(self.request)
        if result is None:
            self._changed(self.request)
        else:
            self.edited()
            self._finished(Outcome(self.request, result=result, cached=True))

    def _run_clicked(self, _click: Any) -> None:
        """Run what the controls say, and say what in them cannot be, never run something else."""
        self.check()
        self.state.request = self._binding.read(self.request)
        self.start()

    def _edited(self, _change: Any) -> None:
        self.state.wanted = None
        self._changed(self._binding.read(self.request))

    def _changed(self, request: Any) -> None:
        """Take over a request: run it where that is quick, else see whether its result is there
        from an earlier run, and wait for Run."""
        self.state.request = request
        self.notice.clear()
        self.runbar.expect(None)
        self.edited()
        if self.state.phase == "looking":
            self._stop()
        if self.state.answers(request) and self.state.phase == "idle":
            return
        held = self.at_hand(request) if self.state.phase == "idle" else None
        if held is not None:
            self._finished(Outcome(request, result=held, cached=True))
        elif not self._quick_or_expected() and self.state.phase == "idle":
            self._started("looking", self._runner.look)

    def _quick_or_expected(self) -> bool:
        """Run what is quick; of everything else say what it would cost."""
        estimate = self._estimate(self.request)
        quick = estimate is not None and estimate.seconds < self.patience(self.request)
        if quick:
            self.start()
        else:
            self.runbar.expect(estimate)
        return quick

    def _stop(self) -> None:
        """Hear no more of what is under way."""
        if self._job is not None:
            self._job.drop()
        if self._answer is not None:
            self._answer.event.set()
        self._answer, self.state.phase, self.state.stage = None, "idle", None

    def _started(self, phase: str, submit: Callable[..., Job]) -> Answer:
        self.notice.clear()
        if self._answer is not None:
            self._answer.event.set()
        answer = self._answer = Answer(self._turns.post, guard(self._heard, self.notice.show))
        self.state.stage, self.state.phase = None, phase
        self._job = submit(self.request, answer)
        return answer

    def _restate(self, _change: Any) -> None:
        state, shown = self.state, self.result is not None
        dim = state.stale or (state.phase == "running" and shown and not state.previewing)
        (self.results.add_class if dim else self.results.remove_class)("ep-stale")
        self.outdated.show(state, self.part_of(self.result) if state.previewing else "")

    def _heard(self, answer: Answer, word: Word) -> None:
        """A word of the run that counts; those of older ones are dropped."""
        if answer is not self._answer:
            return
        if isinstance(word, Stage):
            self.state.stage = word
        elif isinstance(word, Outcome):
            self._finished(word)
        elif self.state.phase != "idle" and self._is_news(word):
            self._take(word.result, word.request, word.of)

    def _is_news(self, preview: Preview) -> bool:
        """Whether it says more than the page does: one preview is as good as another, but what is
        not finished grows."""
        grown = preview.partial and not self.state.answers(preview.of)
        return grown or not self.state.shows(preview.of)

    def _finished(self, outcome: Outcome) -> None:
        """Show what came of a job; the panel is at rest only when that is whole on the page."""
        looked = self.state.phase == "looking"
        try:
            if outcome.error is not None:
                self.notice.show(outcome.error)
            elif outcome.result is not None:
                self._take(outcome.result, outcome.request)
        finally:
            self.state.phase, self.state.stage = "idle", None
        found = outcome.error is not None or outcome.result is not None
        if found or not looked:
            self.state.ended = outcome
        elif not outcome.cancelled:
            self._quick_or_expected()

    def _take(self, result: Any, answered: Any, preview_of: Any = None, origin: str = "") -> None:
        self._draw(result)
        with self.state.hold_trait_notifications():
            self.state.result, self.state.answered = result, answered
            self.state.preview_of, self.state.origin = preview_of, origin
        self._show_wanted()

    def _draw(self, result: Any) -> None:
        """Draw a result with the selection brought over to its tokens."""
        before, self._drawing = self.selection, True
        try:
            self.state.selection = self._carried(result)
            self.draw(result)
        except BaseException:
            self.state.selection = before
            raise
        finally:
            self._drawing = False

    def _carried(self, result: Any) -> frozenset[int]:
        before, after = getattr(self.result, "tokens", None), getattr(result, "tokens", None)
        if before is None or after is None:
            return self.selection
        return carried(before, after, self.selection)

    def open_link(self, link: Link) -> None:
        """Take over what a link holds; its tokens and its view wait for its result."""
        self.state.wanted = link
        self.request = link.request
        self._show_wanted()

    def open_saved(self, saved: Saved, origin: str) -> None:
        """Show what a report holds, without a run; a panel of it without a result is opened like a
        link.  `origin` says of the result that it was not computed here."""
        if saved.result is None:
            self.open_link(Link(saved.request, saved.tokens, saved.view))
            return
        with self._turns.hold():
            self._stop()
            with self._binding.quiet():
                self.prepare(saved.request)
            self._binding.write(saved.request)
            self.state.request = saved.request
            self.notice.clear()
            self.edited()
            self.state.wanted = Link(saved.shown, saved.tokens, saved.view)
            self._take_saved(saved, origin)
            self.state.ended = Outcome(saved.shown, result=saved.result, cached=True)

    def _take_saved(self, saved: Saved, origin: str) -> None:
        """Draw it; of one that does not hold together nothing is kept."""
        try:
            self._take(saved.result, saved.answered, saved.preview_of, origin)
        except Exception as error:
            self.state.wanted = None
            if self.result is not None:
                self._draw(self.result)
            raise EmbtieError(
                "The result in the report does not hold together, so it is not shown.",
                "Press Run to compute it here.",
            ) from error

    def _show_wanted(self) -> None:
        wanted = self.state.wanted
        if wanted is None or not self.state.shows(wanted.request):
            return
        known = len(getattr(self.result, "tokens", ()))
        if wanted.tokens:
            self.state.choose([i for i in wanted.tokens if i < known])
        for error in self._settings.take(wanted.view):
            self.notice.show(error)
        self.state.wanted = None

    def _reselect(self, _change: Any) -> None:
        if not self._drawing:
            self.selected()

    def _select_found(self, _click: Any) -> None:
        if self.state.found is not None:
            self.state.choose(self.state.found, only=True)
