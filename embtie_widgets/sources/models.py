"""A whole model, ready to compute: from its files, never with weights that no file holds.

The class is one of transformers' own, filled from the very files that `load` reads; no code of a
repository runs, nothing is fetched but configuration, weights and tokenizer.
"""

import gc
import shutil
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.machine import pick_device
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources import live, whole
from embtie_widgets.sources.config_faults import unrunnable
from embtie_widgets.sources.kept import keeps
from embtie_widgets.sources.load import load
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.model_hash import state_hash
from embtie_widgets.sources.offloaded import at_hand, input_device
from embtie_widgets.sources.once import read_once
from embtie_widgets.sources.placing import Placing, checked_precision, offload_folder, place
from embtie_widgets.sources.quiet import quiet
from embtie_widgets.sources.readout import few_logits
from embtie_widgets.sources.sourced import finish
from embtie_widgets.sources.tokenizing import ModelTokenizer, tokenizer_of
from embtie_widgets.sources.whole import Whole

_KEPT = 2
_SHOWN = 4


@dataclass(frozen=True, eq=False)
class OpenModel:
    """A decoder with its head, in memory or placed so that it can compute.

    model      the transformers module, in evaluation mode and without gradients; one that was
               handed over is given back as it is
    origin     the reference that it was opened by; None for a model in memory
    tied       as `load` calls it: "tied" or "untied"
    device     where token ids go in
    precision  "float32", "bfloat16" or "float16": what the weights are computed with
    placement  a sentence: how large it is, and where it lies
    tokenizer  None where there is none that can be read
    tokens     byte keys by row, None for rows without token; None without tokenizer
    notes      sentences that belong beside every number made with it
    """

    model: Any
    name: str
    origin: ModelRef | None
    revision: str | None
    tied: str
    device: torch.device
    precision: str
    placement: str
    tokenizer: ModelTokenizer | None
    tokens: list[bytes | None] | None
    notes: tuple[str, ...]
    _whole: Whole | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        kind = type(self.model).__name__
        return f"OpenModel({self.name!r}, {kind}, {self.tied}, {self.placement})"

    @property
    def hashes(self) -> dict[str, str]:
        """ "model": sha256 over configuration and weights; kept as long as these stay the same."""
        return {"model": self._of_files if self._whole is not None else state_hash(self.model)}

    @cached_property
    def _of_files(self) -> str:
        # Files that have changed since say nothing about what was opened.
        found = self._whole
        return found.hash() if found and found.now() == found.stamp else state_hash(self.model)


_open: OrderedDict[Any, OpenModel] = OrderedDict()
_lock = threading.Lock()


def open_model(
    ref: Any, *, device: str = "auto", precision: str = "auto", progress: Progress = silent
) -> OpenModel:
    """The model that a reference names, whole and ready to compute.

    `ref` is a bundled name, a Hugging Face folder, a hub id, a GGUF file, a `ModelRef`, what
    `load` made of one of these, or a transformers model in memory.  `precision` "auto" is float32
    where that fits and the device is no graphics card, else what is stored.  What exceeds the
    device goes to the CPU and to disk too; what exceeds all of it is refused before anything is
    loaded.  The two models that were opened last are kept, unless memory gets short.
    """
    checked_precision(precision)
    if live.is_model(ref):
        return _in_memory(ref)
    known = as_ref(ref)
    pick_device(device)
    with _alone(progress), read_once():
        found = whole.find_whole(known, progress)
        key = (known, found.stamp, device, precision)
        if key not in _open:
            placing = _place(found, device, precision)
            _open[key] = _opened(known, found, placing, progress)
        _open.move_to_end(key)
        while len(_open) > _KEPT:
            _open.popitem(last=False)
        return _open[key]


def as_ref(ref: Any) -> ModelRef:
    """The reference to a whole model; that of loaded matrices at the commit they came from."""
    if isinstance(ref, Loaded):
        if ref.origin is None:
            raise EmbtieError(
                f"'{ref.name}' holds matrices alone, and was not loaded from a named model.",
                "Give the model in memory itself, or the name of a whole model.",
            )
        return replace(ref.origin, revision=ref.revision or ref.origin.revision)
    if isinstance(ref, str | Path | ModelRef):
        return ModelRef.from_value(ref)
    raise EmbtieError(
        f"A model cannot be opened from a {type(ref).__name__}.",
        "Give a bundled name, a folder, a GGUF file, a hub id, or a transformers model.",
    )


def needed_bytes(
    ref: Any, precision: str = "auto", device: str = "auto", progress: Progress = silent
) -> int:
    """What the weights take in memory, by headers alone: nothing is loaded for it."""
    if live.is_model(ref):
        return sum(tensor.nbytes for tensor in ref.state_dict().values())
    found = whole.find_whole(as_ref(ref), progress)
    return found.size.bytes_in(_precision_of(found, device, precision))


def sizes_of(ref: Any, progress: Progress = silent) -> dict[str, int]:
    """Numbers in all ("parameters"), "rows" and "width" of the embedding and "layers" of a model,
    by headers alone; 0 for what these do not say."""
    found = whole.find_whole(as_ref(ref), progress)
    rows, width, layers = found.shape()
    return {"parameters": found.size.numbers, "rows": rows, "width": width, "layers": layers}


def bytes_to_fetch(ref: Any, progress: Progress = silent) -> int:
    """What opening it would move from the hub; its configuration and tokenizer are not counted."""
    return 0 if live.is_model(ref) else whole.find_whole(as_ref(ref), progress).to_fetch()


