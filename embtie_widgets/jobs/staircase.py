"""From a StaircaseRequest to a StaircaseReport: a toy task, its signatures, a model that learns it,
and at each snapshot how its matrices follow the signatures."""

import hashlib
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from embtie_widgets.hashing import tensor_hash
from embtie_widgets.jobs.cache import entry_key, kept_or_made, recall
from embtie_widgets.jobs.estimate import timed
from embtie_widgets.jobs.staircase_cost import orders_of, work_of
from embtie_widgets.jobs.staircase_extras import extras_of, solved_by_order_zero, waves_of
from embtie_widgets.measures.signatures import signature
from embtie_widgets.measures.tracks import Follower, track
from embtie_widgets.progress import Progress, hand_on, silent
from embtie_widgets.requests import StaircaseRequest
from embtie_widgets.results.staircase import (
    MatrixTrack,
    Signature,
    SignatureTrack,
    StaircaseReport,
    StaircaseRun,
)
from embtie_widgets.training.toy_loop import ToyRun, train_toy
from embtie_widgets.training.toy_tasks import ToyTask, open_task

NAMES = {
    "ffn": "feed-forward",
    "fixed": "fixed embeddings",
    "attention": "attention alone",
    "transformer": "transformer",
}
_SHOWN_SECONDS = 0.5  # between two pictures of a training
_SMALLER = "Choose fewer tokens or sequences, or a lower order."


def run_staircase(request: StaircaseRequest, progress: Progress = silent) -> StaircaseReport:
    """Train on the task, and say which order of its signatures the matrices follow, and when."""
    task = open_task(request)
    climb = _Climb(request, task, progress)

    def made() -> StaircaseReport:
        found: StaircaseReport = timed(work_of(request), climb.carried_out, hint=_SMALLER)
        return found

    kept: StaircaseReport = kept_or_made(request, _hash_of(task), made)
    return kept


def look_up(request: StaircaseRequest) -> StaircaseReport | None:
    """What an earlier run has left."""
    kept: StaircaseReport | None = recall(entry_key(request, _hash_of(open_task(request))))
    return kept


def _hash_of(task: ToyTask) -> dict[str, str]:
    digest = hashlib.sha256(task.sequences.tobytes())
    digest.update(task.labels.tobytes())
    return {"task": digest.hexdigest()}


def signatures_of(
    task: ToyTask, orders: tuple[int, ...], progress: Progress = silent
) -> dict[str, dict[str, Signature]]:
    """By matrix and name: of the embedding P(label, other tokens | token), of the unembedding
    P(token at a position | label)."""
    tokens = {
        f"order {order}": signature(
            task.sequences, task.labels, order, anchors=task.anchors, progress=progress
        )
        for order in orders
    }
    found = {"embedding": tokens}
    if 0 in orders:
        length = task.sequences.shape[1]
        labels = np.repeat(task.labels, length)[:, None]
        found["unembedding"] = {"order 0": signature(labels, task.sequences.ravel(), 0)}
    return found


