"""Choosing one run of a sweep: by its method, rate, size and seed, each where there are several."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.charts import centering_view as views
from embtie_widgets.panels.fields import labelled
from embtie_widgets.panels.guard import told
from embtie_widgets.results.centering import RUNNING, CenteringReport, CenteringRun

_HELP = {
    "rate": "The learning rate whose methods are drawn side by side",
    "size": "The size whose methods are drawn side by side",
    "seed": "The seed whose methods are drawn side by side",
    "method": "The run that the card below is of",
}


class RunChooser(w.Box):
    """Menus that together say which run is looked at, and so which stand beside it.

    `value` is the run by its key, as a link carries it; "" for the one that says most: in training
    the one that grows, afterwards one of the highest rate with curves.
    """

    value = t.Unicode("")

    def __init__(self, callback: Callable[[Callable[..., Any]], Callable[..., None]]) -> None:
        self._result: CenteringReport | None = None
        self._quiet = False
        self.menus = {
            name: labelled(w.Dropdown(description=name, options=[]), words)
            for name, words in _HELP.items()
        }
        super().__init__(list(self.menus.values()))
        self.add_class("ep-chooser")
        for name, menu in self.menus.items():
            menu.observe(callback(lambda _, name=name: self._picked(name)), "value")
        self.observe(told(lambda _: self._show()), "value")

    @property
    def run(self) -> CenteringRun | None:
        """The run that is looked at; None before there is any."""
        if self.value:
            return views.run_of(self._result, self.value)
        beside = views.side_by_side(self._result, views.View())
        growing = [run for run in beside if run.state == RUNNING]
        return next(iter([*growing, *beside]), None)

    def view(self) -> views.View:
        """The runs beside it."""
        run = self.run
        return views.View() if run is None else views.View(run.lr, run.size, run.seed)

    def draw(self, result: CenteringReport) -> None:
        """Offer the runs of another result; the chosen one stays where it has one like it."""
        before, self._result = self.run, result
        if self.value and views.run_of(result, self.value) is None:
            found = None if before is None else _nearest(result.runs, _keys(before), "method")
            self.value = "" if found is None else views.key_of(found)
        self._show()

    @t.validate("value")
    def _one_of_them(self, proposal: Any) -> str:
        key: str = proposal["value"]
        if key and views.run_of(self._result, key) is None:
            raise t.TraitError("There is no such run.")
        return key

    def _show(self) -> None:
        runs = () if self._result is None else self._result.runs
        chosen = self.run
        self._quiet = True
        try:
            for name, menu in self.menus.items():
                known = {_keys(run)[name]: _words(name, run, runs) for run in runs}
                keys = sorted(known) if name == "rate" else list(known)
                options = [(known[key], key) for key in keys]
                if list(menu.options) != options:
                    menu.options = options
                menu.value = None if chosen is None else _keys(chosen)[name]
                menu.layout.display = "" if len(options) > 1 else "none"
        finally:
            self._quiet = False

    def _picked(self, name: str) -> None:
        if self._quiet or self._result is None:
            return
        wanted = {other: menu.value for other, menu in self.menus.items()}
        self.value = views.key_of(_nearest(self._result.runs, wanted, name))
        self._show()


def _keys(run: CenteringRun) -> dict[str, Any]:
    return {"rate": run.lr, "size": run.size, "seed": run.seed, "method": run.line}


def _words(name: str, run: CenteringRun, among: tuple[CenteringRun, ...]) -> str:
    key = _keys(run)[name]
    if name in ("rate", "method"):
        return views.rate(key) if name == "rate" else views.called(run, among)
    return "–" if key in (None, "") else str(key)


def _nearest(runs: tuple[CenteringRun, ...], wanted: dict[str, Any], first: str) -> CenteringRun:
    """The run with the wanted `first` that agrees in most of the rest."""

    def agreement(run: CenteringRun) -> tuple[bool, int]:
        same = {name: value == wanted[name] for name, value in _keys(run).items()}
        return same[first], sum(same.values())

    return max(runs, key=agreement)
