"""Our own front-end pieces: small anywidgets, each a Python file and its browser side."""

from embtie_widgets.widgets.scatter import TokenScatter, shade
from embtie_widgets.widgets.table import TokenTable

__all__ = ["TokenScatter", "TokenTable", "shade"]
