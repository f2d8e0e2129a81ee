"""The list of a model's blocks, and the norm that stands behind the last of them."""

import re
from collections.abc import Iterable
from itertools import takewhile

from embtie_widgets.sources import names
from embtie_widgets.sources.families import NONE, Family
from embtie_widgets.sources.names import ends_with

_NUMBER = re.compile(r"\.([0-9]{1,9})(?=\.|$)")
_NORM = re.compile(r"(^|_)(norm|ln|layernorm|rmsnorm)(_|$)")
_FINAL = re.compile(r"(^|_)(final|f|out|last)(_|$)")
_OTHER = re.compile(r"emb|input|pre_|post_attention|_in(_|$)")


def find(
    tensors: Iterable[str], family: Family, E: str | None, told: int | None
) -> tuple[str | None, int]:
    """The path of the list of blocks and how many it has; (None, 0) where none is found.

    `told` is the number that the configuration gives: blocks beyond it guess ahead and are none
    of the model's own.
    """
    numbers: dict[str, set[int]] = {}
    held: dict[str, int] = {}
    for name in tensors:
        found = _NUMBER.search(name)
        path = name[: found.start()] if found else ""
        if found and path and not names.is_foreign(path):
            numbers.setdefault(path, set()).add(int(found[1]))
            held[path] = held.get(path, 0) + 1
    if family.layers is not None:
        chosen = [p for p in numbers if ends_with(p, (family.layers,))]
    else:
        chosen = list(numbers)
    if not chosen or family.layers == NONE:
        return None, 0
    best = max(chosen, key=lambda path: (_rank(path, E), held[path], path))
    count = max(numbers[best]) + 1
    return best, min(count, told) if told else count


def _rank(path: str, E: str | None) -> tuple[int, int]:
    own, table = path.split("."), (E or "").split(".")
    pairs = zip(own, table, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return (common, "encoder" not in own)


def final_norm(
    modules: Iterable[str], family: Family, layers: str | None, E: str | None
) -> str | None:
    """The norm that stands beside the list of blocks, or else beside the input matrix.

    None where there is none, or no single one.
    `modules` are paths of all modules, weightless ones too.
    """
    if family.norm == NONE:
        return None
    own = [path for path in modules if not names.is_foreign(path)]
    if family.norm is not None:
        found = [path for path in own if ends_with(path, (family.norm,))]
        found = found if len(found) == 1 else _beside(found, layers)
        return found[0] if len(found) == 1 else None
    return _one_norm(_beside(own, layers)) or _one_norm(_beside(own, E))


def _one_norm(paths: list[str]) -> str | None:
    leaves = {path: path.rsplit(".", 1)[-1] for path in paths}
    norms = [p for p, leaf in leaves.items() if _NORM.search(leaf) and not _OTHER.search(leaf)]
    sure = [path for path in norms if _FINAL.search(leaves[path])] or norms
    return sure[0] if len(sure) == 1 else None


def projection(modules: Iterable[str], layers: str | None) -> str | None:
    """What narrows the last state to the width of the matrices; None where nothing does."""
    found = [path for path in _beside(modules, layers) if ends_with(path, ("project_out",))]
    return found[0] if found else None


def _beside(modules: Iterable[str], path: str | None) -> list[str]:
    around = (path or "").rpartition(".")[0]
    return [p for p in modules if path is not None and p.rpartition(".")[0] == around]
