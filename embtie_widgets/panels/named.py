"""A field for the name of something: any name, or on a public page one of those offered."""

import ipywidgets as w

from embtie_widgets.jobs.offered import names_of
from embtie_widgets.panels.fields import labelled, usable

_OFFERED, _NONE = "one of those that are offered here", "none is offered on this page"


def named(what: str, description: str, placeholder: str, tooltip: str) -> w.Text:
    """Such a field; `what` is a word of `jobs.offered`."""
    names = names_of(what)
    if names is None:
        made = w.Text(description=description, placeholder=placeholder, continuous_update=False)
    else:
        made = w.Combobox(
            description=description,
            placeholder=_OFFERED if names else _NONE,
            options=names,
            continuous_update=False,
        )
    labelled(made, tooltip)
    usable(made, _NONE if names is not None and not names else "")
    return made
