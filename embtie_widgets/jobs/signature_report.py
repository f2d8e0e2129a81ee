"""A StaircaseReport of language models as it grows, checkpoint by checkpoint."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.signature_text import Anchors, Statistics, Text, facts_of
from embtie_widgets.measures.tracks import Follower
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests.signatures import SignaturesRequest
from embtie_widgets.results.staircase import StaircaseReport, StaircaseRun
from embtie_widgets.training.run_store import RunStore

Vector = np.ndarray[Any, np.dtype[Any]]
ROLES = {"tied": "tied", "input": "embedding", "output": "unembedding"}
"""What each matrix is called in a result."""


class RunFollower:
    """The anchors' rows of one training, as far as they have been looked at."""

    def __init__(
        self, request: SignaturesRequest, statistics: Statistics, anchors: Vector, tied: bool | None
    ) -> None:
        self._request, self._statistics, self._anchors = request, statistics, anchors
        self._followers: dict[str, Follower] = {}
        self._steps: list[float] = []
        self._names: list[str] = []
        self.tied = tied

    def __len__(self) -> int:
        return len(self._steps)

    def add(
        self,
        step: int | None,
        name: str,
        input: torch.Tensor,
        output: torch.Tensor | None,
        progress: Progress = silent,
    ) -> None:
        """A further checkpoint; where the output is the input itself, both are one matrix."""
        if output is input:
            given = {"tied": self._rows(input, name)}
        else:
            both = {"input": input, "output": output}
            given = {role: self._rows(m, name) for role, m in both.items() if m is not None}
        if self._followers and given.keys() != self._followers.keys():
            raise EmbtieError(
                f"{name} holds {' and '.join(given)}, the checkpoints before it "
                f"{' and '.join(self._followers)}.",
                "Compare checkpoints of one model.",
            )
        for role, rows in given.items():
            self._follower(role).add(rows[None], progress)
        self._steps.append(float("nan") if step is None else step)
        self._names.append(name)

    def _rows(self, matrix: torch.Tensor, name: str) -> Vector:
        if len(matrix) <= self._anchors.max():
            raise EmbtieError(
                f"{name} has {len(matrix):,} rows; the text holds the token id "
                f"{self._anchors.max():,}.",
                "Use the tokenizer that belongs to the model.",
            )
        rows = matrix[torch.from_numpy(self._anchors)].detach().double().cpu().numpy()
        if not np.isfinite(rows).all():
            raise EmbtieError(
                f"Rows of {name} are not finite.", "The training has run away; look at its loss."
            )
        return np.asarray(rows)

    def _follower(self, role: str) -> Follower:
        if role not in self._followers:
            request = self._request
            self._followers[role] = Follower(
                ROLES[role],
                self._statistics.signatures,
                steps=request.probe_steps,
                folds=request.folds,
                hold_out="anchors",
                seed=request.seed,
            )
        return self._followers[role]

    def run(self, curves: Mapping[str, Vector], about: Mapping[str, Any]) -> StaircaseRun:
        """What there is so far; no matrix while there is none."""
        found = [one.result() for one in self._followers.values()]
        steps = np.array(self._steps, float)
        whole = np.isfinite(steps).all()
        return StaircaseRun(
            steps=steps.astype(np.int64) if whole else steps,
            matrices={matrix.matrix: matrix for matrix, _ in found},
            tracks=tuple(track for _, tracks in found for track in tracks),
            curves=dict(curves),
            tied=self.tied,
            about={**about, "checkpoints": tuple(self._names)},
        )


class StoreFollower:
    """A run that grows: its checkpoints since it was last looked at, and its curves."""

    def __init__(self, request: SignaturesRequest, statistics: Statistics, anchors: Vector) -> None:
        self._parts = request, statistics, anchors
        self._follower: RunFollower | None = None
        self._seen: list[int] = []
        self.notes: dict[str, None] = {}

    def __len__(self) -> int:
        return 0 if self._follower is None else len(self._follower)

    def take(self, store: RunStore, progress: Progress = silent) -> StaircaseRun:
        """Compare what is new, and say all that there is."""
        steps, manifest = store.steps(), store.manifest
        if self._follower is None or self._seen != steps[: len(self._seen)]:  # begun, or anew
            self._follower, self._seen = RunFollower(*self._parts, manifest["tied"]), []
        for step in steps[len(self._seen) :]:
            kept = store.checkpoint(step)
            self._seen.append(step)
            try:
                self._follower.add(step, f"step {step:,}", kept.input, kept.output, progress)
            except EmbtieError as error:
                if type(error) is not EmbtieError:  # the work was broken off
                    raise
                self.notes[f"Step {step:,} was left out: {error.message}"] = None
        curves = {k: v for k, v in store.curves().items() if k in ("step", "loss")}
        about = {"device": manifest.get("device"), "done": store.done, "of": manifest["of"]}
        return self._follower.run(curves, about)


class Growing:
    """What is known so far: runs by name, and what went wrong."""

    def __init__(self, request: SignaturesRequest) -> None:
        self._request = request
        self._text: Text | None = None
        self._anchors = Anchors(np.empty(0, np.int64), ())
        self._shares: dict[str, float] = {}
        self.runs: dict[str, StaircaseRun] = {}
        self.failed: dict[str, str] = {}
        self.notes: list[str] = []
        self.hashes: dict[str, str] = {}
        self.cached = False

    def begin(self, text: Text, anchors: Anchors) -> None:
        """Once the anchors are chosen."""
        self._text, self._anchors = text, anchors
        self.notes += anchors.notes

    def count(self, name: str, text: Text, statistics: Statistics) -> None:
        """The statistics that a run of this name is compared with."""
        self.hashes[f"{name} text"] = text.sha256
        self._shares |= {f"{name}: {key}": share for key, share in statistics.shares.items()}

    def report(self, progress: str = "") -> StaircaseReport:
        """The result; `progress` says how far it has come, "" once it is whole."""
        facts = {} if self._text is None else facts_of(self._request, self._text, self._anchors)
        if self._shares:
            facts["share of labels held"] = dict(self._shares)
        return StaircaseReport(
            anchors=self._anchors.names,
            ids=self._anchors.ids,
            tokens=self._anchors.keys,
            runs=dict(self.runs),
            task=facts,
            extras={},
            failed=dict(self.failed),
            notes=tuple(dict.fromkeys(self.notes)),
            settings={**self._request.to_dict(), "cached": self.cached and not progress},
            hashes=dict(self.hashes),
            progress=progress,
        )

    def whole(self, errors: list[EmbtieError]) -> StaircaseReport:
        """The finished result; where nothing came of it, the first error."""
        if not self.runs:
            raise errors[0]
        return self.report()
