"""Choosing which runs of an experiment are drawn, by what they differ in, and one of them."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.charts import trials_view as views
from embtie_widgets.panels.fields import labelled
from embtie_widgets.panels.guard import told
from embtie_widgets.results.trials import RUNNING, TrialRun, TrialsReport

_ALL = "all"
_BY = ("symbols", "width", "length", "extra", "tied", "lr", "seed")


class RunFilter(w.Box):
    """A menu for each dimension in which runs differ; `value` has what is chosen, as a link carries
    it: "width=32,seed=0", "" for all."""

    value = t.Unicode("")

    def __init__(self, callback: Callable[[Callable[..., Any]], Callable[..., None]]) -> None:
        self._result: TrialsReport | None = None
        self._quiet = False
        self.menus = {
            name: labelled(
                w.Dropdown(description=views.LABELS[name], options=[_ALL]),
                f"Draw only runs of one {views.LABELS[name]}",
            )
            for name in _BY
        }
        super().__init__(list(self.menus.values()))
        self.add_class("ep-chooser")
        for menu in self.menus.values():
            menu.observe(callback(lambda _: self._picked()), "value")
        self.observe(told(lambda _: self._show()), "value")

    @property
    def only(self) -> tuple[tuple[str, Any], ...]:
        """The choices, as a view takes them."""
        return tuple((n, menu.value) for n, menu in self.menus.items() if menu.value != _ALL)

    def draw(self, result: TrialsReport) -> None:
        """Offer what the runs of another result differ in; a choice stays where it can be."""
        self._result = result
        self._show()
        self._picked()

    @t.validate("value")
    def _of_menus(self, proposal: Any) -> str:
        text: str = proposal["value"]
        names = [part.partition("=")[0] for part in text.split(",") if part]
        if any(name not in _BY for name in names):
            raise t.TraitError("There is no such choice.")
        return text

    def _show(self) -> None:
        wanted = dict(part.split("=", 1) for part in self.value.split(",") if "=" in part)
        runs = () if self._result is None else self._result.trials
        self._quiet = True
        try:
            for name, menu in self.menus.items():
                known = views.values(runs, name)
                options = [(_ALL, _ALL), *((views.worded(name, one), one) for one in known)]
                if list(menu.options) != options:
                    menu.options = options
                found = [one for one in known if _spelt(one) == wanted.get(name)]
                menu.value = found[0] if found and len(known) > 1 else _ALL
                menu.layout.display = "" if len(known) > 1 else "none"
        finally:
            self._quiet = False

    def _picked(self) -> None:
        if not self._quiet and self._result is not None:
            self.value = ",".join(f"{name}={_spelt(value)}" for name, value in self.only)


def _spelt(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}"


class RunMenu(w.VBox):
    """One run of all; `key` is its name as a link carries it, "" for the one that says most: in
    training the one that grows, else the first."""

    key = t.Unicode("")

    def __init__(self, callback: Callable[[Callable[..., Any]], Callable[..., None]]) -> None:
        self._result: TrialsReport | None = None
        self._quiet = False
        self.menu = labelled(
            w.Dropdown(description="run", options=[]), "The run that is told of below"
        )
        super().__init__([self.menu])
        self.menu.observe(callback(lambda _: self._picked()), "value")
        self.observe(told(lambda _: self._show()), "key")

    @property
    def run(self) -> TrialRun | None:
        """The run that is looked at; None before there is any."""
        if self.key:
            return views.run_of(self._result, self.key)
        runs = () if self._result is None else self._result.trials
        growing = [run for run in runs if run.state == RUNNING]
        return next(iter([*growing, *runs]), None)

    def draw(self, result: TrialsReport) -> None:
        """Offer the runs of another result; the chosen one stays where it is among them."""
        self._result = result
        if self.key and views.run_of(result, self.key) is None:
            self.key = ""
        self._show()

    @t.validate("key")
    def _one_of_them(self, proposal: Any) -> str:
        key: str = proposal["value"]
        if key and views.run_of(self._result, key) is None:
            raise t.TraitError("There is no such run.")
        return key

    def _show(self) -> None:
        runs = () if self._result is None else self._result.trials
        options = [(views.called(run, runs), views.key_of(run)) for run in runs]
        self._quiet = True
        try:
            if list(self.menu.options) != options:
                self.menu.options = options
            run = self.run
            self.menu.value = None if run is None else views.key_of(run)
        finally:
            self._quiet = False

    def _picked(self) -> None:
        if not self._quiet and self.menu.value is not None:
            self.key = self.menu.value
