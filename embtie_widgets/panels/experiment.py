"""What a lesson runs: one request, started by a click, with its chart growing while it works.

    run = ew.Experiment(ew.GradientFlowRequest(steps=120))
    run                                            # shown by the cell
    run.then(lambda flow: f"It came to {...}.")    # shown by another, once the result is there

Without a page, `run.run()` runs it and waits.  It is a panel whose request is fixed: what has been
computed is kept as by the panels, and Run and Cancel are theirs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import ipywidgets as w

from embtie_widgets.charts.theme import templates
from embtie_widgets.panels.fields import card
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.style import style
from embtie_widgets.panels.words import paragraphs
from embtie_widgets.requests import Request
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.widgets import KernelWatch, PlotFigure

_WAITING = "This appears once the experiment above has been run."


class Experiment(Panel):
    """A request that is run by a click, and its charts, which follow it.

    `charts` are the numbers of those of the kind's charts that are shown, as reports have them.
    `parts` takes the place of what the frame runs requests with.
    """

    def __init__(
        self,
        request: Request,
        title: str = "Experiment",
        lead: str = "",
        charts: Sequence[int] = (0,),
        *,
        parts: Mapping[str, Any] | None = None,
    ) -> None:
        self.title, self.lead, self._charts = title, lead, tuple(charts)
        super().__init__(request, **(parts or {}))
        # The request is fixed, so there is nothing to share, and nothing to set.
        foot = w.VBox([self.runbar]).add_class("ep-foot")
        self.children = [
            style(),
            KernelWatch(),
            self.notice,
            self.head,
            foot,
            self.outdated,
            self.results,
        ]
        self.add_class("ep-lesson").add_class("ep-experiment")
        self.runbar.expect(self._estimate(request))

    def build_views(self) -> Iterable[w.Widget]:
        """The sentence, and the charts in their order."""
        self.headline = w.HTML().add_class("ep-headline")
        self.figures = [PlotFigure(templates(), {"data": [], "layout": {}}) for _ in self._charts]
        self.captions = [w.HTML().add_class("ep-caption") for _ in self._charts]
        pairs = zip(self.figures, self.captions, strict=True)
        self._shown = w.VBox([card("", figure, said) for figure, said in pairs])
        self._shown.layout.display = "none"
        return [self.headline, self._shown]

    def draw(self, result: Any) -> None:
        """Show a result, or as much of it as there is."""
        plots = KINDS[self.request.kind].part("plots")(result)
        self.headline.value = paragraphs(plots.title)
        for at, figure, said in zip(self._charts, self.figures, self.captions, strict=True):
            known = at < len(plots.charts)  # some charts need more of a result than others
            spec, words = plots.charts[at] if known else ({"data": [], "layout": {}}, "")
            said.value = paragraphs(words)
            figure.show(spec)
        self._shown.layout.display = ""

    def part_of(self, result: Any) -> str:
        """How far a result has come that is not whole."""
        return getattr(result, "progress", "") or "a part of the whole"

    def then(self, make: Callable[[Any], "w.Widget | str"]) -> w.VBox:
        """A place for what is made of the whole result, text or a widget, once it is there."""
        note, inside = w.HTML(paragraphs(_WAITING, "ep-quiet")), w.VBox()
        place = w.VBox([style(), note, inside])
        place.add_class("embtie-panel").add_class("ep-lesson")

        def fill() -> None:
            made = make(self.result)
            text = isinstance(made, str)
            inside.children = [card("What came out", w.HTML(paragraphs(made))) if text else made]
            note.value = ""

        def follow(_change: Any = None) -> None:
            if self.state.answers(self.request) and self.state.phase == "idle":
                self.state.unobserve(followed, "phase")
                fill()

        followed = self.callback(follow)
        self.state.observe(followed, "phase")
        followed()
        return place
