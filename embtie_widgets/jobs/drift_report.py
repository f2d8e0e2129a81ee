"""A DriftReport as it grows, checkpoint by checkpoint, whatever the checkpoints come from."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.training_rows import Rows, rows_of
from embtie_widgets.measures.drift import DriftMeter
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import DriftRequest
from embtie_widgets.results.checkpoints import Checkpoint
from embtie_widgets.results.drift import Drift, DriftReport
from embtie_widgets.results.groups import groups_of
from embtie_widgets.sources.loaded import TIED, UNTIED, Loaded
from embtie_widgets.training.run_store import RunStore


def rows_of_loaded(loaded: Loaded) -> Rows:
    """What a loaded model says of its rows."""
    counts, tokens = loaded.token_counts, loaded.tokens
    if tokens is None:
        return Rows((None,) * len(loaded.input), counts)
    return rows_of(tokens, loaded.special, loaded.byte_rows, counts)


def meter_of(loaded: Loaded, counts: Any = None) -> DriftMeter:
    """For the checkpoints of a model of which this is the first; without `counts`, its own."""
    status = {TIED: True, UNTIED: False}.get(loaded.tied)
    return DriftMeter(loaded.token_counts if counts is None else counts, status)


class RunMeter:
    """The drift of a run that grows: the checkpoints that were kept since it was last looked at."""

    def __init__(self, counts: Any = None) -> None:
        self._counts = counts
        self._meter, self._seen = DriftMeter(counts), list[int]()

    def take(self, store: RunStore, progress: Progress = silent) -> bool:
        """Compare what is new; whether anything was."""
        steps = store.steps()
        if not self._seen or self._seen != steps[: len(self._seen)]:  # begun, or begun anew
            self._meter, self._seen = DriftMeter(self._counts, store.manifest["tied"]), []
        new = steps[len(self._seen) :]
        for step in new:
            kept = store.checkpoint(step)
            at = Checkpoint(f"step {step:,}", step=step)
            self._meter.add(at, kept.input, kept.output, progress=progress)
            self._seen.append(step)
        return bool(new)

    def __len__(self) -> int:
        return len(self._meter)

    def result(self) -> Drift:
        """The drift so far."""
        return self._meter.result()


def logged_drift(store: RunStore) -> Drift | None:
    """The cosines with the first checkpoint that a recorder has logged step by step, for a run that
    kept too few checkpoints; None where it has logged none."""
    curves = store.curves()
    if "input_to_first" not in curves:
        return None
    steps = curves["step"] - 1  # a row is logged before its step changes the matrices
    gaps = np.full(len(steps), np.nan)
    return Drift(
        steps,
        input_to_first=curves["input_to_first"],
        output_to_first=curves.get("output_to_first", gaps),
        input_to_previous=gaps,
        output_to_previous=gaps,
        since=np.diff(steps, prepend=steps[:1]),
        tied=store.manifest["tied"],
        notes=(
            "Fewer than two checkpoints were kept. The cosine with the first one is from the log; "
            "what changed between two logged steps is not known.",
        ),
    )


class Growing:
    """What is known so far: drifts by name, rows, and what went wrong."""

    def __init__(self, request: DriftRequest, rows: Rows | None = None) -> None:
        self._request, self._rows = request, rows
        self._drifts: dict[str, Drift] = {}
        self.failed: dict[str, str] = {}
        self.notes: list[str] = []
        self.hashes: dict[str, str] = {}
        self.cached = False

    def take(self, name: str, drift: Drift, rows: Rows | None = None) -> None:
        """The drift of a training so far; `rows` are those of its matrices.

        Rows of a second training that are other tokens cannot stand in one table with the first.
        """
        if self._rows is None:
            self._rows = rows
        if rows is not None and self._rows is not None and rows.tokens != self._rows.tokens:
            self.notes.append(
                f"The rows of {name} are other tokens than those of {next(iter(self._drifts))}: "
                "its means are here, its tokens are not in the table."
            )
            drift = replace(drift, rows={})
        self._drifts[name] = drift

    def __len__(self) -> int:
        return len(self._drifts)

    def report(self, progress: str = "") -> DriftReport:
        """The result; `progress` says how far it has come, "" once it is whole."""
        rows = self._rows or Rows()
        shown = {
            name: drift
            if all(len(values) == len(rows.tokens) for values in drift.rows.values())
            else replace(drift, rows={})
            for name, drift in self._drifts.items()
        }
        made = DriftReport(
            runs=shown,
            tokens=rows.tokens,
            token_counts=rows.counts,
            kinds=rows.kinds,
            failed=dict(self.failed),
            notes=tuple(dict.fromkeys([*self.notes, *_notes(shown)])),
            settings={**self._request.to_dict(), "cached": self.cached and not progress},
            hashes=self.hashes | _hashes(shown),
            progress=progress,
        )
        known = {label: made.values(label, "to_first") for label in made.labels}
        scores = {label: values for label, values in known.items() if values is not None}
        groups = groups_of(made) if scores else {}
        return replace(made, groups=group_means(groups, scores, (-1.0, 1.0)))


def _hashes(runs: Mapping[str, Drift]) -> dict[str, str]:
    return {f"{name} {k}": v for name, drift in runs.items() for k, v in drift.hashes.items()}


def _notes(runs: Mapping[str, Drift]) -> list[str]:
    """What must be known of rows that are missing in the means."""
    notes = []
    for name, drift in runs.items():
        for role, many in drift.left_out.items():
            if many and not (drift.tied and role == "output"):
                notes.append(
                    f"{name}: {many:,} of {drift.settings['rows']:,} rows of the {role} matrix are "
                    "zero or not finite at a checkpoint; where they are, they are in no mean."
                )
        notes += [f"{name}: {note}" for note in drift.notes]
    return notes


def whole(growing: Growing, errors: list[EmbtieError]) -> DriftReport:
    """The finished result; where nothing came of it, the first error."""
    if not len(growing):
        raise errors[0]
    return growing.report()
