"""Choosing what the two models read: the sample, a text of one's own, or one that is pasted."""

import ipywidgets as w

from embtie_widgets.panels.corpus import OTHER, CorpusPicker, CorpusWords
from embtie_widgets.panels.fields import Field, labelled, number_box, whole_if_it_is
from embtie_widgets.requests import CorpusRef
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.requests.passage import MOST_TEXT

READ = CorpusWords(
    "The models read",
    "The text whose tokens are predicted",
    "a path, or datasets:NAME",
    "A text file, a folder of them, or datasets:NAME",
    (
        ("the sample that ships with embtie", OWN),
        ("the bundled English text", BUNDLED),
        ("another text", OTHER),
    ),
)


class TextPicker(w.VBox):
    """A text and how much of it; what is pasted goes before what is chosen."""

    def __init__(self, corpus: CorpusRef) -> None:
        self.corpus = CorpusPicker(corpus, READ)
        self.text = pasted_text()
        self.length = number_box("tokens a piece", "So many tokens go through the models together")
        self.positions = number_box("positions", "At how many positions the lens is measured")
        sizes = w.Box([self.length, self.positions]).add_class("ep-pairs")
        super().__init__([self.corpus, self.text, sizes])
        self.add_class("ep-corpus")

    def fields(self) -> dict[str, Field]:
        """The request's fields that this edits."""
        return {
            "corpus": Field(self.corpus),
            "text": Field(self.text),
            "length": Field(self.length, to_request=whole_if_it_is),
            "positions": Field(self.positions, to_request=whole_if_it_is),
        }

    def adapt(self) -> None:
        """What is pasted goes before the corpus."""
        self.corpus.give_way(self.text.value)


def pasted_text() -> w.Textarea:
    """A text that is typed or pasted."""
    box = w.Textarea(
        description="or paste a text",
        placeholder="The models read this in its place",
        continuous_update=False,
        rows=3,
    )
    return labelled(box, f"At most {MOST_TEXT:,} characters; it goes before the text above")
