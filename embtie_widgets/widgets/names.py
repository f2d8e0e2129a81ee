"""Names for the parts of a page that ipywidgets leaves without one."""

import anywidget

from embtie_widgets.widgets.assets import script


class SliderNames(anywidget.AnyWidget):
    """Gives handle and readout of the sliders around it their label's words; shows nothing itself.

    Without that a screen reader says no more than "slider".
    """

    _esm = script("names.js")
