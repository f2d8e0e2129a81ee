"""The gradient of a loaded model on a text, split batch by batch; nothing is trained."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from embtie_widgets.jobs.cache import entry_key, kept_or_made, recall
from embtie_widgets.jobs.estimate import timed
from embtie_widgets.jobs.gradient_report import report
from embtie_widgets.jobs.pairs import is_here
from embtie_widgets.jobs.training_cost import saw_sizes, work_of
from embtie_widgets.jobs.training_rows import Rows, rows_of
from embtie_widgets.jobs.training_runs import Pictures
from embtie_widgets.measures.gradient import (
    Products,
    band_numbers,
    flow_numbers,
    row_numbers,
    row_products,
)
from embtie_widgets.measures.gradient_split import gradient_split
from embtie_widgets.measures.predicted import IGNORED, filled
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import GradientFlowRequest
from embtie_widgets.results.gradient import FlowRun, GradientFlow, GradientSplit
from embtie_widgets.results.groups import BANDS, band_places
from embtie_widgets.sources.load import load
from embtie_widgets.sources.models import OpenModel, model_hash, open_model, sizes_of
from embtie_widgets.sources.once import read_once
from embtie_widgets.sources.passages import Pieces, read_pieces
from embtie_widgets.sources.tokenizing import tokenizer_of

Vector = np.ndarray[Any, np.dtype[Any]]
_SMALLER = "Choose a smaller batch, a shorter length, or a smaller model."


def run_split(request: GradientFlowRequest, progress: Progress = silent) -> GradientFlow:
    """One curve over the batches of the text, and every row of the matrix."""
    with read_once():
        read = _read(request, progress)
        split = _Split(request, read, progress)
        found: GradientFlow = kept_or_made(
            request, read.hashes, lambda: timed(work_of(request), split.measured, hint=_SMALLER)
        )
    return found


def known_split(request: GradientFlowRequest) -> GradientFlow | None:
    """What an earlier run has left, where the model is on this machine."""
    if not is_here(request.model):
        return None
    with read_once():
        found: GradientFlow | None = recall(entry_key(request, _read(request, silent).hashes))
    return found


@dataclass(frozen=True, eq=False)
class _Read:
    """The text in pieces, and hashes of what decides the result."""

    pieces: Pieces
    hashes: dict[str, str]


def _read(request: GradientFlowRequest, progress: Progress) -> _Read:
    """What is mistyped is told before the model is opened."""
    tokenizer = tokenizer_of(request.model, progress)
    pieces, _ = read_pieces(
        request.corpus,
        "",
        tokenizer,
        length=request.length,
        tokens=request.batches * request.batch * request.length,
        train_tokens=0,
        progress=progress,
    )
    saw_sizes(request.model, sizes_of(request.model, progress))
    progress("looking for an earlier result", 0, 1)
    own = model_hash(request.model, progress)
    return _Read(pieces, {"model": own, "tokenizer": tokenizer.sha256, "text": pieces.sha256})


class _Split:
    """The curves and rows as they grow."""

    def __init__(self, request: GradientFlowRequest, read: _Read, progress: Progress) -> None:
        self._request, self._read, self._progress = request, read, progress

    def measured(self) -> GradientFlow:
        """All batches, one after the other."""
        request, progress = self._request, self._progress
        opened = open_model(
            request.model, device=request.device, precision=request.precision, progress=progress
        )
        rows, notes = _rows(opened, self._read.pieces)
        sums = _Sums(rows)
        notes += [*opened.notes, *self._read.pieces.notes]
        ids_of = self._read.pieces.ids
        batches = [
            filled(ids_of[i : i + request.batch]) for i in range(0, len(ids_of), request.batch)
        ]
        show = Pictures(progress, lambda said: self._result(opened, rows, sums, notes, said))
        for number, (ids, labels) in enumerate(batches, 1):
            progress(f"splitting the gradient of {opened.name}", number - 1, len(batches))
            sums.add(gradient_split(opened.model, ids, labels), ids[labels != IGNORED])
            if number < len(batches):
                show(f"{number:,} of {len(batches):,} batches")
        return self._result(opened, rows, sums, notes, "")

    def _result(
        self, opened: OpenModel, rows: Rows, sums: "_Sums", notes: list[str], progress: str
    ) -> GradientFlow:
        pieces = self._read.pieces
        about = {
            "name": opened.name,
            "revision": opened.revision,
            "device": opened.device.type,
            "dtype": opened.precision,
            "text": {"name": pieces.name, **pieces.settings},
            "batches": len(sums.curves),
        }
        return report(
            self._request,
            {opened.name: sums.run(opened.tied == "tied", about)},
            rows,
            notes=notes,
            hashes=self._read.hashes,
            progress=progress,
        )


class _Sums:
    """Numbers of each batch, and products of each row over all of them."""

    def __init__(self, rows: Rows) -> None:
        height = len(rows.tokens)
        self.curves: list[dict[str, float]] = []
        self._by_band: list[dict[str, Vector]] = []
        self._bands = torch.from_numpy(band_places(np.asarray(rows.counts)))
        zeros = torch.zeros(height, dtype=torch.float64)
        self._products = Products(zeros, zeros, zeros, zeros, zeros)
        self._times = torch.zeros(height, dtype=torch.int64)

    def add(self, split: GradientSplit, ids: Tensor) -> None:
        """A batch in which these ids stand."""
        one = row_products(split.input, split.output)
        self._products = self._products + one
        self._times[ids.unique()] += 1
        numbers = {"loss": split.loss, **flow_numbers(one, split.proxy_norm), "check": split.check}
        self.curves.append({"step": len(self.curves) + 1, **numbers})
        self._by_band.append(band_numbers(one, self._bands, len(BANDS)))

    def run(self, tied: bool, about: dict[str, Any]) -> FlowRun:
        """What there is so far."""
        return FlowRun(
            curves={name: np.array([one[name] for one in self.curves]) for name in self.curves[0]},
            tied=tied,
            bands=tuple(BANDS),
            by_band={n: np.stack([one[n] for one in self._by_band]) for n in self._by_band[0]},
            rows=row_numbers(self._products, len(self.curves), self._times.clone()),
            about=about,
        )


def _rows(opened: OpenModel, pieces: Pieces) -> tuple[Rows, list[str]]:
    """Of the model; where it brings no counts of its tokens, they are counted in the text."""
    loaded = load(opened.origin)
    height = len(loaded.input)
    counts, notes = loaded.token_counts, []
    if counts is None:
        counts = np.bincount(np.concatenate(pieces.ids), minlength=height)
        notes = ["The model brings no counts of its tokens: they are counted in the text read."]
    tokens = loaded.tokens or [None] * height
    rows = rows_of(tokens, loaded.special, loaded.byte_rows, counts)
    return rows, notes
