"""Our own front-end pieces: small anywidgets, each a Python file and its browser side."""

from embtie_widgets.widgets.aria import Aria
from embtie_widgets.widgets.card import TokenCard
from embtie_widgets.widgets.disclosure import DisclosureButton
from embtie_widgets.widgets.figure import PlotFigure
from embtie_widgets.widgets.gathered import Gathering
from embtie_widgets.widgets.groups import GroupTable
from embtie_widgets.widgets.notices import Notices
from embtie_widgets.widgets.page import CopyButton, DownloadButton, File, KernelWatch, LinkState
from embtie_widgets.widgets.scatter import TokenScatter, shade
from embtie_widgets.widgets.search import SearchPicker
from embtie_widgets.widgets.steps import StepSlider
from embtie_widgets.widgets.table import TokenTable
from embtie_widgets.widgets.upload import UploadButton

__all__ = [
    "Aria",
    "CopyButton",
    "DisclosureButton",
    "DownloadButton",
    "File",
    "Gathering",
    "GroupTable",
    "KernelWatch",
    "LinkState",
    "Notices",
    "PlotFigure",
    "SearchPicker",
    "StepSlider",
    "TokenCard",
    "TokenScatter",
    "TokenTable",
    "UploadButton",
    "shade",
]
