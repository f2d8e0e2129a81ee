"""A text box with suggestions: the kernel finds them, at most fifty are sent."""

from typing import Any

import anywidget
import traitlets

from embtie_widgets.widgets.assets import safe_text, script, style

MAX_HITS = 50


class SearchPicker(anywidget.AnyWidget):
    """Type, see suggestions, pick one; where `free_text` holds, any text counts on Enter.

    query   what is typed so far (browser); answer it by setting `hits`
    hits    at most 50 mappings with "value" and, where wanted, "label" and "detail", and "off":
            why it is shown but cannot be chosen
    value   what was picked (browser), or what the kernel sets
    value_label  how the value reads in the box; empty for the value itself
    status  a word below the box, such as what went wrong with the value
    title   what the box says where the pointer rests on it; empty for its value
    """

    _esm = script("common.js", "search.js")
    _css = style()

    query = traitlets.Unicode("").tag(sync=True)
    hits = traitlets.List(traitlets.Dict()).tag(sync=True)
    value = traitlets.Unicode("").tag(sync=True)
    value_label = traitlets.Unicode("").tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    placeholder = traitlets.Unicode("").tag(sync=True)
    status = traitlets.Unicode("").tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    free_text = traitlets.Bool(True).tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    @traitlets.validate("hits")
    def _check_hits(self, proposal: dict[str, Any]) -> list[dict[str, str]]:
        hits = proposal["value"]
        if len(hits) > MAX_HITS:
            raise traitlets.TraitError(f"{len(hits)} hits given; at most {MAX_HITS} are shown.")
        if any("value" not in hit for hit in hits):
            raise traitlets.TraitError("Each hit needs a value.")
        return [{key: safe_text(str(text)) for key, text in hit.items()} for hit in hits]
