"""A button that opens and closes a part of the page."""

import anywidget
import traitlets

from embtie_widgets.widgets.assets import script, style


class DisclosureButton(anywidget.AnyWidget):
    """Says whether a part of the page is `opened`, which whoever holds that part follows.

    Closed from elsewhere, it takes the keyboard's focus back that the part took along.
    """

    _esm = script("common.js", "disclosure.js")
    _css = style()

    sign = traitlets.Unicode("").tag(sync=True)
    label = traitlets.Unicode("More").tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    opened = traitlets.Bool(False).tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)
