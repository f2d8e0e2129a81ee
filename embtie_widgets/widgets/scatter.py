"""The big per-token scatter: every point drawn, from the smallest messages that will do.

Of the ways measured at 50,304 points on two cores without a graphics card, plotly's FigureWidget
took 253 ms for a change and over a second for a lasso, jupyter-scatter sent 0.8 MB for a change,
and a page with WebGL painted in 173 ms what typed arrays on a plain canvas paint in 9 ms.  So this
is a plain canvas: nothing is lost with a graphics context, and every browser shows the same.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import anywidget
import numpy as np
import traitlets

from embtie_widgets.widgets.assets import safe_text, script, style
from embtie_widgets.widgets.codes import (
    Array,
    encode,
    pack_selection,
    unpack_selection,
    value_range,
)
from embtie_widgets.widgets.pictures import Pictures

_PARTS = ("points", "raster", "axes", "picture", "tip", "hands", "keys", "tools")


def _bytes(value: Any, _widget: Any) -> bytes:
    return bytes(value)


class TokenScatter(anywidget.AnyWidget):
    """A scatter of tokens; `show` sets the points, `select` and `selected_ids` the selection.

    x, y        n 16-bit codes each within x_range, y_range (see `codes`); set them by `show`
    ids         n int32 token ids; no bytes mean 0 .. n - 1
    selection   one bit per point; the browser sets it too, so observe it and read `selected_ids`
    lit_word    what the status line calls the points of `selection`
    clicked     id of the point that was clicked, or chosen by keys, -1 for none
    role        colour of all points: "input", "output", "tied" or "neutral"
    point_color  shades on a colour scale instead (see `shade`); no bytes for the role's colour
    color_label, color_range  what the colour scale says
    reference_lines  mappings with "axis" ("x" or "y"), "value", "label", "style" ("solid", "dash"
                or "dot")
    view        [left, right, bottom, top] in the axes' own units, empty for everything
    mode        what dragging does: "pan", "lasso" or "box"
    describe    what the label beside a point says: token id -> text; asked when the pointer rests
                there or the keys have gone there
    """

    _esm = script("common.js", "words.js", *(f"scatter_{part}.js" for part in _PARTS), "scatter.js")
    _css = style()

    x = traitlets.Bytes(b"").tag(sync=True)
    y = traitlets.Bytes(b"").tag(sync=True)
    n = traitlets.Int(0).tag(sync=True)
    x_range = traitlets.Tuple(traitlets.Float(), traitlets.Float()).tag(sync=True)
    y_range = traitlets.Tuple(traitlets.Float(), traitlets.Float()).tag(sync=True)
    ids = traitlets.Bytes(b"").tag(sync=True)
    selection = traitlets.Bytes(b"").tag(sync=True, echo_update=False, from_json=_bytes)
    lit_word = traitlets.Unicode("selected").tag(sync=True)
    point_color = traitlets.Bytes(b"").tag(sync=True)
    color_label = traitlets.Unicode("").tag(sync=True)
    color_range = traitlets.Tuple(traitlets.Float(), traitlets.Float()).tag(sync=True)
    clicked = traitlets.Int(-1).tag(sync=True)
    x_label = traitlets.Unicode("").tag(sync=True)
    y_label = traitlets.Unicode("").tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    role = traitlets.Enum(("input", "output", "tied", "neutral"), "neutral").tag(sync=True)
    reference_lines = traitlets.List(traitlets.Dict()).tag(sync=True)
    view = traitlets.List(traitlets.Float()).tag(sync=True, echo_update=False)
    mode = traitlets.Enum(("pan", "lasso", "box"), "pan").tag(sync=True)
    height = traitlets.Int(460, min=160).tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    describe: Callable[[int], str] | None = None

    def __init__(self, **traits: Any) -> None:
        ranges = {"x_range": (0.0, 1.0), "y_range": (0.0, 1.0), "color_range": (0.0, 1.0)}
        super().__init__(**ranges | traits)
        self._pictures = Pictures()
        self.on_msg(self._receive)

    @traitlets.validate("view")
    def _check_view(self, proposal: dict[str, Any]) -> list[float]:
        ends = list(proposal["value"])
        if ends and not (len(ends) == 4 and all(map(math.isfinite, ends))):
            raise traitlets.TraitError("A view is four finite numbers, or none.")
        if ends and not (ends[0] < ends[1] and ends[2] < ends[3]):
            raise traitlets.TraitError("A view goes from left to right and from bottom to top.")
        return ends

    def show(
        self,
        x: Array,
        y: Array,
        *,
        ids: Array | None = None,
        x_range: tuple[float, float] | None = None,
        y_range: tuple[float, float] | None = None,
        **traits: Any,
    ) -> None:
        """Show n points; the selection stays with the ids that are still there.

        Values that are not finite are left out, and the page counts them.  `traits` may set any
        other trait in the same message.  An axis that keeps its values sends nothing.
        """
        if len(x) != len(y) or (ids is not None and len(ids) != len(x)):
            raise ValueError("x, y and ids must be of equal length")
        chosen, had = self.selected_ids, (self.x_range, self.y_range)
        with self.hold_sync():
            self.n = len(x)
            self.ids = b"" if ids is None else np.asarray(ids, dtype="<i4").tobytes()
            self.x_range, self.x = _coded(x, x_range)
            self.y_range, self.y = _coded(y, y_range)
            self.select(chosen)
            if (self.x_range, self.y_range) != had:
                self.view = []
            for name, value in traits.items():
                self.set_trait(name, value)

    @property
    def token_ids(self) -> Array:
        """The id of each point, (n,)."""
        return np.frombuffer(self.ids, dtype="<i4") if self.ids else np.arange(self.n)

    @property
    def selected_ids(self) -> Array:
        """The ids of the selected points, in their order."""
        return self.token_ids[unpack_selection(self.selection, self.n)]

    def select(self, ids: Iterable[int]) -> None:
        """Select these ids and no others; ids that are not shown are passed over."""
        wanted = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64)
        if self.ids:
            places = np.flatnonzero(np.isin(self.token_ids, wanted))
        else:
            places = wanted[(wanted >= 0) & (wanted < self.n)]
        self.selection = pack_selection(places, self.n)

    def png(
        self,
        done: Callable[[bytes], None],
        failed: Callable[[str], None],
        scale: float = 2.0,
        patience: float = 15.0,
        caption: str = "",
    ) -> None:
        """Ask the page for a picture of what it shows, with `caption` below it: `done` gets the
        file, or `failed` a sentence where the chart is hidden or no page answers within `patience`
        seconds."""
        request = self._pictures.ask(done, failed, patience)
        asked = {"kind": "png", "request": request, "scale": scale, "caption": caption}
        self.send(asked)

    def _receive(self, _widget: Any, content: dict[str, Any], buffers: list[Any]) -> None:
        kind = content.get("kind")
        if kind == "hover" and self.describe is not None:
            token = int(content["id"])
            self.send({"kind": "hover", "id": token, "text": safe_text(self.describe(token))})
        if kind == "png":
            self._pictures.take(content.get("request", -1), bytes(buffers[0]))
        if kind == "hidden":
            self._pictures.hidden(content.get("request", -1))


def shade(values: Array, limits: tuple[float, float]) -> bytes:
    """(n,) numbers as shades 0 .. 254 for `point_color`; not finite ones stay grey (255)."""
    low, high = limits
    numbers = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(numbers)
    part = (np.where(finite, numbers, low) - low) / ((high - low) or 1.0)
    return np.where(finite, np.rint(np.clip(part, 0, 1) * 254), 255).astype(np.uint8).tobytes()


def _coded(values: Array, limits: tuple[float, float] | None) -> tuple[tuple[float, float], bytes]:
    limits = value_range(values) if limits is None else limits
    return limits, encode(values, limits)
