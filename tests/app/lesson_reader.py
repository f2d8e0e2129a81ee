"""What a reader does with a chapter, cell by cell: guess, run, look; and at the end answer.

It is run in the chapter's own kernel, by the tests and by what draws the chapters' pictures.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ipywidgets as w
from ipywidgets.widgets.widget import _instances

import embtie_widgets as ew
from embtie_widgets.widgets import PlotFigure

READ_ON = "from tests.app.lesson_reader import read_on as _read_on; _read_on()"


def read_on() -> None:
    """Make every guess that is open, the first choice each, then run what there is to run."""
    for guess in _here(ew.Prediction):
        if guess.answer is None:
            guess.answer = guess.choices[0]
    for experiment in _here(ew.Experiment):
        if experiment.result is None:
            experiment.run()


@dataclass(frozen=True)
class Answered:
    """One exercise, answered wrongly and then rightly."""

    question: str
    refused: bool
    hinted: bool
    accepted: bool


def answered() -> list[Answered]:
    """Every exercise of the chapter after both answers."""
    return [_answered(exercise) for exercise in _here(ew.Exercise)]


def _answered(exercise: Any) -> Answered:
    known, last = exercise._check, exercise.answer
    refused = []
    for one in _wrong(exercise):
        exercise.answer = one
        refused.append(exercise.right is False)
    hinted = any(hint in exercise._said.value for hint in _escaped(exercise))
    exercise.answer = last if callable(known) else known
    return Answered(exercise._field.tooltip, all(refused), hinted, exercise.right is True)


def _wrong(exercise: Any) -> list[Any]:
    """Answers that are not right; one that a function judges has its right one already."""
    if callable(exercise._check):
        return ["something else"]
    return [one for one in exercise.choices if one != exercise._check] or [
        2 * abs(exercise._check) + 1
    ]


def _escaped(exercise: Any) -> list[str]:
    from embtie_widgets.panels.words import escape

    return [escape(hint) for hint in exercise._hints]


def said() -> str:
    """All that the chapter's widgets say."""
    return "\n".join(one.value for one in list(_instances.values()) if isinstance(one, w.HTML))


def drawing(shown: Any) -> dict[str, Any]:
    """The first chart in a widget, in plotly's terms."""
    figure = next(one for one in _inside(shown) if isinstance(one, PlotFigure) and _drawn(one))
    return dict(figure.shown)


def _drawn(figure: PlotFigure) -> bool:
    return bool(figure.shown["data"])


def _inside(widget: Any) -> Iterator[Any]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _inside(child)


def _here(kind: type) -> list[Any]:
    """What of a kind the chapter has made, the oldest first."""
    return [one for one in list(_instances.values()) if isinstance(one, kind)]
