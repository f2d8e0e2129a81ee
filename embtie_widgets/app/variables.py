"""What kernels, which are processes of their own, learn of the settings: variables that they
inherit."""

import os
from collections.abc import MutableMapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from embtie_widgets.app.settings import ServeSettings
from embtie_widgets.jobs.line import LINE
from embtie_widgets.sources.permission import PUBLIC, SERVED

# What kernels and commands without a server read too; None leaves it as it was said there.
_SHARED = ("corpora", "lenses", "runs", "tasks", "datasets", "catalogue", "cluster", "cache")
_TOLD = ("models", "visitor_memory", "visitor_card", "log")


def variable(name: str) -> str:
    """The variable of the environment that a setting has."""
    return f"EMBTIE_{name.upper()}"


def tell_kernels(
    known: ServeSettings, line: Path, environment: MutableMapping[str, str] = os.environ
) -> None:
    """Set what every kernel that starts from now on inherits, and nothing else of the settings:
    the token, above all, is no kernel's business."""
    for field in fields(known):
        if field.name not in _SHARED:
            environment.pop(variable(field.name), None)
    told = {name: _words(getattr(known, name)) for name in (*_SHARED, *_TOLD)}
    environment.update({variable(name): value for name, value in told.items() if value is not None})
    environment[SERVED] = "1"
    environment.setdefault(LINE, str(line))
    if known.is_public:
        environment[PUBLIC] = "1"


def _words(value: Any) -> str | None:
    if isinstance(value, tuple):
        return os.pathsep.join(value)
    if isinstance(value, bool):
        return "on" if value else "off"
    return None if value is None else str(value)
