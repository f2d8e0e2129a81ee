"""The files of a trained model, and of the bundled pair's checkpoints."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.paths import local_path

if TYPE_CHECKING:
    from embtie_widgets.training.run_store import Checkpoint


def writable_folder(folder: Any, prefix: str) -> Path:
    """The folder, made and tried out before anything costly; a temporary one for None or ""."""
    if not folder:
        return Path(tempfile.mkdtemp(prefix=prefix))
    if not isinstance(folder, str | Path):
        raise EmbtieError(f"folder is a {type(folder).__name__}, not a path.", "Give it as text.")
    path = local_path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except (FileExistsError, NotADirectoryError):
        what = "is a file or lies in one"
    except OSError:
        what = "cannot be written to"
    raise EmbtieError(
        f"The folder '{path.name}' {what}.", "Name a folder that is yours to write, or a new one."
    )


def save_checkpoints(
    by_run: Mapping[str, Sequence["Checkpoint"]],
    folder: Path,
    dtype: torch.dtype = torch.float32,
) -> None:
    """One file a step: `input` and `output` of the untied run, `tied` of the tied one."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[int, dict[str, torch.Tensor]] = {}
    for run, kept in by_run.items():
        for step, matrix, output in kept:
            named = {"tied": matrix} if run == "tied" else {"input": matrix, "output": output}
            files.setdefault(step, {}).update({k: v.to(dtype) for k, v in named.items()})
    for step, matrices in files.items():
        save_file(matrices, folder / f"step-{step:06d}.safetensors")


def read_checkpoints(folder: Path) -> dict[int, dict[str, torch.Tensor]]:
    """By step, in order: `input`, `output` and `tied`, as many as were kept."""
    return {int(path.stem[5:]): load_file(path) for path in sorted(folder.glob("step-*"))}


def save_model(
    model: Any, tokenizer: Tokenizer | None, folder: Path, dtype: torch.dtype | None = None
) -> None:
    """A Hugging Face folder; the model itself changes to `dtype` where one is given."""
    with no_bars():
        (model if dtype is None else model.to(dtype)).save_pretrained(folder)
    if tokenizer is not None:
        from transformers import PreTrainedTokenizerFast

        from embtie_widgets.training.corpus import END_OF_TEXT

        end = END_OF_TEXT if tokenizer.token_to_id(END_OF_TEXT) is not None else None
        limit = getattr(model.config, "max_position_embeddings", None)
        wrapped = PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, eos_token=end, model_max_length=limit
        )
        wrapped.save_pretrained(folder)


@contextmanager
def no_bars() -> Iterator[None]:
    """transformers draws a bar for each file it writes; our progress is the caller's."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
