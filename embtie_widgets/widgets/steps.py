"""A slider over checkpoints whose ticks stand where they belong, not at equal distances."""

from collections.abc import Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from embtie_widgets.widgets.assets import safe_text, script, style

MAX_STEPS = 5000
KINDS = ("listed", "loaded", "same", "skipped")


class StepSlider(anywidget.AnyWidget):
    """Steps from one tick to the next, wherever they stand; set it all at once with `show`.

    places    (n,) in [0, 1], rising
    readouts  n texts: what stands above the slider, and is read aloud, at each tick
    kinds     n of "listed", "loaded", "same" (bytes as another) and "skipped"
    tracks    mappings with "start" and "end" in [0, 1], "label" and a "short" one
    marks     mappings with "place" in [0, 1] and "label": the numbers below the line
    index     the chosen tick (either side), -1 for none
    playable  whether a button goes from tick to tick by itself, each after `interval` milliseconds;
              where the reader wants less motion, one a second
    noun      what a tick is called
    """

    _esm = script("common.js", "steps.js")
    _css = style()

    places = traitlets.List(traitlets.Float()).tag(sync=True)
    readouts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    kinds = traitlets.List(traitlets.Enum(KINDS)).tag(sync=True)
    tracks = traitlets.List(traitlets.Dict()).tag(sync=True)
    marks = traitlets.List(traitlets.Dict()).tag(sync=True)
    index = traitlets.Int(-1).tag(sync=True)
    label = traitlets.Unicode("checkpoint").tag(sync=True)
    noun = traitlets.Unicode("checkpoint").tag(sync=True)
    playable = traitlets.Bool(False).tag(sync=True)
    interval = traitlets.Int(150).tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    def show(
        self,
        places: Sequence[float],
        readouts: Sequence[str],
        kinds: Sequence[str],
        tracks: Sequence[Mapping[str, Any]] = (),
        marks: Sequence[Mapping[str, Any]] = (),
        index: int = -1,
    ) -> None:
        """Show other ticks in one message."""
        if not len(places) == len(readouts) == len(kinds):
            raise ValueError("places, readouts and kinds are of different lengths")
        if len(places) > MAX_STEPS:
            raise ValueError(f"{len(places)} ticks given; at most {MAX_STEPS} are shown")
        with self.hold_sync():
            self.places, self.kinds = list(places), list(kinds)
            self.readouts = [safe_text(text) for text in readouts]
            self.tracks = [_safe(track) for track in tracks]
            self.marks = [_safe(mark) for mark in marks]
            self.index = index

    @traitlets.validate("index")
    def _check_index(self, proposal: dict[str, Any]) -> int:
        index = int(proposal["value"])
        return index if 0 <= index < len(self.places) else -1


def _safe(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: safe_text(x) if isinstance(x, str) else float(x) for name, x in entry.items()}
