"""The panel of parameter counts: what a model's token matrices cost, tied and untied."""

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import parameters as chart
from embtie_widgets.charts.parameters import percent
from embtie_widgets.charts.theme import templates
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.jobs.families import supported_families
from embtie_widgets.panels.exports import Offer, page_offer, picture_offers
from embtie_widgets.panels.fields import Field, Setting, card, labelled, section, segments, usable
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.pair import ModelPicker
from embtie_widgets.panels.words import escape, paragraphs, table
from embtie_widgets.requests.parameters import ParametersRequest, config_text
from embtie_widgets.results import ParameterReport, Parameters
from embtie_widgets.results.families import FamilyTable
from embtie_widgets.widgets import PlotFigure

_LARGEST_FILE = 2**20
_VIEWS = (("Counts", "counts"), ("Families", "families"))
_PRINTED = (
    "What the weight-tying paper prints of these models is held against them in Paper tables."
)
_SCALES = (("share", "share"), ("parameters", "number"))


class ParametersPanel(Panel):
    """How many parameters a model has, tied and untied, beside the Pythia suite.

    `ParametersPanel()` shows the bundled untied model; give a request, or any of its fields by
    name (`model`, `config`, `source`).  `parts` takes the place of what the frame runs requests
    with.
    """

    title = "Parameters"
    lead = "What do a model's token matrices cost, and what does tying save?"
    asks = ParametersRequest

    def __init__(
        self,
        request: ParametersRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(request, **(parts or {}), **options)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """The model, or a configuration in its place."""
        self.model = ModelPicker("Model", self.state.request.model)
        self.headers = labelled(
            w.Checkbox(description="ask the files of a known model too", indent=False),
            "Models of the catalogue are counted at once from facts that ship with embtie",
        )
        self.config = labelled(
            w.Textarea(
                description="a config.json instead",
                placeholder='{"model_type": "llama", ...}',
                continuous_update=False,
                rows=5,
            ),
            "Paste the text of a config.json: it is counted in place of the model",
        ).add_class("ep-text")
        self.upload = w.FileUpload(accept=".json", description="Choose a file", icon="")
        self.upload.tooltip = "A config.json from this computer; only its sizes are used"
        self.upload.observe(self.callback(self._uploaded), "value")
        fields = {
            "model": Field(self.model),
            "config": Field(self.config, to_request=config_text),
            "source": Field(self.headers, _source, lambda source: source == "headers"),
        }
        return fields, [
            section("Model", self.model, self.headers),
            section("Configuration", self.config, self.upload.add_class("ep-upload")),
        ]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, chart, table and notes; the families that are read."""
        self.headline = w.HTML().add_class("ep-headline")
        self.view = segments("What is shown", _VIEWS)
        self.view.observe(self.callback(self._turn), "value")
        self.scale = segments("What the bars are measured in", _SCALES)
        self.scale.observe(self.callback(self._rescale), "value")
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.caption = w.HTML().add_class("ep-caption")
        self.numbers, self.notes = w.HTML(), w.HTML()
        self.families = w.HTML().add_class("ep-families")
        drawn = card("", self.scale, self.chart, self.caption)
        self.pages = {
            "counts": w.VBox(
                [drawn.add_class("ep-parameters"), card("Numbers", self.numbers, self.notes)]
            ),
            "families": w.VBox([card("Families whose files are read", self.families)]),
        }
        for page in self.pages.values():
            page.add_class("ep-page")
        self._turn()
        return [self.headline, self.view, *self.pages.values()]

    def build_settings(self) -> Mapping[str, Setting]:
        """Which page is open, and what the bars are measured in."""
        return {
            "view": Setting(self.view, "value", "counts"),
            "scale": Setting(self.scale, "value", "share"),
        }

    def build_exports(self) -> Iterable[Offer]:
        """Table, page and pictures, each with its settings inside."""
        return [
            Offer("CSV", "Every model with its numbers", ".csv", "text/csv", csv_bytes),
            page_offer(),
            *picture_offers(self.chart, chart.caption),
        ]

    def draw(self, result: ParameterReport) -> None:
        """Show another result; the figure comes last, being the heaviest."""
        self.headline.value = _headline(result)
        self.caption.value = f"<p>{escape(chart.caption(result))}</p>"
        self.numbers.value, self.notes.value = _numbers(result), _notes(result.notes)
        self.model.offer_as_tied(
            result.model.settings["status"] == "input only" or self.model.as_tied.value
        )
        self.chart.show(chart.spec(result, self.scale.value))

    def edited(self) -> None:
        """A configuration takes the model's place."""
        pasted = "the pasted configuration is taken" if self.config.value.strip() else ""
        for control in (self.model.ref, *self.model.revision.parts, self.headers):
            usable(control, pasted)

    def _turn(self, _change: Any = None) -> None:
        for name, page in self.pages.items():
            page.layout.display = "" if name == self.view.value else "none"
        if self.view.value == "families" and not self.families.value:
            self.families.value = _families(supported_families())

    def _rescale(self, _change: Any) -> None:
        if self.result is not None:
            self.chart.show(chart.spec(self.result, self.scale.value))

    def _uploaded(self, change: Any) -> None:
        if not change["new"]:
            return
        content = bytes(change["new"][0]["content"])
        self.upload.value = ()
        try:
            if len(content) > _LARGEST_FILE:
                raise ValueError
            self.config.value = content.decode()
        except ValueError:
            raise EmbtieError(
                "The chosen file is no text of at most 1 MB.", "Choose a config.json."
            ) from None


def _headline(result: ParameterReport) -> str:
    beware = chart.warning(result)
    note = f'<div class="ep-alert" role="note"><b>Beware.</b> {escape(beware)}</div>'
    return f"<p>{escape(chart.headline(result))}</p>" + (note if beware else "")


def _source(asked: bool) -> str:
    return "headers" if asked else "auto"


def _numbers(result: ParameterReport) -> str:
    head = ["", "V × d", "untied", "tied", "saved", "both matrices", "their share", "body"]
    shown = table(
        head,
        [[escape(name), *_cells(one)] for name, one in result.rows().items()],
        "parameters by model",
    )
    return shown + paragraphs(_PRINTED, "ep-quiet")


def _cells(one: Parameters) -> list[str]:
    settings = one.settings
    size = f"{settings['rows']:,} × {settings['width']:,}"
    if "output_rows" in settings:
        size += f" <small>(output: {settings['output_rows']:,} rows)</small>"
    counts = [f"{count:,}" for count in (one.untied, one.tied, one.saved, one.embedding)]
    return [size, *counts, percent(one.share), f"{one.body:,}"]


def _notes(notes: tuple[str, ...]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<ul class="ep-notes">{items}</ul>' if items else ""


def _why(text: str) -> str:
    return f'<span class="ep-why">{text}</span>'


def _families(known: FamilyTable) -> str:
    """The table of what is read, as a test has found it."""
    rows = [
        [
            escape(row.family),
            escape(row.input),
            escape(row.output or "–"),
            _DEFAULTS[row.tied_default],
            escape(row.readout or "–"),
            _why(escape(row.note)),
        ]
        for row in known.rows
    ]
    head = ["model type", "input matrix", "output matrix", "tied by default", "readout", "note"]
    intro = (
        f"<p>{len(rows)} families of transformers, each tried on a small random model. A "
        "checkpoint of another family is read where its tensors are named alike; one that is not "
        "is refused with the names that came closest.</p>"
    )
    return intro + table(head, rows, "families whose files are read")


_DEFAULTS = {True: "yes", False: "no", None: "–"}
