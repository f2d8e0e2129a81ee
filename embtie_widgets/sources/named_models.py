"""Which models may be named: all by their user and by the visitors of a page that is not public.

On a public page they are the bundled ones, those of the catalogue, to which the owner's own file
adds, at any of their revisions, and what lies in the folders that EMBTIE_MODELS lists, which are
named as seen from there.  Runs in the folder of EMBTIE_RUNS are models too.
"""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import ModelRef
from embtie_widgets.requests.fields import short
from embtie_widgets.sources import catalogue_file
from embtie_widgets.sources.paths import local_path
from embtie_widgets.sources.permission import (
    MODELS,
    RUNS,
    is_inside,
    is_laid_out,
    is_public,
    is_served,
)

BUNDLED = ("nano-tied", "nano-untied")
_WEIGHTS = (".safetensors", ".npy", ".gguf")
_MOST, _DEEPEST = 2_000, 3  # of a folder that is searched for models


def model_path(name: str | Path) -> Path:
    """The path that a model, or a file of its matrices, has on this machine, if it is there; an
    EmbtieError for one that a visitor may not open.

    What lies in the owner's folders goes by its name there, for the owner too.
    """
    given, written = local_path(name), str(name)
    inside = _laid_out(written)
    if not is_public():
        return given if inside is None or given.exists() else inside
    if inside is not None:
        return inside
    if written in BUNDLED or written in _catalogued():
        return given
    # The same words for what is there and what is not: a visitor learns nothing of the server.
    raise EmbtieError(
        "On this public page only models that its owner offers are opened, and there is none "
        f"called {short(written)}.",
        "Choose one from the list, or run embtie yourself, which opens any.",
    )


def check_model(ref: ModelRef) -> None:
    """An EmbtieError for a model that a visitor may not open, or for its companions."""
    model_path(ref.ref)
    if ref.output_file is not None:
        model_path(ref.output_file)
    if ref.tokens_file is not None:
        token_list_path(ref.tokens_file, ref.ref)


def token_list_path(name: str, model: str) -> Path:
    """The list of tokens that was named for a model; a visitor's lies beside the model's files."""
    path, known = local_path(name), model_path(model)
    if not is_served():
        return path
    folder = known if known.is_dir() else known.parent
    for place in (path, folder / name, *(one / name for one in _folders(MODELS))):
        try:
            if known.exists() and place.is_file() and place.resolve().parent == folder.resolve():
                return place
        except (OSError, RuntimeError):
            continue
    raise EmbtieError(
        "On a shared page the tokens of a model are read only from beside its files, and there is "
        f"no list called '{Path(name).name}' there.",
        "Leave the list out, or ask the page's owner to put it there.",
    )


def laid_out_models() -> tuple[str, ...]:
    """What lies in the folders of EMBTIE_MODELS, by the names that open it, in their order."""
    found = {
        path.relative_to(folder).as_posix()
        for folder in _folders(MODELS)
        for path in islice(_below(folder, _DEEPEST), _MOST)
        if _is_model(path) and is_laid_out(path, folder)
    }
    return tuple(sorted(found))


def passed_over() -> Iterator[str]:
    """Of what lies in the folders of EMBTIE_MODELS and is offered to nobody, its name and why."""
    for folder in _folders(MODELS):
        for path in islice(_below(folder, 1), _MOST):
            if not is_inside(path, folder):
                yield f"{path.name}, a link that leads out of its folder"
            elif path.is_dir() and not any(map(_is_model, (path, *_below(path, _DEEPEST - 1)))):
                yield f"{path.name}, a folder with no model that can be read"


def _laid_out(name: str) -> Path | None:
    """Where it lies in a folder of the owner's; the first of them goes before the others."""
    for folder in _folders(MODELS) + _folders(RUNS):
        try:
            path = folder / name
            if is_laid_out(path, folder) and path.resolve() != folder.resolve():
                return path
        except (OSError, RuntimeError):  # a name too long, a circle of links
            continue
    return None


def _folders(variable: str) -> list[Path]:
    return [Path(one) for one in os.environ.get(variable, "").split(os.pathsep) if one]


def _catalogued() -> frozenset[str]:
    files = map(catalogue_file.read, (catalogue_file.user_file(), catalogue_file.PRESETS))
    return frozenset().union(*(_named_in(contents) for contents in files))


def _named_in(contents: catalogue_file.Contents) -> set[str]:
    pairs = {model.ref for pair in contents.pairs for model in (pair.a, pair.b)}
    return pairs | {entry.ref for entry in contents.models}


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """All there is, but nothing hidden, and nothing inside a model's folder."""
    try:
        inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return
    for path in inside:
        yield path
        if depth > 1 and path.is_dir() and not (path.is_symlink() or _is_model(path)):
            yield from _below(path, depth - 1)


def _is_model(path: Path) -> bool:
    if path.is_dir():
        return (path / "config.json").is_file()
    return path.suffix in _WEIGHTS and path.is_file()
