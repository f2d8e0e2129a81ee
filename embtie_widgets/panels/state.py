"""What a panel knows: plain traits that its parts observe, and no widget."""

from typing import Any

import traitlets as t

from embtie_widgets.results.groups import BANDS, KINDS


class PanelState(t.HasTraits):
    """The state of one panel.

    request    what the controls say
    result     the last whole result, None before the first; `answered` is its request
    preview_of  the request that the result shown is a preview of, None where it is no preview; then
               `answered` is the cheaper request whose exact result it is, or the same one where the
               result is itself not finished
    phase      "idle", "running", or "looking" for the result of an earlier run
    stage      the last `Stage` of the running job, None in between
    ended      how the last job ended: its `Outcome`, None before the first
    selection  the chosen tokens, by their place in `result.tokens`; shared by all views
    only       whether tables show the chosen tokens alone; never true of an empty selection
    view       how the result is looked at, where that is not as usual: names and texts for links
    wanted     the `Link` whose result is still to come, None otherwise
    found      the tokens that a search has found, None while there is none; they are lit in the
               charts in place of the selection, which stays
    origin     where the result comes from if it was not computed here, as a sentence
    kind       the group of tokens that a search is held to, by name; "" for all tokens
    """

    request = t.Any()
    result = t.Any(None)
    answered = t.Any(None)
    preview_of = t.Any(None)
    phase = t.Enum(("idle", "running", "looking"), "idle")
    stage = t.Any(None)
    ended = t.Any(None)
    selection = t.Instance(frozenset, ())
    only = t.Bool(False)
    view = t.Dict()
    wanted = t.Any(None)
    origin = t.Unicode("")
    found = t.Instance(frozenset, allow_none=True)
    kind = t.Enum(("", *KINDS, *BANDS), "")

    @property
    def stale(self) -> bool:
        """Whether the result shown is of other settings than the controls say."""
        return self.result is not None and not self.shows(self.request)

    @property
    def previewing(self) -> bool:
        """Whether what is shown is a preview of what the controls say."""
        return self.preview_of is not None and bool(self.preview_of == self.request)

    @property
    def unfinished(self) -> bool:
        """Whether what is shown is a part of an answer that was, or is still, being made."""
        return self.preview_of is not None and bool(self.preview_of == self.answered)

    @property
    def shared(self) -> Any:
        """The request that links and code carry: that of the result shown, if it is a preview, else
        what the controls say."""
        return self.answered if self.previewing else self.request

    def shows(self, request: Any) -> bool:
        """Whether the result shown answers this request, be it by a preview."""
        return request is not None and request in (self.answered, self.preview_of)

    def answers(self, request: Any) -> bool:
        """Whether the result shown is this request's own, and whole."""
        return request is not None and bool(request == self.answered) and not self.unfinished

    @property
    def lit(self) -> frozenset[int]:
        """The tokens that every chart lights up."""
        found: frozenset[int] | None = self.found
        chosen: frozenset[int] = self.selection
        return chosen if found is None else found

    def choose(self, ids: Any, only: bool = False) -> None:
        """Select these tokens and end a search; `only`: tables show these alone."""
        chosen = ids_of(ids)
        self.found = None
        self.selection = chosen
        self.only = only and bool(chosen)

    @t.validate("only")
    def _of_something(self, proposal: Any) -> bool:
        return bool(proposal["value"]) and bool(self.selection)

    @t.observe("selection")
    def _nothing_alone(self, _change: Any) -> None:
        if not self.selection:
            self.only = False


def ids_of(ids: Any) -> frozenset[int]:
    """Token ids, however given, as plain whole numbers."""
    return frozenset(ids.tolist() if hasattr(ids, "tolist") else map(int, ids))
