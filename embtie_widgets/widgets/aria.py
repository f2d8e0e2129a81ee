"""What ipywidgets leaves unsaid to those who hear a page or go through it by keys."""

from typing import Any

import anywidget
import ipywidgets as w
import traitlets
from ipywidgets.widgets.widget_description import DescriptionWidget

from embtie_widgets.widgets.assets import script

OF_THIS_RUN = "ep-says-"  # what the class of a control begins with by which its tooltip is found


class Aria(anywidget.AnyWidget):
    """Tells the state, name, group and tooltip of the controls around it, takes arrow keys through
    rows of buttons, keeps the focus where a control is switched off, and speaks what the status
    line says; shows nothing itself.

    tooltips  by the class that `follow` gave a control
    """

    _esm = script("common.js", "keys.js", "aloud.js", "aria.js")

    tooltips = traitlets.Dict().tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self._followed: set[str] = set()

    def follow(self, root: Any) -> None:
        """Tell the tooltips of this widget and all in it, as they change and as others come.

        ipywidgets shows that of a control with a label on the label at most, and of some nowhere.
        """
        if root.model_id not in self._followed:
            self._followed.add(root.model_id)
            if isinstance(root, DescriptionWidget):
                root.add_class(_class_of(root))
                root.observe(self._told, "tooltip")
                self._told({"owner": root, "new": root.tooltip})
            if isinstance(root, w.Box):
                root.observe(lambda change: self.follow(change["owner"]), "children")
        for child in getattr(root, "children", ()):
            self.follow(child)

    def _told(self, change: Any) -> None:
        said = change["new"] or ""
        self.tooltips = {**self.tooltips, _class_of(change["owner"]): said}


def _class_of(control: Any) -> str:
    return f"{OF_THIS_RUN}{control.model_id}"
