"""How likely a model holds the tokens of a text, each given what stands before it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from embtie_widgets.measures.logits import in_blocks
from embtie_widgets.measures.states import Block, Ids, check_pieces, states_of
from embtie_widgets.progress import Progress, silent

Vector = np.ndarray[Any, np.dtype[Any]]

# Logits of a batch, 256 MB in float32; and multiplications in a batch's widest product, which a
# processor does in a fifth of a second, and a busy one in less than a second: between two of them
# the work can be called off.
_FLOATS, _AT_ONCE = 64_000_000, 2e9


def log_likelihoods(
    model: Any, runs: Sequence[Any], starts: Sequence[int], *, progress: Progress = silent
) -> tuple[list[Vector], list[Vector]]:
    """For each run of n token ids: log p of its tokens from `start` on, (n - start,), in nats, at
    most 0; and whether each is the likeliest at its place, (n - start,) booleans.

    A token is predicted from all that stand before it in its run; a start is at least 1, since
    nothing says what the first token would be.  A run may have one token more than the model takes.
    Logits as the model computes them, the rest in float32.  Several runs go through the model
    together.
    """
    whole = [np.asarray(run, np.int64) for run in runs]
    check_pieces(model, [run[-1:] for run in whole])
    # Nothing is asked of what stands behind the last token, so that it is not read.
    read = [run[:-1] for run in whole]
    nats = [np.zeros(len(run) - start) for run, start in zip(whole, starts, strict=True)]
    top = [np.zeros(len(each), bool) for each in nats]
    for block in states_of(model, read, tokens_at_once=_at_once(model), progress=progress):
        _take(block, whole, np.asarray(starts), nats, top)
    return nats, top


def _at_once(model: Any) -> int | None:
    """How many tokens go through a model together; None leaves it to its memory."""
    weight = model.get_output_embeddings().weight
    if weight.device.type != "cpu":
        return None
    return max(1, int(min(_FLOATS / weight.shape[0], _AT_ONCE / weight.numel())))


def _take(
    block: Block, runs: list[Ids], starts: Vector, nats: list[Vector], top: list[Vector]
) -> None:
    """What the positions of a block say of the tokens behind them."""
    behind = block.place + 1
    where = np.flatnonzero(behind >= starts[block.piece])
    if not len(where):
        return
    pieces, places = block.piece[where], behind[where]
    targets = np.array([runs[i][at] for i, at in zip(pieces, places, strict=True)])
    logits = block.own[torch.from_numpy(where).to(block.own.device)]
    wanted = torch.from_numpy(targets).to(logits.device)
    found, likeliest, done = [], [], 0
    for rows in in_blocks(logits):
        own = wanted[done : done + len(rows), None]
        found.append(rows.gather(1, own)[:, 0] - rows.logsumexp(1))
        likeliest.append(rows.argmax(1) == own[:, 0])
        done += len(rows)
    values, firsts = torch.cat(found).cpu().numpy(), torch.cat(likeliest).cpu().numpy()
    for i, at, value, first in zip(pieces, places, values, firsts, strict=True):
        nats[i][at - starts[i]], top[i][at - starts[i]] = value, first


def windows(count: int, length: int, stride: int) -> list[tuple[int, int, int]]:
    """(from, to, first new) of windows over `count` tokens, at most `length` wide: each token but
    the first is new in exactly one, and behind the first window with at least `length - stride`
    tokens before it."""
    found, done = [(0, min(length, count), 1)], min(length, count)
    while done < count:
        end = min(done + stride, count)
        found.append((max(0, end - length), end, done))
        done = end
    return found
