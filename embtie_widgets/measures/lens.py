"""The lens: every layer of a decoder read as its last one is, against what the model itself says.

KL is in bits, states are taken before the final norm, and no curve is given out where the last
state does not give the model's own logits.  Source: weight-tying paper, figure 2.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures import lens_words
from embtie_widgets.measures.devices import full_float32
from embtie_widgets.measures.divergence import Final, compare, explained, furthest, spans
from embtie_widgets.measures.head import Head
from embtie_widgets.measures.information import (
    CONTEXT,
    TOKEN,
    information_floor,
    no_floor,
    seen_at_input,
)
from embtie_widgets.measures.lens_means import finite_mean, intervals
from embtie_widgets.measures.residual import written
from embtie_widgets.measures.states import Block, states_of
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.lens import InformationFloor, Lens, Readings
from embtie_widgets.sources.live import layout_of

Vector = np.ndarray[Any, np.dtype[Any]]

CORRECTED, PAPER = "corrected", "paper"
STAGE = "reading the layers"
LIKELIEST = 10


class Translating(Protocol):
    """Translators of a tuned lens: one for each state but the last, the embedding's first."""

    def __len__(self) -> int:
        """As many as the model has blocks."""
        ...

    def apply(self, layer: int, states: Tensor) -> Tensor:
        """(n, d) -> (n, d): what states of that layer are read as."""
        ...


