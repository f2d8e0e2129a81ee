"""A token table that shows one page; searching, sorting and paging happen in the kernel."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import anywidget
import traitlets

from embtie_widgets.widgets.assets import safe_text, script, style

MAX_ROWS = 200
_KINDS = ("text", "number", "integer")


class TokenTable(anywidget.AnyWidget):
    """One page of tokens, and what the user asks for.

    The kernel sets, best all at once with `show`:
    columns     mappings with "name", "label", "kind" ("text", "number" or "integer") and, where
                wanted, "title" (shown on hover); the token id is no column
    rows        at most 200 lists: token id, then one display-ready value per column (None and
                numbers that are not finite read "no value")
    total, shown  tokens in all, and tokens that the search leaves
    status      the line beside the search box
    nothing     what stands in place of rows where there are none
    noun        what the rows are, for the search box; read once
    selected    ids to highlight, those on this page only

    The browser sets, the kernel observes:
    query       the search text; setting it also sets page to 0
    sort, descending  column name and direction
    page        counted from 0
    clicked     id of the row that was clicked, -1 for none
    selected    after a checkbox, ctrl-click, shift-click or space; see `merged`

    Escape asks to clear the whole selection: `on_clear`.
    """

    _esm = script("common.js", "table.js")
    _css = style()

    columns = traitlets.List(traitlets.Dict()).tag(sync=True)
    rows = traitlets.List(traitlets.List()).tag(sync=True)
    total = traitlets.Int(0).tag(sync=True)
    shown = traitlets.Int(0).tag(sync=True)
    page = traitlets.Int(0).tag(sync=True)
    page_size = traitlets.Int(100, min=1, max=MAX_ROWS).tag(sync=True)
    query = traitlets.Unicode("").tag(sync=True)
    sort = traitlets.Unicode("").tag(sync=True)
    descending = traitlets.Bool(True).tag(sync=True)
    selected = traitlets.List(traitlets.Int()).tag(sync=True)
    clicked = traitlets.Int(-1).tag(sync=True)
    status = traitlets.Unicode("").tag(sync=True)
    nothing = traitlets.Unicode("No token matches.").tag(sync=True)
    noun = traitlets.Unicode("tokens").tag(sync=True)
    height = traitlets.Int(420).tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._clearers: list[Callable[[], None]] = []
        self.on_msg(self._receive)

    def on_clear(self, callback: Callable[[], None]) -> None:
        """Call back when the user asks to clear the selection, on this page and all others."""
        self._clearers.append(callback)

    def _receive(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") == "clear":
            for callback in self._clearers:
                callback()

    @traitlets.validate("columns")
    def _check_columns(self, proposal: dict[str, Any]) -> list[dict[str, str]]:
        for column in proposal["value"]:
            if not {"name", "label"} <= column.keys() or column.get("kind") not in _KINDS:
                raise traitlets.TraitError(
                    f"A column needs a name, a label and a kind out of {_KINDS}, not {column}."
                )
        return list(proposal["value"])

    @traitlets.validate("sort")
    def _check_sort(self, proposal: dict[str, Any]) -> str:
        names = [column["name"] for column in self.columns]
        if names and proposal["value"] not in ("", *names):
            raise traitlets.TraitError("There is no such column to sort by.")
        return str(proposal["value"])

    @traitlets.validate("rows")
    def _check_rows(self, proposal: dict[str, Any]) -> list[list[Any]]:
        rows = proposal["value"]
        if len(rows) > MAX_ROWS:
            raise traitlets.TraitError(f"{len(rows)} rows given; a page holds at most {MAX_ROWS}.")
        return [[_sendable(value) for value in row] for row in rows]

    @property
    def page_ids(self) -> list[int]:
        """The token ids on this page, in order."""
        return [int(row[0]) for row in self.rows]

    def show(
        self,
        rows: Sequence[Sequence[Any]],
        *,
        shown: int,
        total: int,
        status: str = "",
        page: int | None = None,
        selected: Iterable[int] = (),
        nothing: str = "No token matches.",
    ) -> None:
        """Show one page in one message; of `selected` (any size) only this page's ids are sent."""
        ids = {int(row[0]) for row in rows}
        with self.hold_sync():
            self.nothing = nothing
            self.rows = [list(row) for row in rows]
            self.shown, self.total = shown, total
            self.page = self.page if page is None else page
            self.status = status
            self.selected = sorted(ids.intersection(map(int, selected)))

    def merged(self, selection: Iterable[int]) -> set[int]:
        """The whole selection after what the user did on this page; other pages keep theirs."""
        return (set(map(int, selection)) - set(self.page_ids)) | set(self.selected)


def _sendable(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
