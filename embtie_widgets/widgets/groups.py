"""A table of groups and their means; a click on a group asks to see it alone."""

from typing import Any

import anywidget
import traitlets

from embtie_widgets.widgets.assets import script, style

MAX_ROWS = 100


class GroupTable(anywidget.AnyWidget):
    """One row per group, of which one may be chosen.

    heading  what the groups are, above their names
    label    what the table holds, for those who cannot see it
    columns  mappings with "label" and "role" ("input", "output", "tied", "neutral"; "" for none)
    rows     at most 100 mappings with "name", "title" (what it is, beside the name where there is
             room, else on hover) and "cells", a pair for each column: its text, and a smaller one
             beside it
    chosen   name of the chosen group, "" for none; a click sets it, a second one takes it back
    """

    _esm = script("common.js", "groups.js")
    _css = style()

    heading = traitlets.Unicode("").tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    columns = traitlets.List(traitlets.Dict()).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    chosen = traitlets.Unicode("").tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    @traitlets.validate("rows")
    def _check_rows(self, proposal: dict[str, Any]) -> list[dict[str, Any]]:
        rows = list(proposal["value"])
        if len(rows) > MAX_ROWS:
            raise traitlets.TraitError(f"{len(rows)} rows given; a table holds {MAX_ROWS}.")
        return rows
