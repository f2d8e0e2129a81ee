"""Choosing where the runs of a sweep are carried out: here, by several processes, or elsewhere."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.places import CLUSTER, HERE, LOCAL, Place, is_fixed, place, use_cluster
from embtie_widgets.panels.fields import labelled, whole_if_it_is
from embtie_widgets.panels.words import escape

_KINDS = (
    ("here, one after the other", HERE),
    ("here, by several processes", LOCAL),
    ("a Dask cluster", CLUSTER),
)


class PlacePicker(w.VBox):
    """Where runs are carried out from now on, which is no part of a request: a link carries none.

    `moved` is called when a user has turned to another place.  On a shared page its owner has
    chosen, and the page says where alone.
    """

    def __init__(self, callback: Callable[..., Any], moved: Callable[[], None]) -> None:
        self._moved, self._quiet = moved, False
        self.kind = labelled(
            w.Dropdown(description="runs are trained", options=_KINDS), "Where runs are trained"
        )
        self.processes = labelled(
            w.FloatText(2, description="processes", continuous_update=False),
            "So many runs are trained at a time, each by a process of its own",
        )
        self.address = labelled(
            w.Text(description="its scheduler", placeholder="tcp://host:8786"),
            "Of a cluster of your own: what is sent there is trusted, and so is what comes back",
        )
        self.address.continuous_update = False
        self.said = w.HTML()
        super().__init__([*([] if is_fixed() else self._controls), self.said])
        self.add_class("ep-corpus")
        self.follow()
        for control in self._controls:
            control.observe(callback(lambda _: self._edited()), "value")

    @property
    def _controls(self) -> list[w.Widget]:
        return [self.kind, self.processes, self.address]

    def follow(self) -> None:
        """Show the place that counts now; one that the environment names wrongly is told."""
        try:
            here = place()
        except EmbtieError as error:
            here = Place(words=str(error))
        self._quiet = True
        try:
            self.kind.value = here.kind
            self.processes.value = here.workers or self.processes.value
            if not is_fixed():  # a control's value reaches the page even where it is not shown
                self.address.value = here.address or self.address.value
        finally:
            self._quiet = False
        self._adapt(here.words)

    def _edited(self) -> None:
        kind, address = self.kind.value, self.address.value.strip()
        if self._quiet:
            return
        if kind == CLUSTER and not address:
            self._adapt("Nothing is sent before the address of a scheduler is given.")
            return
        many = whole_if_it_is(self.processes.value)
        use_cluster({HERE: HERE, LOCAL: f"{LOCAL}:{many}", CLUSTER: address}[kind])
        self.follow()
        self._moved()

    def _adapt(self, words: str) -> None:
        for control, kind in ((self.processes, LOCAL), (self.address, CLUSTER)):
            control.layout.display = "" if self.kind.value == kind else "none"
        self.said.value = f"<p class='ep-said'>{escape(words)}</p>"