class _Climb:
    """The report as it grows."""

    def __init__(self, request: StaircaseRequest, task: ToyTask, progress: Progress) -> None:
        self._request, self._task, self._progress = request, task, progress
        self._orders = orders_of(request)
        self._signatures: dict[str, dict[str, Signature]] = {}
        self._followers: dict[str, Follower] = {}
        self._paths: tuple[SignatureTrack, ...] = ()
        self._notes = list(_notes(request, self._orders))
        self._started = self._told = time.monotonic()
        self._took = 0.0  # seconds that the last snapshots needed

    def carried_out(self) -> StaircaseReport:
        """All of it."""
        request, task = self._request, self._task
        self._signatures = signatures_of(task, self._orders, self._progress)
        self._followers = {
            matrix: Follower(
                matrix, known, steps=request.probe_steps, folds=request.folds, seed=request.seed
            )
            for matrix, known in self._signatures.items()
        }
        run = train_toy(request, task, self._progress, self._show)
        self._follow(run)
        return self._report(run)

    def _show(self, run: ToyRun) -> None:
        """Curves every while; matrices too, so that they take no longer than the training."""
        now = time.monotonic()
        if now - self._told < _SHOWN_SECONDS:
            return
        if now - self._told > 2 * self._took:
            self._follow(run)
        self._told = time.monotonic()
        epoch, of = run.curves["step"][-1], self._request.epochs
        hand_on(self._progress, self._report(run, f"epoch {epoch:,} of {of:,}"))

    def _follow(self, run: ToyRun) -> None:
        started = time.monotonic()
        kept = {"embedding": run.embedding, "unembedding": run.unembedding}
        for matrix, follower in self._followers.items():
            fresh = kept[matrix][len(follower) :]
            if fresh:
                rows = np.stack(fresh).astype(np.float64)
                rows = rows[:, self._task.anchors] if matrix == "embedding" else rows
                follower.add(rows, self._progress)
        self._paths = self._attention(run)
        self._took = time.monotonic() - started

    def _report(self, run: ToyRun, progress: str = "") -> StaircaseReport:
        request, task = self._request, self._task
        done = {name: one.result() for name, one in self._followers.items() if len(one)}
        matrices = {name: self._named(track) for name, (track, _) in done.items()}
        tracks = tuple(track for _, tracks in done.values() for track in tracks) + self._paths
        steps = run.steps[: len(next(iter(matrices.values())).norms)] if matrices else []
        name = NAMES[request.model]
        made = StaircaseRun(
            steps=np.array(steps, np.int64),
            matrices=matrices,
            tracks=tracks,
            curves={key: np.array(values) for key, values in run.curves.items()},
            tied=False,
            about=self._about(run),
        )
        diverged = [] if run.diverged is None else [_diverged(run.diverged, request.epochs)]
        extras, numbers = extras_of(request, task, run, len(steps))
        if not progress:
            extras |= waves_of(request, task, self._signatures["embedding"], matrices["embedding"])
        return StaircaseReport(
            anchors=tuple(task.tokens[i] for i in task.anchors),
            ids=task.anchors,
            tokens=(),
            runs={name: made},
            task=task.words | self._known(tracks) | numbers,
            extras=extras,
            failed={},
            notes=(*self._notes, *diverged),
            settings={**request.to_dict(), "cached": False},
            hashes=_hash_of(task) | _hashes(name, run),
            progress=progress,
        )

    def _named(self, track: MatrixTrack) -> MatrixTrack:
        if track.matrix == "embedding":
            return track
        return replace(track, rows=tuple(str(answer) for answer in self._task.answers))

    def _attention(self, run: ToyRun) -> tuple[SignatureTrack, ...]:
        """Against the path through attention: what it pays to a token, by the label."""
        paid = [one for one in run.attention if one is not None]
        if not paid:
            return ()
        anchors = self._task.anchors
        by_layer = np.stack(paid)[:, :, anchors].swapaxes(0, 1)
        rows = np.stack(run.embedding)[:, anchors].astype(np.float64)
        paths = {f"attention, layer {i}": one for i, one in enumerate(by_layer, start=1)}
        found: tuple[SignatureTrack, ...] = track(
            "embedding", rows, paths, seed=self._request.seed, progress=self._progress
        )[1]
        return found

    def _about(self, run: ToyRun) -> dict[str, Any]:
        request = self._request
        return {
            "width": request.width,
            "gamma": request.gamma,
            "optimiser": request.optimiser,
            "parameters": run.parameters,
            "device": run.device,
            "seconds": round(time.monotonic() - self._started, 1),
            **({} if run.diverged is None else {"diverged": run.diverged}),
        }

    def _known(self, tracks: tuple[SignatureTrack, ...]) -> dict[str, Any]:
        """What the signatures say of the task before anything is trained."""
        of_tokens = [t for t in tracks if t.matrix == "embedding" and t.signature == "order 0"]
        constant = {"order 0 is constant": of_tokens[0].constant} if of_tokens else {}
        return constant | {"solved by order 0": solved_by_order_zero(self._task)}


def _notes(request: StaircaseRequest, orders: tuple[int, ...]) -> list[str]:
    left = [order for order in request.orders if order not in orders]
    return [
        f"Order {order} looks at {order + 1} tokens of a sequence, which has {request.length}: "
        "left out."
        for order in left
    ]


def _diverged(epoch: int, epochs: int) -> str:
    return (
        f"In epoch {epoch:,} of {epochs:,} the loss or its gradient was not finite any more, so "
        "the training ended there. Set a smaller rate, or a larger gamma."
    )


def _hashes(name: str, run: ToyRun) -> dict[str, str]:
    """Of the matrices that were kept last."""
    last = {"embedding": run.embedding[-1:], "unembedding": run.unembedding[-1:]}
    return {
        f"{name}, {matrix}": tensor_hash(torch.from_numpy(kept[0]))
        for matrix, kept in last.items()
        if kept
    }
