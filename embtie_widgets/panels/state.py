"""What a panel knows: plain traits that its parts observe, and no widget."""

from typing import Any

import traitlets as t


class PanelState(t.HasTraits):
    """The state of one panel.

    request    what the controls say
    result     the last whole result, None before the first; `answered` is its request
    phase      "idle" or "running"
    stage      the last `Stage` of the running job, None in between
    ended      how the last job ended: its `Outcome`, None before the first
    selection  the chosen tokens, by their place in `result.tokens`; shared by all views
    """

    request = t.Any()
    result = t.Any(None)
    answered = t.Any(None)
    phase = t.Enum(("idle", "running"), "idle")
    stage = t.Any(None)
    ended = t.Any(None)
    selection = t.Instance(frozenset, ())

    @property
    def stale(self) -> bool:
        """Whether the result shown is of other settings than the controls say."""
        return self.result is not None and self.answered != self.request

    @t.validate("selection")
    def _as_ids(self, proposal: dict[str, Any]) -> frozenset[int]:
        return frozenset(int(i) for i in proposal["value"])
