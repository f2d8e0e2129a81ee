"""The lens without requests: a model and some texts in, a `Lens` or translators out."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.lens_sides import bundled_lens
from embtie_widgets.measures.lens import measure_lens
from embtie_widgets.measures.states import most_places
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import fields
from embtie_widgets.requests.lens import LENSES, MODES
from embtie_widgets.results.lens import Lens
from embtie_widgets.sources.models import OpenModel, open_model
from embtie_widgets.sources.passages import Pieces, pieces_of_texts
from embtie_widgets.training import translators as saved
from embtie_widgets.training.lens import train_translators
from embtie_widgets.training.translators import Translators

READ = 512


def lens(
    model: Any,
    texts: Any,
    kind: str = "logit",
    mode: str = "corrected",
    translators: Any = None,
    *,
    tokenizer: Any = None,
    length: int = 512,
    floor: bool = False,
    device: str = "auto",
    precision: str = "auto",
    seed: int = 0,
    progress: Progress = silent,
) -> Lens:
    """What each layer of a model already says about the next token.

    `model` is a reference or a transformers model; `texts` are strings, or token ids (B, T), in
    pieces of at most `length` tokens, or of as many as the model takes.  A "tuned" lens needs
    `translators`, from `train_lens` or `load_lens`, or the path of a saved lens; without them it
    is the one that ships with a bundled model.  `mode` "paper" repeats the two slips of the
    published evaluation; `floor` adds how near any lens at the embedding could come.
    """
    fields.choice("kind", kind, LENSES)
    fields.choice("mode", mode, MODES)
    _check(length, seed)
    opened = open_model(model, device=device, precision=precision, progress=progress)
    pieces = _pieces(opened, texts, tokenizer, length)
    found = measure_lens(
        opened.model,
        pieces.ids,
        translators=_translators(kind, translators, opened),
        mode=mode,
        floor=floor,
        readings=READ,
        vocabulary=opened.tokens,
        seed=seed,
        progress=progress,
    )
    return replace(
        found,
        notes=(*opened.notes, *pieces.notes, *found.notes),
        settings={
            **found.settings,
            "lens": kind,
            "model": opened.name,
            "placement": opened.placement,
            "text": pieces.settings,
        },
        hashes={**found.hashes, **opened.hashes, "text": pieces.sha256},
    )


def train_lens(
    model: Any,
    texts: Any,
    steps: int,
    *,
    tokenizer: Any = None,
    length: int = 512,
    start: str = "least-squares",
    recipe: str = "fast",
    device: str = "auto",
    precision: str = "auto",
    seed: int = 0,
    progress: Progress = silent,
    **options: Any,
) -> Translators:
    """Translators for the model's layers, learned on the texts in so many steps.

    With `start` "zero" none of the steps leaves the logit lens; "least-squares" takes the best
    affine map to the last state as the first.  `recipe` "published" trains as the `tuned-lens`
    package does; `options` are the others of `training.lens.train_translators`, such as
    `tokens_per_step`, `lr` or `resume`.  Stopped by an interrupt, it gives what is learned until
    then.
    """
    _check(length, seed)
    opened = open_model(model, device=device, precision=precision, progress=progress)
    pieces = _pieces(opened, texts, tokenizer, length)
    learned = train_translators(
        opened.model,
        pieces,
        steps,
        start=start,
        recipe=recipe,
        seed=seed,
        device=device,
        progress=progress,
        **options,
    )
    return replace(learned, settings=learned.settings | {"model": opened.name})


def load_lens(path: str | Path) -> Translators:
    """Translators that were saved by `.save(path)`, or the folder of a lens of the `tuned-lens`
    package; nothing in a file is run."""
    return saved.load_lens(path)


def _check(length: Any, seed: Any) -> None:
    fields.whole("length", length, 2, 2**31 - 1)
    fields.whole("seed", seed, 0, 2**31 - 1)


def _pieces(opened: OpenModel, texts: Any, tokenizer: Any, length: int) -> Pieces:
    rows = int(opened.model.get_input_embeddings().weight.shape[0])
    length = min(length, most_places(opened.model) or length)
    return pieces_of_texts(texts, tokenizer or opened.tokenizer, length=length, rows=rows)


def _translators(kind: str, given: Any, opened: OpenModel) -> Any:
    """What is put before the head: nothing for a logit lens."""
    if kind == "logit":
        if given is not None:
            raise EmbtieError(
                "Translators were given for a logit lens, which has none.",
                "Set kind='tuned', or leave them out.",
            )
        return None
    if isinstance(given, str | Path):
        given = load_lens(given)
    if given is None:
        path = None if opened.origin is None else bundled_lens(opened.origin)
        if path is None:
            raise EmbtieError(
                f"A tuned lens needs translators, and none ship with {opened.name}.",
                "Train them with ew.train_lens(model, texts, steps), or give a saved lens.",
            )
        given = load_lens(path)
    if isinstance(given, Translators):
        given.check(opened.model)
    elif not callable(getattr(given, "apply", None)):
        raise EmbtieError(
            f"translators is a {type(given).__name__}; expected trained translators or a path.",
            "Give what ew.train_lens(...) or ew.load_lens(path) returns.",
        )
    return given
