"""The dashboard: what it is, and one tab for each panel that works."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ipywidgets as w

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.report import Opened, Saved
from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.panels.bottleneck import BottleneckPanel
from embtie_widgets.panels.centering import CenteringPanel
from embtie_widgets.panels.checkpoints import CheckpointsPanel
from embtie_widgets.panels.drift import DriftPanel
from embtie_widgets.panels.evaluate import EvaluatePanel
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.geometry import GeometryPanel
from embtie_widgets.panels.gradient import GradientFlowPanel
from embtie_widgets.panels.guard import guard
from embtie_widgets.panels.lens import LensPanel
from embtie_widgets.panels.norms import NormFrequencyPanel
from embtie_widgets.panels.papers import PaperTablesPanel
from embtie_widgets.panels.parameters import ParametersPanel
from embtie_widgets.panels.report_bar import ReportBar
from embtie_widgets.panels.scaling import ScalingPanel
from embtie_widgets.panels.signatures import SignaturesPanel
from embtie_widgets.panels.staircase import StaircasePanel
from embtie_widgets.panels.trials import BottleneckTrialsPanel
from embtie_widgets.requests import (
    AlignRequest,
    BottleneckRequest,
    BottleneckTrialsRequest,
    CenteringRequest,
    CheckpointsRequest,
    DriftRequest,
    EvaluateRequest,
    GeometryRequest,
    GradientFlowRequest,
    LensRequest,
    NormFrequencyRequest,
    PaperTablesRequest,
    ParametersRequest,
    ScalingRequest,
    SignaturesRequest,
    StaircaseRequest,
)
from embtie_widgets.requests.link import Link
from embtie_widgets.sources.permission import is_public
from embtie_widgets.widgets import Gathering

_TEXT = """
<a class="ep-skip" href="#">Skip to the results</a>
<div class="ep-title"><h1>embtie</h1>
<p>What does weight tying do to a language model's token embeddings? Choose two models
and see, token by token, whether the tied matrix keeps the directions, neighbours and norms of the
input or of the output, and layer by layer, what each model already knows of its answer; always next
to chance.</p>
{public}</div>
"""
_PUBLIC = """<p>This page is public: models, texts and runs are those that its owner offers, how
much can be asked for has bounds, and heavy runs take their turn. embtie on a machine of your own
has none of these.</p>
"""


@dataclass(frozen=True)
class Tab:
    """A panel by name, and the kind of its requests; it is made when its tab is first opened."""

    name: str
    make: Callable[..., Panel]
    kind: str


TABS = (
    Tab("Alignment", AlignmentPanel, AlignRequest.kind),
    Tab("Neighbours and spectra", GeometryPanel, GeometryRequest.kind),
    Tab("Norm-frequency", NormFrequencyPanel, NormFrequencyRequest.kind),
    Tab("Lens", LensPanel, LensRequest.kind),
    Tab("Gradient flow", GradientFlowPanel, GradientFlowRequest.kind),
    Tab("Input scaling", ScalingPanel, ScalingRequest.kind),
    Tab("Drift", DriftPanel, DriftRequest.kind),
    Tab("Output centering", CenteringPanel, CenteringRequest.kind),
    Tab("Gradient bottleneck", BottleneckPanel, BottleneckRequest.kind),
    Tab("Bottleneck trials", BottleneckTrialsPanel, BottleneckTrialsRequest.kind),
    Tab("Context staircase", StaircasePanel, StaircaseRequest.kind),
    Tab("Signatures in text", SignaturesPanel, SignaturesRequest.kind),
    Tab("Paper tables", PaperTablesPanel, PaperTablesRequest.kind),
    Tab("Evaluate", EvaluatePanel, EvaluateRequest.kind),
    Tab("Parameters", ParametersPanel, ParametersRequest.kind),
    Tab("Checkpoints", CheckpointsPanel, CheckpointsRequest.kind),
)


class Dashboard(w.VBox, metaclass=Gathering):
    """All panels, one shown at a time.

    A panel is made when it is first opened: until then it costs nothing, and a figure is never
    drawn into a hidden box, where it would not know its width.
    """

    def __init__(self, tabs: tuple[Tab, ...] = TABS) -> None:
        self._tabs = {tab.name: tab for tab in tabs}
        self.panels: dict[str, Panel] = {}
        self._place = w.Box().add_class("ep-place")
        self.tabs = w.ToggleButtons(options=list(self._tabs)).add_class("ep-tabs")
        bar = [self.tabs] if len(tabs) > 1 else []
        self._waiting: dict[str, tuple[Saved, str]] = {}
        self.report = ReportBar(self.opened, lambda: self.panel, self.open_report)
        self.tabs.observe(guard(self._open, self.report.notice.show), "value")
        text = _TEXT.format(public=_PUBLIC if is_public() else "")
        top = w.Box([w.HTML(text), self.report]).add_class("ep-apphead")
        # Of every panel that was opened: what one has to say stays when another tab is shown.
        self._notices = w.Box([self.report.notice]).add_class("ep-unseen")
        super().__init__([top, *bar, self._place, self._notices])
        self.add_class("embtie-app")
        self._open()

    @property
    def panel(self) -> Panel:
        """The panel that is shown."""
        return self.panels[self.tabs.value]

    def opened(self) -> list[Panel]:
        """All panels that are open, or came with a report, in the order of their tabs."""
        for name in list(self._waiting):
            self._made(name)
        return [self.panels[name] for name in self._tabs if name in self.panels]

    def open_report(self, report: Opened) -> None:
        """Show what a report holds, as it was saved; each of its panels when its tab is opened."""
        names = {tab.kind: tab.name for tab in self._tabs.values()}
        known = [saved for saved in report.panels if saved.request.kind in names]
        if not known:
            raise EmbtieError(
                "The report is of panels that are not on this page.", "Open it in the dashboard."
            )
        origin = f"Opened from {report.words}: nothing was computed here, Run computes it anew."
        self._waiting |= {names[saved.request.kind]: (saved, origin) for saved in known}
        front = report.front if report.front in names else known[0].request.kind
        self.tabs.value = names[front]
        self._open()

    def _open(self, _change: Any = None) -> None:
        self._place.children = [self._made(self.tabs.value)]

    def _made(self, name: str) -> Panel:
        """The panel of a tab, with what waits for it."""
        if name not in self.panels:
            first, self.panels[name] = not self.panels, self._tabs[name].make()
            link = self.panels[name].link
            link.named, link.elsewhere = not first, self._open_link if first else None
            self._notices.children = [*self._notices.children, self.panels[name].notice]
        panel = self.panels[name]
        if name in self._waiting:
            panel.callback(panel.open_saved)(*self._waiting.pop(name))
        return panel

    def _open_link(self, link: Link) -> None:
        """Turn to the panel that a link is of; the first panel has read it."""
        name = next((t.name for t in self._tabs.values() if t.kind == link.request.kind), None)
        if name is None:
            raise EmbtieError(
                "The link is of a panel that is not on this page.", "Open it where it came from."
            )
        self.tabs.value = name
        self.panel.link.hand_over(link)


def dashboard() -> Dashboard:
    """The dashboard, for a notebook cell or a served page."""
    return Dashboard()
