"""Controls bound to the fields of a request: one table says which control edits what."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import ipywidgets as w


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Field:
    """A control whose `value` is a request's field, by way of two conversions."""

    control: Any
    to_request: Callable[[Any], Any] = _same
    to_control: Callable[[Any], Any] = _same


class Binding:
    """Keeps controls and request the same, in both directions and without echo."""

    def __init__(self, fields: Mapping[str, Field], changed: Callable[[Any], None]) -> None:
        self._fields, self._quiet = dict(fields), False
        for field in self._fields.values():
            field.control.observe(lambda change: None if self._quiet else changed(change), "value")

    def read(self, request: Any) -> Any:
        """The request with the controls' values; raises EmbtieError for one that cannot be."""
        values = {name: f.to_request(f.control.value) for name, f in self._fields.items()}
        return replace(request, **values)

    def write(self, request: Any) -> None:
        """Set the controls to a request, without telling of a change."""
        with self.quiet():
            for name, field in self._fields.items():
                field.control.value = field.to_control(getattr(request, name))

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Change controls inside without telling of it."""
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False


def labelled(control: w.Widget, tooltip: str) -> w.Widget:
    """The control with its label above it and a tooltip for hand and screen reader."""
    control.tooltip = tooltip
    control.add_class("ep-field")
    return control


def section(title: str, *children: w.Widget) -> w.VBox:
    """Controls that belong together, under a small heading."""
    heading = w.HTML(f'<h3 class="ep-heading">{title}</h3>')
    return w.VBox([heading, *children]).add_class("ep-section")
