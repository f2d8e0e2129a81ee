"""The per-token scatter of a panel: its columns come from the result, its selection is shared."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import cloud
from embtie_widgets.charts.columns import Column, Columns, positions
from embtie_widgets.panels.fields import labelled
from embtie_widgets.panels.state import PanelState
from embtie_widgets.widgets import TokenScatter
from embtie_widgets.widgets.codes import value_range


class ScatterView(w.VBox):
    """A TokenScatter with a control for each axis.

    `first_x` and `first_y` name the columns that are wanted there at first, the next one where a
    result has not the one before, and where it has none of them any that is not on the other axis.
    Drawing round tokens selects them and shows them alone in the table; a click only selects.
    """

    def __init__(
        self,
        state: PanelState,
        callback: Callable[[Callable[..., Any]], Callable[..., None]],
        first_x: Sequence[str],
        first_y: Sequence[str],
    ) -> None:
        self._state, self._first_x, self._first_y = state, first_x, first_y
        self._columns: Columns | None = None
        self._drawing = False
        self.scatter = TokenScatter(height=440, mode="lasso", title="Token by token").add_class(
            "ep-figure"
        )
        self.x = _axis("across", "What stands on the horizontal axis")
        self.y = _axis("up", "What stands on the vertical axis")
        super().__init__([w.Box([self.y, self.x]).add_class("ep-axes"), self.scatter])
        for axis in (self.x, self.y):
            axis.observe(callback(lambda _: self._chose_axis()), "value")
        self.scatter.observe(callback(lambda _: self._selected()), "selection")
        self.scatter.describe = self._describe

    def draw(self, columns: Columns) -> None:
        """Show the tokens of another result; the axes stay where it has them."""
        self._columns = columns
        x, y = self._axes()
        with self._quiet():
            for axis, column in ((self.x, x), (self.y, y)):
                options = self._columns.options
                if list(axis.options) != options:
                    axis.options = options
                axis.value = column.name
        self._show(x, y)

    def refresh(self) -> None:
        """Light up what is chosen or found now."""
        with self._quiet():
            self.scatter.lit_word = "selected" if self._state.found is None else "found"
            self.scatter.select(positions(self._state.lit, self.scatter.n))

    def standing(self) -> tuple[dict[str, Any], str]:
        """The same as a chart in plotly's terms, and what of the tokens it leaves out."""
        if self._columns is None:
            return cloud.spec(None, None, None), ""
        x, y = self._axes()
        lit = self._state.lit
        chart = cloud.spec(self._columns, x, y, lit, self.scatter.view)
        return chart, cloud.note(len(self._columns.tokens), len(lit))

    def _axes(self) -> tuple[Column, Column]:
        assert self._columns is not None  # noqa: S101 - both callers have drawn a result
        y = self._columns.axis(self.y.value or "", *self._first_y)
        return self._columns.axis(self.x.value or "", *self._first_x, beside=y.name), y

    def _show(self, x: Column, y: Column) -> None:
        with self._quiet(), self.scatter.hold_sync():
            self.scatter.show(
                x.values,
                y.values,
                x_range=value_range(x.extent),
                y_range=value_range(y.extent),
                x_label=x.label,
                y_label=y.label,
                role=y.role,
                reference_lines=[*x.references("x"), *y.references("y")],
            )
            self.refresh()

    def _chose_axis(self) -> None:
        if not self._drawing and self._columns is not None:
            self._show(*self._axes())

    def _selected(self) -> None:
        if self._drawing:
            return
        chosen = self.scatter.selected_ids
        self._state.choose(chosen, only=self._state.only or len(chosen) > 1)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        before, self._drawing = self._drawing, True
        try:
            yield
        finally:
            self._drawing = before

    def _describe(self, token: int) -> str:
        return "" if self._columns is None else self._columns.describe(token)


def _axis(name: str, tooltip: str) -> w.Dropdown:
    control: w.Dropdown = labelled(w.Dropdown(description=name), tooltip)
    return control
