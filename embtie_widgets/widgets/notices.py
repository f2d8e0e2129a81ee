"""What went wrong, told in the one place that a page has for it."""

from itertools import count
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from embtie_widgets.widgets.assets import safe_text, script, style

MOST = 20


class Notices(anywidget.AnyWidget):
    """Messages at the foot of the page, each until it is dismissed or taken back; the last comes
    first.  It shows nothing where it stands, and its messages while it stands anywhere on the page.

    messages  mappings with "id", "said", "hint", "details" and "count", how often it was told
    where     whose messages they are, above each
    """

    _esm = script("common.js", "area.js", "notices.js")
    _css = style()

    messages = traitlets.List(traitlets.Dict()).tag(sync=True)
    where = traitlets.Unicode("").tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        own = uuid4().hex[:8]
        self._ids = (f"{own}-{number}" for number in count())
        self.on_msg(self._receive)

    def tell(self, said: str, hint: str = "", details: str = "") -> None:
        """Add a message; of one that stands there already it is counted how often it came."""
        words = {"said": safe_text(said), "hint": safe_text(hint), "details": safe_text(details)}
        same = next((one for one in self.messages if words.items() <= one.items()), None)
        told = same or {"id": next(self._ids), "count": 0, **words}
        others = [one for one in self.messages if one is not same]
        self.messages = [*others[1 - MOST :], {**told, "count": told["count"] + 1}]

    def clear(self) -> None:
        """Take all of them back."""
        self.messages = []

    @property
    def words(self) -> str:
        """All of them as plain text, the last one last."""
        return "\n".join(
            " ".join(filter(None, (one["said"], one["hint"], one["details"])))
            for one in self.messages
        )

    def _receive(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") == "dismiss":
            self.messages = [one for one in self.messages if one["id"] != content.get("id")]