def model_hash(ref: Any, progress: Progress = silent) -> str:
    """What `OpenModel.hashes` has for the model, without opening it."""
    if live.is_model(ref):
        return state_hash(ref)
    return whole.find_whole(as_ref(ref), progress).hash(progress)


def let_go() -> None:
    """Keep no open model any longer than others hold it."""
    _open.clear()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


@keeps
def _let_go_at_rest() -> None:
    """The same, unless another thread is opening one."""
    if _lock.acquire(blocking=False):
        try:
            let_go()
        finally:
            _lock.release()


def _precision_of(found: Whole, device: str, precision: str) -> str:
    try:
        return _word(place(found.size, found.name, device, precision, found.can_wait).dtype)
    except EmbtieError:
        if precision == "auto":
            return found.size.dtype
        return checked_precision(precision)


def _place(found: Whole, device: str, precision: str) -> Placing:
    """With what is free; models that were kept make room where that helps."""
    if not _open:
        return place(found.size, found.name, device, precision, found.can_wait)
    wanted = "float32" if precision == "auto" and pick_device(device).type != "cuda" else precision
    try:
        tried = place(found.size, found.name, device, wanted, found.can_wait)
    except EmbtieError:
        tried = None
    if tried is None or tried.memory is not None:
        let_go()
    return place(found.size, found.name, device, precision, found.can_wait)


@contextmanager
def _alone(progress: Progress) -> Iterator[None]:
    """One model is opened at a time: what is free is counted before it is taken."""
    while not _lock.acquire(timeout=0.5):
        progress("another model is being opened", 0, 1)
    try:
        yield
    finally:
        _lock.release()


def _opened(ref: ModelRef, found: Whole, placing: Placing, progress: Progress) -> OpenModel:
    found.fetch()
    loaded = load(ref if found.commit is None else replace(ref, revision=found.commit))
    found.check(loaded)
    stage = f"opening {found.name}"
    progress(stage, 0, 1)
    folder = offload_folder() if placing.disk else None
    try:
        with quiet(progress, stage):
            model, told = found.build(loaded, placing, folder, progress, stage)
        _refuse_lacking(told, found.name)
        if not placing.disk:  # a pass from disk may take minutes, and whoever reads meets it soon
            _refuse_unrunnable(model.eval(), found.name)
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if folder is not None:
        weakref.finalize(model, shutil.rmtree, folder, ignore_errors=True)
    tokenizer, spoken = _tokenizer(loaded, progress)
    return OpenModel(
        model=model.eval().requires_grad_(False),
        name=found.name,
        origin=ref,
        revision=loaded.revision,
        tied=loaded.tied,
        device=placing.device,
        precision=_word(placing.dtype),
        placement=placing.sentence,
        tokenizer=tokenizer,
        tokens=loaded.tokens,
        notes=(*loaded.notes, *_unused(told), *spoken),
        _whole=found,
    )


def _refuse_unrunnable(model: Any, name: str) -> None:
    """Some sizes that do not go together show only when a text is read: a few tokens are."""
    try:
        few_logits(model)
    except (EmbtieError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as fault:
        called = type(model).__name__
        raise unrunnable(model.config.to_dict(), called, name, fault) from None


def _refuse_lacking(told: Mapping[str, Any], name: str) -> None:
    """The library draws at random what it does not find; none of that is shown to anybody."""
    missing = sorted(told["missing_keys"])
    if missing:
        raise EmbtieError(
            f"'{name}' lacks {len(missing)} of its weights, {_listed(missing)}: they would be "
            "drawn at random, so the model is not opened.",
            "Choose the whole checkpoint of the language model.",
        )
    wrong = sorted(str(entry[0]) for entry in told["mismatched_keys"])
    if wrong:
        raise EmbtieError(
            f"In '{name}' the shapes of {_listed(wrong)} are not those that its configuration "
            "says.",
            "Download configuration and weights again: they are not of one model.",
        )


def _unused(told: Mapping[str, Any]) -> tuple[str, ...]:
    spare = sorted(told["unexpected_keys"])
    if not spare:
        return ()
    tensors = "1 tensor" if len(spare) == 1 else f"{len(spare)} tensors"
    return (f"The model has no use for {tensors} of the files: {_listed(spare)}.",)


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _tokenizer(loaded: Loaded, progress: Progress) -> tuple[ModelTokenizer | None, tuple[str, ...]]:
    try:
        return tokenizer_of(loaded, progress), ()
    except EmbtieError as error:
        return None, (f"Texts cannot be cut: {error.message}",)


def _in_memory(model: Any) -> OpenModel:
    """A transformers model that somebody has: judged like one from files, and left as it is."""
    name = type(model).__name__
    whole.check_live(model, name)
    with ExitStack() as stack:
        for ends in (model.get_input_embeddings, model.get_output_embeddings):
            stack.enter_context(at_hand(ends()))
        loaded = finish(live.read_model(model))
    whole.check_head(loaded, name)
    dtype = loaded.input.dtype
    where = {p.device.type for p in model.parameters()} - {"meta"}
    return OpenModel(
        model=model,
        name=loaded.name,
        origin=None,
        revision=None,
        tied=loaded.tied,
        device=input_device(model),
        precision=_word(dtype),
        placement=f"in memory, on {' and '.join(sorted(where)) or 'disk'}",
        tokenizer=None,
        tokens=None,
        notes=tuple(loaded.notes),
    )


def _word(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
