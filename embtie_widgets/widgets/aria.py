"""What ipywidgets leaves unsaid to those who hear a page or go through it by keys."""

import anywidget

from embtie_widgets.widgets.assets import script


class Aria(anywidget.AnyWidget):
    """Tells the state, name and group of the controls around it, takes arrow keys through rows of
    buttons, keeps the focus where a control is switched off, and speaks what the status line says;
    shows nothing itself.
    """

    _esm = script("common.js", "keys.js", "aloud.js", "aria.js")
