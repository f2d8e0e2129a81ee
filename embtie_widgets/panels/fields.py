"""Controls bound to the fields of a request and to the view: one table says what edits what."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.state import PanelState

_OFF = " (not in use: "


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
        for control in dict.fromkeys(field.control for field in self._fields.values()):
            control.observe(told(lambda change: None if self._quiet else changed(change)), "value")

    def read(self, request: Any) -> Any:
        """The request with the controls' values; raises EmbtieError for one that cannot be."""
        values = {name: f.to_request(f.control.value) for name, f in self._fields.items()}
        return replace(request, **values)

    def write(self, request: Any) -> None:
        """Set the controls to a request, without telling of a change."""
        with self.quiet():
            for name, field in self._fields.items():
                field.control.value = field.to_control(getattr(request, name))

    @property
    def silent(self) -> bool:
        """Whether controls are being changed without telling of it."""
        return self._quiet

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Change controls inside without telling of it."""
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False


@dataclass(frozen=True)
class Setting:
    """A trait of a widget that says how a result is looked at, and so belongs into a link.

    `usual` is the value that needs no word in the link; its kind (text, truth, whole number or
    list of numbers) is that of the trait.
    """

    owner: Any
    trait: str
    usual: Any

    def text(self) -> str | None:
        """The value as a link writes it; None where it is the usual one, or there is none yet."""
        value = getattr(self.owner, self.trait)
        if value is None or value == self.usual:
            return None
        if isinstance(value, bool):
            return str(value).lower()
        return ",".join(f"{x:.5g}" for x in value) if isinstance(value, list) else str(value)

    def take(self, text: str) -> None:
        """Set the value from such a text; an EmbtieError where it is none of this view's."""
        try:
            setattr(self.owner, self.trait, self._read(text))
        except (ValueError, t.TraitError):
            raise EmbtieError(
                "The link asks for a view that there is not here.",
                "What could be shown is shown; choose the rest by hand.",
            ) from None

    def _read(self, text: str) -> Any:
        if isinstance(self.usual, bool):
            return {"true": True, "false": False}[text] if text in ("true", "false") else text
        if isinstance(self.usual, int):
            return int(text[:12])
        if isinstance(self.usual, list):
            return [float(part) for part in text.split(",")]
        return text


class Settings:
    """All settings of a panel's view by name: `state.view` follows them, and a link sets them."""

    def __init__(
        self,
        settings: Mapping[str, Setting],
        state: PanelState,
        callback: Callable[[Callable[..., Any]], Callable[..., None]],
    ) -> None:
        self._settings, self._state = dict(settings), state
        for setting in self._settings.values():
            setting.owner.observe(callback(lambda _: self._follow()), setting.trait)

    def take(self, view: Mapping[str, str]) -> list[EmbtieError]:
        """Set those that a link names, in the panel's order; what of it cannot be."""
        known = {name: view[name] for name in self._settings if name in view}
        failed = []
        for name, text in known.items():
            try:
                self._settings[name].take(text)
            except EmbtieError as error:
                failed.append(error)
        if len(known) < len(view):
            failed.append(
                EmbtieError(
                    "The link holds settings of a view that this panel does not have.",
                    "The rest of it is shown.",
                )
            )
        return failed

    def _follow(self) -> None:
        texts = {name: setting.text() for name, setting in self._settings.items()}
        self._state.view = {name: text for name, text in texts.items() if text is not None}


def whole_if_it_is(value: float) -> float | int:
    """A whole number as one; the rest is left to the request, which refuses it in words."""
    return int(value) if value.is_integer() else value


def listed_names(text: str) -> tuple[str, ...]:
    """Names with commas or line breaks between them, as a request takes them."""
    parts = (part.strip() for part in text.replace("\n", ",").split(","))
    return tuple(part for part in parts if part)


def labelled(control: w.Widget, tooltip: str) -> w.Widget:
    """The control with its label above it and a tooltip for hand and screen reader."""
    control.tooltip = tooltip
    control.add_class("ep-field")
    return control


def usable(control: Any, why_not: str = "") -> None:
    """Let a control be used, or switch it off; `why_not` is the reason, a clause in small letters,
    which stands at the end of its tooltip as long as it is off."""
    words = "title" if control.has_trait("title") else "tooltip"
    own = (getattr(control, words) or "").partition(_OFF)[0]
    setattr(control, words, f"{own}{_OFF}{why_not})" if why_not else own)
    control.disabled = bool(why_not)


def number_box(name: str, tooltip: str) -> w.FloatText:
    """A number that is typed."""
    return labelled(w.FloatText(description=name, continuous_update=False), tooltip)


def pairs(*controls: w.Widget) -> w.Box:
    """Small controls, two side by side."""
    return w.Box(list(controls)).add_class("ep-pairs")


def reoffer(menu: w.Dropdown, options: list[tuple[str, Any]]) -> None:
    """Other options, the chosen one kept where it is among them, else the first."""
    if list(menu.options) != options:
        kept, menu.options = menu.value, options
        names = [name for _, name in options]
        menu.value = kept if kept in names else next(iter(names), None)


def segments(
    name: str, options: Sequence[Any], tips: Iterable[str] | None = None
) -> w.ToggleButtons:
    """One of few, as a row of buttons without a label in sight: `name` is what is heard of the row,
    and the tooltip of each button that has none of its own in `tips`."""
    words = [name] * len(options) if tips is None else list(tips)
    return w.ToggleButtons(options=options, tooltips=words, tooltip=name).add_class("ep-segments")


def section(title: str, *children: w.Widget) -> w.VBox:
    """Controls that belong together, under a small heading."""
    return w.VBox([w.HTML(heading(title)), *children]).add_class("ep-section")


def heading(title: str) -> str:
    """A small heading as HTML; without a word there is none."""
    return f'<h3 class="ep-heading">{title}</h3>' if title else ""


def fold(title: str, *children: w.Widget) -> w.VBox:
    """Controls that are seldom needed, shown and hidden by a button of this title."""
    button = w.ToggleButton(description=title, tooltip=f"Show or hide: {title}")
    inside = w.VBox(list(children)).add_class("ep-folded")
    inside.layout.display = "none"

    def turn(change: Any) -> None:
        inside.layout.display = "" if change["new"] else "none"

    button.observe(told(turn), "value")
    return w.VBox([button.add_class("ep-fold"), inside])


def fold_where_narrow(title: str, inside: w.Box) -> w.ToggleButton:
    """A button that shows and hides `inside` where the page has room for one column only, and is
    there only then: elsewhere `inside` is always seen."""
    button = w.ToggleButton(description=title, tooltip=f"Show or hide: {title}")

    def turn(change: Any) -> None:
        (inside.add_class if change["new"] else inside.remove_class)("ep-open")

    button.observe(told(turn), "value")
    return button.add_class("ep-fold").add_class("ep-narrow")


def card(title: str, *children: w.Widget) -> w.VBox:
    """Views that belong together, on a surface of their own; without a title, no heading."""
    top = [w.HTML(heading(title))] if title else []
    return w.VBox([*top, *children]).add_class("ep-card")
