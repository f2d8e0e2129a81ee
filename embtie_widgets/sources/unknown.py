"""A layout that is not known: what came closest, and the lines that register it."""

import json
import re

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import configuration, names
from embtie_widgets.sources.configuration import Config
from embtie_widgets.sources.names import Modules, Shapes

_TABLE = re.compile(r"emb|tok|vocab|word|wte")
_HEAD = re.compile(r"head|out|unemb|unvocab|logit|score")
_MOST_ASKED, _MOST_SHOWN = 24, 5


def unknown(config: Config, modules: Modules, shapes: Shapes, size: int | None) -> EmbtieError:
    """The refusal, with the names that are closest by shape and by wording."""
    close = _closest(modules, shapes, size)
    listed = ", ".join(sorted(names.weight_name(modules, path) or path for path in close))
    what = f"the closest names are {listed}" if close else "no name comes close"
    return EmbtieError(
        f"This checkpoint's layout is not known: no tensor is clearly the token matrix; {what}.",
        f"{_register_hint(config, close)} Or save the matrix you mean as a .npy or .safetensors "
        "file and load that.",
    )


def _closest(modules: Modules, shapes: Shapes, size: int | None) -> list[str]:
    """Matrices with a row for every token, or else those that are worded like one."""
    own = [path for path in names.own(modules) if names.holds_matrix(modules[path])]
    worded = [path for path in own if _TABLE.search(_leaf(path)) or _HEAD.search(_leaf(path))]
    asked = dict.fromkeys([*worded, *own][:_MOST_ASKED])
    found = {path: names.shape_of(shapes, modules, path) for path in asked}
    matrices = {path: shape for path, shape in found.items() if shape and len(shape) == 2}
    rows = size or max((shape[0] for shape in matrices.values()), default=0)
    fitting = [path for path, shape in matrices.items() if shape[0] >= rows > 1]
    both = [path for path in fitting if path in worded]
    return (both or fitting or worded)[:_MOST_SHOWN]


def _register_hint(config: Config, close: list[str]) -> str:
    kind = next(iter(configuration.families_of(config)), "")
    if not kind:
        return "Give its config.json a model_type, then it can be registered."
    heads = [path for path in close if _HEAD.search(_leaf(path))]
    tables = [path for path in close if path not in heads] or heads
    output = next((path for path in heads if path != tables[0]), None)
    named = f"input={json.dumps(tables[0] if tables else '...', ensure_ascii=False)}"
    named += f", output={json.dumps(output, ensure_ascii=False)}" if output else ""
    dots = "" if tables else ", with the module's name for the dots"
    return (
        f"Register the layout in three lines, then load again{dots}: import embtie_widgets as ew; "
        f"ew.register_family({json.dumps(kind, ensure_ascii=False)}, {named}); ew.load(...)."
    )


def _leaf(path: str) -> str:
    return path.rsplit(".", 1)[-1]
