"""What runs through a model's blocks, taken by hooks: every state before the final norm."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.devices import full_float32
from embtie_widgets.measures.head import refuse_others
from embtie_widgets.progress import Progress, silent
from embtie_widgets.sources.alone import alone_with
from embtie_widgets.sources.live import layout_of
from embtie_widgets.sources.offloaded import input_device

Ids = np.ndarray[Any, np.dtype[np.int64]]

STAGE = "reading the text"
# Logits, and states of all layers, of one batch: 256 MB each in float32.
_FLOATS = 64_000_000


@dataclass(frozen=True, eq=False)
class Block:
    """Some positions of the text, of whole pieces, padding left out.

    states  L + 1 tensors (n, d) float32: what enters the first block, and what leaves each
    own     (n, V) float32, the model's own logits
    ids     (n,) the token at each position
    piece   (n,) which of the pieces it is from
    place   (n,) where it stands in its piece, from 0
    """

    states: list[Tensor]
    own: Tensor
    ids: Ids
    piece: Ids
    place: Ids


def states_of(
    model: Any,
    pieces: Sequence[Any],
    *,
    tokens_at_once: int | None = None,
    device: torch.device | None = None,
    progress: Progress = silent,
) -> Iterator[Block]:
    """Every position of the pieces once, pieces of about one length together.

    pieces are runs of token ids; each goes through the model alone, from place 0.  A batch holds
    `tokens_at_once` positions, padding included, but at least one piece; by default so many that
    neither its logits nor its states take more than 256 MB.  All tensors are on `device`, or else
    where the model's logits are.
    """
    refuse_others(model)
    runs = [np.asarray(piece, dtype=np.int64).reshape(-1) for piece in pieces]
    check_pieces(model, runs)
    reader = _Reader(model)
    at_once = tokens_at_once or reader.tokens_at_once
    done, total = 0, sum(map(len, runs))
    for batch in batches([len(run) for run in runs], at_once):
        size = sum(len(runs[i]) for i in batch)

        def tell(share: float, done: int = done, size: int = size) -> None:
            progress(STAGE, done + int(share * size), total)

        states, own = reader.read([runs[i] for i in batch], device, tell)
        done += size
        yield Block(
            states,
            own,
            ids=np.concatenate([runs[i] for i in batch]),
            piece=np.concatenate([np.full(len(runs[i]), i) for i in batch]),
            place=np.concatenate([np.arange(len(runs[i])) for i in batch]),
        )
    progress(STAGE, total, total)


def batches(lengths: Sequence[int], tokens_at_once: int) -> list[list[int]]:
    """Which pieces go together, the shortest first; empty ones go nowhere."""
    made: list[list[int]] = []
    for i in sorted((i for i, n in enumerate(lengths) if n), key=lambda i: lengths[i]):
        if made and (len(made[-1]) + 1) * lengths[i] <= tokens_at_once:
            made[-1].append(i)
        else:
            made.append([i])
    return made


def check_pieces(model: Any, runs: Sequence[Ids]) -> None:
    """An EmbtieError for runs of token ids that the model cannot read."""
    longest = max(map(len, runs), default=0)
    if not longest:
        raise EmbtieError("There is no token to read.", "Give a longer text.")
    rows, most = model.get_input_embeddings().weight.shape[0], most_places(model)
    low, high = min(r.min() for r in runs if len(r)), max(r.max() for r in runs if len(r))
    if low < 0 or high >= rows:
        raise EmbtieError(
            f"The token ids run from {low:,} to {high:,}; the model has rows 0 to {rows - 1:,}.",
            "Cut the text with the model's own tokenizer.",
        )
    if most is not None and longest > most:
        raise EmbtieError(
            f"A piece of {longest:,} tokens was given; the model takes at most {most:,}.",
            f"Set length to {most:,} or less.",
        )


def most_places(model: Any) -> int | None:
    """The longest piece that a model takes; None where its configuration names no end."""
    config = model.config.get_text_config()
    names = ("max_position_embeddings", "n_positions", "max_seq_len")
    known = (getattr(config, name, None) for name in names)
    return next((int(n) for n in known if isinstance(n, int) and n > 0), None)


class _Reader:
    """A model and the blocks in it that are listened to."""

    def __init__(self, model: Any) -> None:
        self.model, layout = model, layout_of(model)
        modules = dict(model.named_modules())
        paths = [f"{layout.layers}.{i}" for i in range(layout.layer_count)]
        self.blocks = [modules[path] for path in paths if path in modules]
        if not self.blocks or len(self.blocks) < len(paths):
            raise _other(model, "its blocks are not found")
        rows, width = model.get_output_embeddings().weight.shape
        per_token = max(rows, (len(self.blocks) + 1) * width)
        self.tokens_at_once = max(1, _FLOATS // per_token)

    def read(
        self, runs: Sequence[Ids], device: torch.device | None, tell: Callable[[float], None]
    ) -> tuple[list[Tensor], Tensor]:
        """The states (n, d) of the real positions, run after run, and the logits (n, V)."""
        ids, real = _padded(runs)
        masked = None if real.all() else real
        states: list[Tensor] = []

        def keep(state: Any) -> None:
            tell(len(states) / (len(self.blocks) + 1))
            if not isinstance(state, Tensor) or state.shape[:-1] != ids.shape:
                raise _other(self.model, "its blocks do not hand on one state per token")
            states.append(_real(state, masked, device))

        # Of two threads with one open model each would hear the other's states.
        with alone_with(self.model, lambda: tell(0)), _listening(self.blocks, keep):
            logits = self._forward(ids, masked)
        own = _real(logits, masked, device)
        device = own.device
        if len(states) != len(self.blocks) + 1 or len({s.shape for s in states}) > 1:
            raise _other(self.model, "its blocks are not run once each, one after the other")
        return [state.to(device) for state in states], own

    def _forward(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        at, training = input_device(self.model), self.model.training
        padding = {} if mask is None else {"attention_mask": mask.to(at, torch.int64)}
        try:
            with torch.no_grad(), full_float32():
                made = self.model.eval()(input_ids=ids.to(at), use_cache=False, **padding)
        finally:
            self.model.train(training)
        logits: Tensor = made.logits
        if logits.shape[:-1] != ids.shape:
            raise _other(self.model, "it does not give logits for each token")
        return logits


def _padded(runs: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Ids (B, T), filled up on the right, and which of them are real."""
    longest = max(map(len, runs))
    ids = torch.zeros(len(runs), longest, dtype=torch.int64)
    real = torch.zeros(len(runs), longest, dtype=torch.bool)
    for row, run in enumerate(runs):
        ids[row, : len(run)] = torch.from_numpy(run)
        real[row, : len(run)] = True
    return ids, real


