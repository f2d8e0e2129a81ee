"""Results on which probability signatures the embeddings follow, order by order and step by step.

One form serves toy tasks and language models."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]

MEASURES = {
    "pearson": "Pearson correlation over pairs of anchors; NaN for a signature without variation",
    "spearman": "the same of ranks",
    "fit": "1 - mean squared difference of the two similarities; for a signature without variation",
    "held_out": "Pearson correlation over pairs that the probe was not fitted on, mean over folds",
    "in_sample": "the same over the pairs that it was fitted on: never below order 0's",
    "beyond": "held-out, of a probe orthogonal to ones: what the order adds to the one below",
    "floor": "held-out, or Pearson without a probe, after the anchors were permuted: chance",
}
"""How a signature's similarity agrees with the embeddings'; in-sample, held-out and beyond are of
order 1 and above."""

EXTRAS = {
    "answers": "(labels,) the label that each row of the unembedding stands for",
    "target": "(labels,) the distribution that the anchor's labels were drawn from",
    "empirical": "(labels,) the labels of the anchor's sequences, counted",
    "learned": "(labels,) softmax of U times the anchor's row at the end",
    "attention": "(s, A) share of attention on each anchor, mean over where it stands",
    "frequencies": "(s, k) Pearson correlation with order 1 through a wave of each frequency k "
    "over the context's numbers",
}
"""What is drawn of single tasks, where a report has it; the numbers with it are in its `task`."""


@dataclass(frozen=True, eq=False)
class Signature:
    """P(label, other tokens | anchor), one row an anchor; each row sums to 1.

    values   (A, labels) for order 0, (A, labels, X) and (A, labels, X, X) above; (A, X) or
             (A, X, X) of a co-occurrence, which has no labels
    anchors  (A,), labels (labels,), context (X,) the tokens that these are
    counts   (A,) how many (sequence, position) pairs stand behind a row
    """

    values: Any
    anchors: Vector
    labels: Vector
    context: Vector
    counts: Vector
    order: int
    settings: dict[str, Any] = field(default_factory=dict)

    def to_frame(self) -> "pd.DataFrame":
        """One row per entry that is not 0."""
        import pandas as pd

        values = np.asarray(self.values)
        places = np.nonzero(values)
        columns = {"anchor": self.anchors[places[0]]}
        others = places[1:]
        if len(self.labels):
            columns["label"], others = self.labels[places[1]], places[2:]
        for i, place in enumerate(others, start=1):
            columns[f"context_{i}"] = self.context[place]
        return pd.DataFrame(columns | {"probability": values[places]})


@storable
@dataclass(frozen=True)
class SignatureTrack:
    """How one matrix follows one signature.

    signature   its name: "order 0", "order 1", "order 2", "next", "previous", "next, order 1", ...
    matrix      "embedding", "unembedding" or "tied"
    by_step     name of MEASURES to (s,)
    similarity  (s, A, A) of the signature as the probe of each step sees it, or (1, A, A) without
    points      (s, A, 2) or (1, A, 2) of its rows, principal components
    constant    whether all pairs have the same similarity
    """

    signature: str
    matrix: str
    by_step: dict[str, Vector]
    similarity: Vector
    points: Vector
    constant: bool = False


@storable
@dataclass(frozen=True)
class MatrixTrack:
    """One matrix of one run through training.

    similarity  (s, A, A) cosine between raw rows of the anchors
    points      (s, A, 2) their principal components, turned to agree from step to step
    variance    (s, 2) share of the variance that these hold
    norms       (s, A) lengths of the rows
    rows        names of its rows where they are not the report's anchors: the unembedding of a toy
                task has one for each label, and A is the number of labels in all that is about it
    """

    matrix: str
    similarity: Vector
    points: Vector
    variance: Vector
    norms: Vector
    rows: tuple[str, ...] = ()


@storable
@dataclass(frozen=True)
class StaircaseRun:
    """One run: a toy model, or one language model.

    steps     (s,) at which its matrices are known
    matrices  by name; tracks  every signature by matrix
    curves    name to (n,): step, loss, accuracy, ... on a denser axis
    tied      None where that is not known
    about     sizes, gamma, optimiser, ...
    """

    steps: Vector
    matrices: dict[str, MatrixTrack]
    tracks: tuple[SignatureTrack, ...]
    curves: dict[str, Vector]
    tied: bool | None = None
    about: dict[str, Any] = field(default_factory=dict)

    def track(self, signature: str, matrix: str) -> SignatureTrack | None:
        """That one, if it is there."""
        found = (t for t in self.tracks if (t.signature, t.matrix) == (signature, matrix))
        return next(found, None)


@storable
@dataclass(frozen=True)
class StaircaseReport:
    """What comes of a `StaircaseRequest` or a `SignaturesRequest`.

    anchors   (A,) names to be shown; `ids` (A,) rows of the matrices
    tokens    byte keys of the anchors for a language model, else empty
    runs      by name
    task      words and numbers on the task or the text: sequences, labels, whether order 0 is
              constant, what solves it, ...
    extras    arrays of single tasks, by the names of EXTRAS
    failed, notes, settings, hashes, progress  as everywhere
    """

    anchors: tuple[str, ...]
    ids: Vector
    tokens: tuple[bytes | None, ...]
    runs: dict[str, StaircaseRun]
    task: dict[str, Any]
    extras: dict[str, Vector]
    failed: dict[str, str]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str]
    progress: str = ""

    def __repr__(self) -> str:
        lines = [f"  {name}: {len(run.steps)} steps" for name, run in self.runs.items()]
        return "\n".join([f"StaircaseReport({len(self.anchors)} anchors)", *lines])

    def to_frame(self) -> "pd.DataFrame":
        """One row per run, matrix, signature and step: every measure."""
        import pandas as pd

        frames = [
            pd.DataFrame(track.by_step).assign(
                run=name, matrix=track.matrix, signature=track.signature, step=run.steps
            )
            for name, run in self.runs.items()
            for track in run.tracks
        ]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def facts(self) -> dict[str, Any]:
        """All that is not a number per step."""
        return {
            "progress": self.progress or "whole",
            "task": self.task,
            "runs": {name: run.about for name, run in self.runs.items()},
            "failed": self.failed,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }
