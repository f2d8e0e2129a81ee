"""The panel of checkpoints: which there are, how far apart, and which are not what they say."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.charts import checkpoints as chart
from embtie_widgets.charts.steps import distance, place, same_as, ticks, tokens
from embtie_widgets.charts.theme import templates
from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.panels.exports import Offer, page_offer, picture_offers
from embtie_widgets.panels.fields import (
    Field,
    Setting,
    card,
    labelled,
    listed_names,
    section,
    segments,
    usable,
    whole_if_it_is,
)
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.pair import ModelPicker
from embtie_widgets.panels.series import which_checkpoints
from embtie_widgets.panels.words import escape, table
from embtie_widgets.requests import ModelRef
from embtie_widgets.requests.checkpoints import CheckpointsRequest
from embtie_widgets.requests.code import load_code
from embtie_widgets.results.checkpoints import LISTED, LOADED, Checkpoint, CheckpointReport
from embtie_widgets.widgets import CopyButton, PlotFigure, StepSlider

_DEPTHS = (("Names", "names"), ("Hub files", "files"), ("Matrices", "matrices"))
_DEPTH_HELP = (
    "List the checkpoints and say what loading them would fetch",
    "Compare the hub's hashes of their weights; nothing is downloaded",
    "Load their matrices and compare the bytes",
)
_SCALES = (("logarithmic", "log"), ("linear", "linear"))
_ROWS = 60
_NONE_CHOSEN = "no checkpoint is chosen"


class CheckpointsPanel(Panel):
    """The checkpoints of a training, true to their steps, with equal bytes marked.

    `CheckpointsPanel()` shows those of the bundled untied model; give a request, or any of its
    fields by name (`model`, `revisions`, `count`, `depth`).  `chosen` is the name of the one that
    the slider stands on, "" for the last.  `parts` takes the place of what the frame runs
    requests with.
    """

    title = "Checkpoints"
    lead = "Which steps of a training are there, how far apart, and is each what its name says?"
    asks = CheckpointsRequest
    chosen = t.Unicode("")

    def __init__(
        self,
        request: CheckpointsRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(request, **(parts or {}), **options)
        self.observe(self.callback(lambda _: self._show_chosen()), "chosen")
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """The model, which of its checkpoints, and how far to look."""
        self.model = ModelPicker("Model", self.state.request.model)
        # The series takes many revisions in place of the one.
        self.model.revision.layout.display = "none"
        self.count, self.revisions = which_checkpoints(1)
        self.depth = w.ToggleButtons(
            description="look at", options=_DEPTHS, tooltips=_DEPTH_HELP
        ).add_class("ep-segments")
        labelled(self.depth, "How far to look")
        fields = {
            "model": Field(self.model),
            "revisions": Field(self.revisions, listed_names, ", ".join),
            "count": Field(self.count, to_request=whole_if_it_is),
            "depth": Field(self.depth),
        }
        which = section("Which", self.count, self.revisions)
        return fields, [section("Model", self.model), which, section("How far", self.depth)]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, chart, slider with the chosen one, table, notes."""
        self.headline = w.HTML().add_class("ep-headline")
        self.scale = segments("The axis of steps", _SCALES).add_class("ep-switch")
        self.scale.observe(self.callback(lambda _: self._redraw()), "value")
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.caption = w.HTML().add_class("ep-caption")
        self.slider = StepSlider(label="Checkpoint")
        self.slider.observe(self.callback(self._slid), "index")
        self.about, self.code = w.HTML(), CopyButton(label="Copy line")
        self.code.title = "The line that loads this checkpoint without the page"
        usable(self.code, _NONE_CHOSEN)
        self.table, self.notes = w.HTML(), w.HTML()
        drawn = card("", self.scale, self.chart, self.caption)
        return [
            self.headline,
            drawn.add_class("ep-checkpoints"),
            card("One by one", self.slider, self.about, self.code),
            card("Checkpoints", self.table),
            card("Notes", self.notes),
        ]

    def build_settings(self) -> Mapping[str, Setting]:
        """The axis, and the checkpoint that the slider stands on."""
        return {"scale": Setting(self.scale, "value", "log"), "at": Setting(self, "chosen", "")}

    def build_exports(self) -> Iterable[Offer]:
        """Table, page and pictures, each with its settings inside."""
        return [
            Offer("CSV", "Every checkpoint with its facts", ".csv", "text/csv", csv_bytes),
            page_offer(),
            *picture_offers(self.chart, chart.caption),
        ]

    def draw(self, result: CheckpointReport) -> None:
        """Show another result; the figure comes last, being the heaviest."""
        self.headline.value = f"<p>{escape(chart.headline(result))}</p>"
        self.caption.value = f"<p>{escape(chart.caption(result))}</p>"
        self.table.value, self.notes.value = _table(result), _notes(result)
        if all(row.name != self.chosen for row in result.rows):
            self.chosen = ""
        self._show(result)

    def edited(self) -> None:
        """Names go before a number."""
        usable(self.count, "the revisions are named" if listed_names(self.revisions.value) else "")

    @t.validate("chosen")
    def _known(self, proposal: dict[str, Any]) -> str:
        name = str(proposal["value"])
        if name and self.result is not None and not _find(self.result, name):
            raise t.TraitError(f"There is no checkpoint {name!r} here.")
        return name

    def _redraw(self) -> None:
        if self.result is not None:
            self._show(self.result)

    def _show(self, result: CheckpointReport) -> None:
        """Slider and figure on the axis that is chosen, both at the checkpoint that is chosen."""
        one = _chosen(result, self.chosen)
        shown = ticks(result, self.scale.value == "log")
        self.slider.show(**shown, index=result.rows.index(one) if one else -1)
        self._describe(result, one)
        self.chart.show(chart.spec(result, self.scale.value, one.name if one else ""))

    def _show_chosen(self) -> None:
        if self.result is None or self._drawing:
            return
        one = _chosen(self.result, self.chosen)
        self.slider.index = self.result.rows.index(one) if one else -1
        self._describe(self.result, one)
        self.chart.show(chart.spec(self.result, self.scale.value, one.name if one else ""))

    def _slid(self, _change: Any) -> None:
        if self.result is not None and not self._drawing and self.slider.index >= 0:
            name = self.result.rows[self.slider.index].name
            if name != getattr(_chosen(self.result, self.chosen), "name", ""):
                self.chosen = name

    def _describe(self, result: CheckpointReport, one: Checkpoint | None) -> None:
        self.about.value = _about(result, one) if one else ""
        self.code.text = _code(result, one) if one else ""
        usable(self.code, "" if one else _NONE_CHOSEN)