def _real(made: Tensor, mask: Tensor | None, device: torch.device | None) -> Tensor:
    """(B, T, ...) -> (n, ...), always a copy: blocks may go on in the same memory."""
    if mask is None:
        flat = made.detach().flatten(0, 1).to(device or made.device, torch.float32)
        return flat.clone() if flat.data_ptr() == made.data_ptr() else flat
    return made.detach()[mask.to(made.device)].to(device or made.device, torch.float32)


@contextmanager
def _listening(blocks: Sequence[Any], keep: Callable[[Any], None]) -> Iterator[None]:
    """`keep` is called with what enters the first block, then with what leaves each."""

    def entering(_module: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        first = args[0] if args else named.get("hidden_states")
        keep(first)

    def leaving(_module: Any, _args: Any, made: Any) -> None:
        keep(made if isinstance(made, Tensor) else made[0])

    handles = [blocks[0].register_forward_pre_hook(entering, with_kwargs=True)]
    handles += [block.register_forward_hook(leaving) for block in blocks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _other(model: Any, why: str) -> EmbtieError:
    return EmbtieError(
        f"The lens cannot follow the states through a {type(model).__name__}: {why}.",
        "Where the blocks go by an unusual name, ew.register_family(model_type, layers=...) "
        "tells it.",
    )
