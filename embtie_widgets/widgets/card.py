"""A card about one token: its facts, and lists of its neighbours side by side."""

from typing import Any

import anywidget
import traitlets

from embtie_widgets.widgets.assets import safe_text, script, style

MAX_ROWS = 50


class TokenCard(anywidget.AnyWidget):
    """Shows a token; a click on a neighbour asks for that one.

    token   its text as it is to be read; empty for no card, then `hint` stands there
    note    a line below it, such as its bytes
    facts   pairs of name and text
    lists   mappings with "name", "role" ("input", "output", "tied" or "neutral") and "rows", at
            most 50 lists of token id, text, value, and "all" where it stands in every list,
            "some" where in another one too, else ""
    status  what is still to come, or why it does not
    clicked  id of the neighbour that was clicked, -1 for none (browser)
    """

    _esm = script("common.js", "card.js")
    _css = style()

    token = traitlets.Unicode("").tag(sync=True)
    note = traitlets.Unicode("").tag(sync=True)
    hint = traitlets.Unicode("").tag(sync=True)
    facts = traitlets.List(traitlets.List()).tag(sync=True)
    lists = traitlets.List(traitlets.Dict()).tag(sync=True)
    status = traitlets.Unicode("").tag(sync=True)
    clicked = traitlets.Int(-1).tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    @traitlets.validate("token", "note", "hint", "status")
    def _check_text(self, proposal: dict[str, Any]) -> str:
        return safe_text(proposal["value"])

    @traitlets.validate("lists")
    def _check_lists(self, proposal: dict[str, Any]) -> list[dict[str, Any]]:
        for one in proposal["value"]:
            if len(one["rows"]) > MAX_ROWS:
                raise traitlets.TraitError(f"{len(one['rows'])} rows given; at most {MAX_ROWS}.")
        return [
            {
                **one,
                "rows": [[i, safe_text(text), value, mark] for i, text, value, mark in one["rows"]],
            }
            for one in proposal["value"]
        ]
