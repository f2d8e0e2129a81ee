"""What a lesson is made of: a guess made before looking, what follows it, and exercises that check
themselves.

    guess = ew.Prediction("Which is nearer to Tied?", ["In", "Out"])
    guess                                          # shown by the cell
    guess.after(ew.Picture.bars({...}, y="mean cosine"))   # shown once the guess is made
    guess.reveal("Out", "Because ...")             # the guess against what came out
    ew.Exercise("How large ...?", check=0.31, hint="Look at ...")

Without a page, `guess.answer = "Out"` makes the guess, and `exercise.answer = 0.3` answers.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import ipywidgets as w

from embtie_widgets.charts import lesson as draw
from embtie_widgets.charts.theme import templates
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.run import first, run
from embtie_widgets.panels.fields import card, usable
from embtie_widgets.panels.guard import guard
from embtie_widgets.panels.notice import Notice
from embtie_widgets.panels.style import style
from embtie_widgets.panels.words import escape, paragraphs
from embtie_widgets.requests import Request
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.widgets import PlotFigure

Found = str | float
Shown: TypeAlias = "w.Widget | Callable[[], w.Widget]"
_NONE_YET = "no answer is chosen yet"
_WORKING = "Working …"
_FAILED = "This could not be made; the message stands at the guess above."
_WITHIN = 0.05  # how far a typed number may be off, as a share of the right one
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+,(?!\d{3}$)\d+|0,\d{3})")  # 1,25 and 0,125, not 1,250


class Prediction(w.VBox):
    """A question to be answered before the result is seen; the first answer stands.

    `choices` are the answers to choose from, or answers with the number that each stands for.
    `answer` is the one chosen, None before; to set it is to choose.  What `after` and `reveal` give
    stays closed until then.
    """

    def __init__(self, question: str, choices: Iterable[str] | Mapping[str, float]) -> None:
        self.choices = tuple(choices)
        self._numbers = dict(choices) if isinstance(choices, Mapping) else {}
        self._answer: str | None = None
        self._waiting: list[Callable[[], None]] = []
        self._radio = w.RadioButtons(options=self.choices, value=None).add_class("ep-choices")
        self._radio.tooltip = question
        self._button = w.Button(description="That is my guess")
        usable(self._button, _NONE_YET)
        self._said, self._notice = w.HTML(), Notice(where="Your guess")
        self._radio.observe(guard(self._picked, self._notice.show), "value")
        self._button.on_click(guard(lambda _: self._commit(self._radio.value), self._notice.show))
        foot = w.HBox([self._button.add_class("ep-primary"), self._said]).add_class("ep-asks")
        whole = card("Your guess", w.HTML(paragraphs(question)), self._radio, foot, self._notice)
        super().__init__([style(), whole])
        self.add_class("embtie-panel").add_class("ep-lesson")

    @property
    def answer(self) -> str | None:
        """The choice that was made, None before."""
        return self._answer

    @answer.setter
    def answer(self, choice: str) -> None:
        self._commit(choice)

    def after(self, *shown: Shown) -> w.VBox:
        """A place for widgets that are seen once the guess is made; a function that makes one is
        called then, so that nothing is computed earlier."""
        return self._gate("The result appears here once you have made your guess above.", shown)

    def reveal(self, answer: Found | Callable[[], Found], why: str) -> w.VBox:
        """The guess beside what came out, and why: one of the choices, or a number, which goes to
        the choice that is nearest to it."""
        if not callable(answer):
            self._named(answer)
        return self._gate("", [lambda: self._verdict(answer, why)])

    def _gate(self, closed: str, shown: Sequence[Shown]) -> w.VBox:
        note, inside = w.HTML(paragraphs(closed, "ep-quiet")), w.VBox()

        def opened() -> None:
            note.value = paragraphs(_WORKING, "ep-quiet")
            try:
                inside.children = [part() if callable(part) else part for part in shown]
            except BaseException:
                note.value = paragraphs(_FAILED, "ep-quiet")
                raise
            note.value = ""

        gate = w.VBox([style(), note, inside])
        gate.add_class("embtie-panel").add_class("ep-lesson")
        if self._answer is None:
            self._waiting.append(opened)
        else:
            opened()
        return gate

    def _picked(self, _change: Any) -> None:
        usable(self._button, _NONE_YET if self._radio.value is None else self._made())

    def _made(self) -> str:
        return "" if self._answer is None else "the first answer stands"

    def _known(self, choice: str) -> str:
        if choice not in self.choices:
            raise EmbtieError(
                f"'{choice}' is none of the choices.", f"They are: {'; '.join(self.choices)}."
            )
        return choice

    def _commit(self, choice: str) -> None:
        if self._answer not in {None, self._known(choice)}:
            raise EmbtieError(
                "This guess has been made: the first one stands.",
                "Run the cell of the question again to start anew.",
            )
        if self._answer is not None:
            return
        self._answer = self._radio.value = choice
        for control in (self._radio, self._button):
            usable(control, self._made())
        self._said.value = _status("Made. Go on below.")
        waiting, self._waiting = self._waiting, []
        _each(waiting)

    def _named(self, found: Found) -> str:
        if isinstance(found, str):
            return self._known(found)
        if not self._numbers:
            raise EmbtieError(
                f"{found:g} cannot be held against choices without numbers.",
                "Give the choices as a table from each to its number.",
            )
        near: str = min(self._numbers, key=lambda choice: abs(self._numbers[choice] - found))
        return near

    def _verdict(self, answer: Found | Callable[[], Found], why: str) -> w.Widget:
        found = self._named(answer() if callable(answer) else answer)
        if found == self._answer:
            words = f"<strong>✓ As you thought: {escape(found)}</strong>"
        else:
            words = (
                f"<strong>↻ It came out otherwise: {escape(found)}</strong>"
                f"<br>Your guess was: {escape(self._answer)}"
            )
        return card("What came out", w.HTML(f'<p role="status">{words}</p>{paragraphs(why)}'))


class Exercise(w.VBox):
    """A question that checks its own answer.

    `check` is the right number (`within` so much, 5 % of it without), the right one of the
    `choices`, or a function that says of an answer whether it is right.  `hint` is said to a wrong
    answer; of several, one more with each other wrong answer.  `right` is None until something was
    answered; to set `answer` is to answer.
    """

    def __init__(
        self,
        question: str,
        *,
        check: float | str | Callable[[Any], bool],
        hint: str | Sequence[str],
        choices: Iterable[str] = (),
        within: float | None = None,
    ) -> None:
        self.choices, self._check, self._within = tuple(choices), check, within
        self._hints = (hint,) if isinstance(hint, str) else tuple(hint)
        self._wrong: list[Any] = []
        self._answer: Any = None
        self.right: bool | None = None
        if self.choices:
            self._field = w.RadioButtons(options=self.choices, value=None).add_class("ep-choices")
        else:
            asked = "a number" if self._asks_number else "your answer"
            self._field = w.Text(description="answer", placeholder=asked)
            self._field.add_class("ep-field")
        self._field.tooltip = question
        self._button = w.Button(description="Check").add_class("ep-primary")
        self._said, self._notice = w.HTML(), Notice(where="Exercise")
        self._button.on_click(guard(lambda _: self._given(self._field.value), self._notice.show))
        row = [self._field, self._button] if not self.choices else [self._button]
        ask = [w.HBox(row).add_class("ep-asks"), self._said, self._notice]
        above = [self._field] if self.choices else []
        whole = card("Exercise", w.HTML(paragraphs(question)), *above, *ask)
        super().__init__([style(), whole])
        self.add_class("embtie-panel").add_class("ep-lesson")

    @property
    def answer(self) -> Any:
        """The last answer as it was understood, None before."""
        return self._answer

    @answer.setter
    def answer(self, given: Any) -> None:
        self._given(given)

    @property
    def _asks_number(self) -> bool:
        return isinstance(self._check, int | float)

    def _given(self, given: Any) -> None:
        self._notice.clear()
        if given is None or given == "":
            raise EmbtieError("There is no answer yet.", "Choose or type one, then press Check.")
        self._answer = number_of(given) if self._asks_number else given
        if self.choices and given not in self.choices:
            raise EmbtieError(f"'{given}' is none of the choices.", "Take one as it stands.")
        self.right = self._is_right(self._answer)
        if self.right:
            self._said.value = _status("✓ Right.")
            return
        if self._answer not in self._wrong:
            self._wrong.append(self._answer)
        hints = self._hints[: len(self._wrong)]
        self._said.value = _status(f"✗ Not yet. {' '.join(hints)}")

    def _is_right(self, answer: Any) -> bool:
        if callable(self._check):
            return bool(self._check(answer))
        if isinstance(self._check, str):
            return bool(answer == self._check)
        within = _WITHIN * abs(self._check) if self._within is None else self._within
        return bool(abs(answer - self._check) <= within)


class Picture(w.VBox):
    """A chart with a line below it: of plotly's "data" and "layout", of plain numbers (`bars`,
    `lines`, `histogram`, `points`), or one that belongs to a request (`of`)."""

    def __init__(self, spec: Mapping[str, Any], caption: str = "") -> None:
        self.figure = PlotFigure(templates(), spec)
        said = w.HTML(paragraphs(caption)).add_class("ep-caption") if caption else None
        super().__init__([style(), card("", self.figure, *([said] if said else []))])
        self.add_class("embtie-panel").add_class("ep-lesson").add_class("ep-picture")

    @classmethod
    def bars(
        cls,
        values: Mapping[str, float],
        y: str,
        floors: Mapping[str, float] | float | None = None,
        caption: str = "",
    ) -> "Picture":
        """One bar a name; `floors` is what chance reaches, one number or one for each name."""
        return cls(draw.bars(values, y, floors), caption)

    @classmethod
    def lines(
        cls,
        curves: Mapping[str, tuple[Any, Any]],
        x: str,
        y: str,
        caption: str = "",
        log_x: bool = False,
        dots: Mapping[str, tuple[Any, Any]] | None = None,
    ) -> "Picture":
        """One curve a name, from its values across and up; `dots` are points in its colour."""
        return cls(draw.lines(curves, x, y, log_x=log_x, dots=dots), caption)

    @classmethod
    def histogram(
        cls, samples: Mapping[str, Any], x: str, caption: str = "", bins: int = 60
    ) -> "Picture":
        """How the values of each name spread."""
        return cls(draw.histogram(samples, x, bins), caption)

    @classmethod
    def points(
        cls,
        groups: Mapping[str, tuple[Any, Any]],
        x: str,
        y: str,
        words: Sequence[str] = (),
        caption: str = "",
        diagonal: bool = False,
    ) -> "Picture":
        """One cloud of points a name; `words` are read at the pointer."""
        return cls(draw.points(groups, x, y, words, diagonal), caption)

    @classmethod
    def of(cls, request: Request, which: int = 0) -> "Picture":
        """A chart of a request, as its panel draws it, by number; the result that ships with the
        package is taken where there is one."""
        result = first(request)
        if result is None:
            result = run(request)
        return cls(*KINDS[request.kind].part("plots")(result).charts[which])


def number_of(given: Any) -> float:
    """The number that was typed: 0.25, 0,25, 25 %, 1/4 and 50,304 are all understood."""
    text = str(given).strip().replace("−", "-").replace(" ", "")
    percent, text = text.endswith("%"), text.removesuffix("%")
    top, _, bottom = text.partition("/")
    try:
        found = _plain(top) / (_plain(bottom) if bottom else 1.0) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        found = math.nan
    if not math.isfinite(found):
        raise EmbtieError(f"'{given}' is no number.", "Write it like 0.25, 25 % or 1/4.")
    return found


def _plain(text: str) -> float:
    """A number whose comma parts thousands, or the decimals where it cannot part thousands."""
    if _DECIMAL_COMMA.fullmatch(text):
        return float(text.replace(",", "."))
    return float(text.replace(",", ""))


def _each(actions: Iterable[Callable[[], None]]) -> None:
    """Carry all of them out; the first fault is raised when the last has had its turn."""
    faults = []
    for action in actions:
        try:
            action()
        except Exception as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


def _status(text: str) -> str:
    return f'<p role="status">{escape(text)}</p>'