def measure_lens(
    model: Any,
    pieces: Sequence[Any],
    *,
    translators: Translating | None = None,
    mode: str = CORRECTED,
    floor: bool = False,
    readings: int = 0,
    vocabulary: Sequence[bytes | None] | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Lens:
    """KL(final || lens) at the embedding and after each block, over every position of the pieces.

    pieces are runs of token ids, each read alone from place 0.  Without translators it is the
    logit lens.  "corrected" reads state l by translator l, and the last state as the model does;
    "paper" is the released evaluation: state l by translator l - 1, and the last state, normed
    already, by the last translator and the norm again.  `floor` asks for the information floor at
    the embedding, `readings` for the likeliest tokens at so many first positions; `vocabulary`
    gives byte keys by row.

    An EmbtieError where the last state, read by the model's own norm and head, is not what the
    model itself says.
    """
    if mode not in (CORRECTED, PAPER):
        raise EmbtieError(f"There is no lens mode {mode!r}.", "Choose 'corrected' or 'paper'.")
    work = _Work(model, [np.asarray(piece).reshape(-1) for piece in pieces], translators, mode)
    work.list_first(readings)
    with full_float32(), torch.no_grad():
        work.read(model, floor, progress)
    found, notes = work.floor(seed, progress) if floor else (None, [])
    return work.lens(vocabulary, seed, found, notes)


class _Work:
    """What is gathered of n positions, in the order of the text."""

    def __init__(
        self, model: Any, pieces: list[Vector], translators: Translating | None, mode: str
    ) -> None:
        self.head, self.translators, self.mode = Head.of(model), translators, mode
        self.name, self.layers = type(model).__name__, layout_of(model).layer_count
        if translators is not None and len(translators) != self.layers:
            raise lens_words.other_layers(len(translators), self.layers)
        self.pieces, lengths = pieces, [len(piece) for piece in pieces]
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.n, points = int(self.starts[-1]), self.layers + 1
        self.ids, self.piece, self.place = np.zeros((3, self.n), np.int64)
        self.kl, self.entropy, self.rank, self.agrees = np.full((4, points, self.n), np.nan)
        self.share, self.write = np.zeros((points, self.n)), np.zeros((self.layers, self.n))
        self.whole = np.zeros((points, self.n), bool)
        self.checks: list[tuple[float, float]] = []
        self.listed, self.done = 0, 0
        self.first = self.last = torch.zeros(0)

    def list_first(self, readings: int) -> None:
        """Keep the likeliest tokens of so many first positions."""
        self.listed = min(readings, self.n)
        shape = (self.layers + 1, self.listed, min(LIKELIEST, len(self.head.weight)))
        self.likeliest, self.shares = np.zeros(shape, np.int64), np.zeros(shape)

    def read(self, model: Any, floor: bool, progress: Progress) -> None:
        """All of the text."""

        def tell(*_: Any) -> None:
            progress(STAGE, self.done // (self.layers + 1), self.n)

        for block in states_of(model, self.pieces, device=self.head.device, progress=tell):
            at = self.starts[block.piece] + block.place
            self.ids[at], self.piece[at], self.place[at] = block.ids, block.piece, block.place
            self._check(block)
            if floor:
                self._keep_ends(at, block.states)
            self.share[:, at], self.write[:, at] = (
                part.cpu().numpy() for part in written(block.states)
            )
            final = Final.of(block.own)
            for layer, state in enumerate(block.states):
                self._read_layer(layer, at, state, final, tell)
                self.done += len(at)
        tell()

    def _check(self, block: Block) -> None:
        found = furthest(self.head, block.states[-1], block.own)
        limit = explained(found, self.head)
        if any(a > most for a, most in zip(found.apart, limit, strict=True)):
            raise lens_words.not_its_own(self.name, _over(found.apart.largest, found.own.largest))
        if found.own.largest:
            pair = (found.apart.largest, limit.largest)
            self.checks.append((pair[0] / found.own.largest, pair[1] / found.own.largest))

    def _keep_ends(self, at: Vector, states: list[Tensor]) -> None:
        if not len(self.first):
            width = states[0].shape[1]
            self.first, self.last = torch.zeros(2, self.n, width).unbind()
        rows = torch.from_numpy(at)
        self.first[rows], self.last[rows] = states[0].cpu(), states[-1].cpu()

    def _read_layer(self, layer: int, at: Vector, state: Tensor, final: Final, tell: Any) -> None:
        seen = self._translated(layer, state)
        self.whole[layer, at] = torch.isfinite(state).all(-1).cpu().numpy()
        for rows in spans(len(at), self.head.device):
            self._compare(layer, at[rows], seen[rows], final[rows], tell)

    def _compare(self, layer: int, at: Vector, seen: Tensor, final: Final, tell: Any) -> None:
        most = LIKELIEST if (at < self.listed).any() else 0
        point = compare(self.head, seen, final, most, tell)
        kl, entropy, rank, agrees, likeliest, shares = (part.cpu().numpy() for part in point)
        known = np.isfinite(kl)
        self.kl[layer, at], self.entropy[layer, at] = np.where(known, kl, np.nan), entropy
        self.rank[layer, at] = np.where(known, rank, np.nan)
        self.agrees[layer, at] = np.where(known, agrees, np.nan)
        if most:
            here = at < self.listed
            self.likeliest[layer, at[here]] = likeliest[here]
            self.shares[layer, at[here]] = shares[here]

    def _translated(self, layer: int, state: Tensor) -> Tensor:
        translators, last = self.translators, layer == self.layers
        if self.mode == PAPER:
            state = self.head.norm_only(state) if last else state
            return translators.apply(max(layer - 1, 0), state) if translators else state
        return state if last or translators is None else translators.apply(layer, state)

    def floor(self, seed: int, progress: Progress) -> tuple[InformationFloor | None, list[str]]:
        """The information floor at the embedding, or the sentence why there is none."""
        sees = seen_at_input(self.first, self.ids, self.place)
        if sees == CONTEXT:
            return None, [no_floor(sees)]
        found = information_floor(
            self.last,
            self.head,
            self.ids,
            self.place,
            self.kl[0],
            same_state=sees == TOKEN,
            seed=seed,
            progress=progress,
        )
        return found, [no_floor(sees)] if found is None else []

    def lens(
        self,
        vocabulary: Sequence[bytes | None] | None,
        seed: int,
        floor: InformationFloor | None,
        notes: list[str],
    ) -> Lens:
        """The result."""
        between, drawn = intervals(self.kl, self.piece, seed)
        checked = max(self.checks, default=(float("nan"),))[0]
        said = lens_words.not_finite(self.whole, self.kl, self.head.precision)
        return Lens(
            kl_bits=finite_mean(self.kl),
            intervals=between,
            entropy_bits=finite_mean(self.entropy),
            agreement=finite_mean(self.agrees),
            mean_rank=finite_mean(self.rank),
            per_token=self.kl,
            ids=self.ids,
            piece=self.piece,
            place=self.place,
            tokens=_keys(self.ids, vocabulary),
            finite=np.isfinite(self.kl).sum(axis=1),
            drop_bits=finite_mean(self.kl[:-1] - self.kl[1:]),
            share=finite_mean(np.where(self.whole.all(axis=0), self.share, np.nan)),
            write=finite_mean(self.write),
            last_layer_check=checked,
            floor=floor,
            readings=self._readings(vocabulary) if self.listed else None,
            notes=(*said, *notes),
            settings=self._settings(seed, drawn),
            hashes=dict(getattr(self.translators, "hashes", {})),
        )

    def _readings(self, vocabulary: Sequence[bytes | None] | None) -> Readings:
        ids, top = np.unique(self.likeliest, return_inverse=True)
        return Readings(
            places=np.arange(self.listed),
            top=top.reshape(self.likeliest.shape),
            shares=self.shares,
            tokens=_keys(ids, vocabulary),
            ids=ids,
        )

    def _settings(self, seed: int, drawn: str) -> dict[str, Any]:
        readout = self.head.readout
        return {
            "lens": "logit" if self.translators is None else "tuned",
            "mode": self.mode,
            "positions": self.n,
            "pieces": len(self.pieces),
            "interval": f"95 % by bootstrap over {drawn}",
            "seed": seed,
            "precision": str(self.head.precision).removeprefix("torch."),
            "device": self.head.device.type,
            "tolerance": max(self.checks, default=(float("nan"),) * 2)[1],
            "norm": readout.norm,
            "projection": readout.projection,
            "head factor": readout.hidden,
            "logit factor": readout.logits,
            "logit cap": readout.cap,
            "head bias": self.head.bias is not None,
        }


def _over(a: float, b: float) -> float:
    return a / b if b else float("inf")


def _keys(ids: Vector, vocabulary: Sequence[bytes | None] | None) -> tuple[bytes | None, ...]:
    known = vocabulary or ()
    return tuple(known[i] if i < len(known) else None for i in ids.tolist())