def _find(result: CheckpointReport, name: str) -> Checkpoint | None:
    return next((row for row in result.rows if row.name == name), None)


def _chosen(result: CheckpointReport, name: str) -> Checkpoint | None:
    """The row of that name; without one the last that was loaded, or the last of all."""
    loaded = [row for row in result.rows if row.state == LOADED]
    return _find(result, name) or next(reversed(loaded or result.rows), None)


def _code(result: CheckpointReport, row: Checkpoint) -> str:
    model = ModelRef.from_value(result.settings["model"])
    return load_code(replace(model, revision=row.name))


def _about(result: CheckpointReport, row: Checkpoint) -> str:
    facts = {
        "revision": f"<code>{escape(row.name)}</code>",
        "place": escape(place(row)),
        "after the one before": escape(distance(row.since)) or "–",
        "state": escape(row.state + (f": {row.reason}" if row.reason else "")),
        "as stored": escape(row.tied or "not loaded"),
    }
    if result.others(row.name):
        facts["same bytes as"] = f"◆ {escape(same_as(result, row))}"
    for what, value in row.hashes.items():
        facts[f"SHA-256, {escape(what)}"] = f"<code>{escape(value)}</code>"
    facts["to load it"] = f"<code>{escape(_code(result, row))}</code>"
    rows = [[name, value] for name, value in facts.items()]
    return f'<div class="ep-facts">{table(["", ""], rows, "the chosen checkpoint")}</div>'


def _table(result: CheckpointReport) -> str:
    looked = [row for row in result.rows if row.state != LISTED or row.hashes]
    rows = looked or list(result.rows[:_ROWS])
    head = ["", "step", "tokens", "after the loaded one before", "as stored", "hashes", ""]
    body = table(head, [_cells(result, row) for row in rows], "checkpoints")
    body = f'<div class="ep-tall">{body}</div>'
    rest = len(result.rows) - len(rows)
    more = f"<p class='ep-quiet'>{rest:,} more are known; the CSV has them all.</p>" if rest else ""
    return body + more


def _cells(result: CheckpointReport, row: Checkpoint) -> list[str]:
    hashes = dict.fromkeys(value[:8] for value in row.hashes.values())
    others = result.others(row.name)
    return [
        ("◆ " if others else "× " if row.reason else "") + escape(row.name),
        "–" if row.step is None else f"{row.step:,}",
        "–" if row.tokens is None else tokens(row.tokens).removesuffix(" tokens"),
        escape(distance(row.since_loaded)) or "–",
        escape(row.tied or "–"),
        " ".join(f"<code>{escape(value)}</code>" for value in hashes) or "–",
        f"same bytes as {escape(same_as(result, row))}" if others else escape(row.reason),
    ]


def _notes(result: CheckpointReport) -> str:
    if not result.notes:
        return "<p class='ep-quiet'>Nothing to say against these checkpoints.</p>"
    return f'<ul class="ep-notes">{"".join(f"<li>{escape(n)}</li>" for n in result.notes)}</ul>'
