"""Norms and fits within a model, as the repository of the weight-tying paper has them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs.copied_rows import CopiedRows
from embtie_widgets.jobs.norms import frobenius
from embtie_widgets.jobs.packaged import packaged_counts
from embtie_widgets.jobs.pairs import Roles, describe
from embtie_widgets.jobs.papers_families import STORED, family, stand_in
from embtie_widgets.jobs.papers_ground import STAND_IN, Ground, Lack
from embtie_widgets.jobs.papers_pairs import Opened, other_size
from embtie_widgets.jobs.papers_printed import (
    BY_NUMBER,
    FROBENIUS,
    NEO,
    NORMS,
    QWEN,
    STEP_2000,
    TURNED,
)
from embtie_widgets.jobs.papers_reasons import Measured, Other
from embtie_widgets.jobs.parts import kept_part, part_key
from embtie_widgets.measures.alignment import align, chance_level
from embtie_widgets.measures.correlation import correlate
from embtie_widgets.measures.matrices import survey
from embtie_widgets.measures.spectra import spectrum
from embtie_widgets.requests import ModelRef
from embtie_widgets.results.papers import PaperItem, PaperNumber
from embtie_widgets.sources.catalogue_file import PRESETS, read
from embtie_widgets.sources.load import load
from embtie_widgets.sources.loaded import Loaded


@dataclass(frozen=True)
class Task:
    """One number: the models that it is of, how it is computed, how of the bundled pair where that
    says anything, and what chance reaches at the models' sizes."""

    models: tuple[ModelRef, ...]
    measure: Callable[[], Measured]
    instead: Callable[[], Measured] | None = None
    floor: float | None = None


def make(ground: Ground, printed: PaperItem) -> PaperItem:
    """Every number that its models allow, each by itself."""
    numbers, opened = [], set[ModelRef]()
    for number in printed.numbers:
        task = _task(ground, number)
        lack = ground.lacking(*task.models)
        numbers.append(_number(ground, number, task, lack))
        opened |= set(task.models if lack is None else ())
    alone = {ref.written: Alone(ref, ground) for ref in sorted(opened, key=str)}
    return replace(
        printed,
        numbers=tuple(numbers),
        settings={name: describe(one.model) for name, one in alone.items()},
        hashes={f"{n}: {role}": h for n, one in alone.items() for role, h in one.hashes.items()},
    )


def _number(ground: Ground, number: PaperNumber, task: Task, lack: Lack | None) -> PaperNumber:
    measure, origin = task.measure, "model"
    if lack is not None:
        if task.instead is None or not ground.request.stand_in:
            return lack.told(replace(number, floor=task.floor))
        measure, origin = task.instead, "stand-in"
    try:
        found = measure().put(number, origin)
    except Cancelled:
        raise
    except EmbtieError as error:
        return number.lacking("", None, str(error))
    return found if lack is None else lack.told(found)


def _task(ground: Ground, number: PaperNumber) -> Task:
    """What a printed number asks for, by its row and column."""
    what, _, of = number.row.partition(": ")
    if what == NORMS:
        return _correlation(ground, number.column)
    if what == BY_NUMBER:
        opened = Opened(family(NEO), ground)
        models = (opened.family.a, opened.family.b)
        return Task(models, lambda: _by_number(opened, number.column), floor=_chance(models[0]))
    model = _labelled(of)
    if what == TURNED:
        at = replace(model, revision=STEP_2000) if number.column == "step 2,000" else model
        instead = None if at is not model else lambda: _turned(Alone(STAND_IN[0], ground))
        return Task((at,), lambda: _turned(Alone(at, ground)), instead, _chance(model))
    measure = _length if what == FROBENIUS else _largest
    return Task((model,), lambda: measure(Alone(model, ground), number.column))


def _labelled(label: str) -> ModelRef:
    return ModelRef(next(one.ref for one in read(PRESETS).models if one.label == label))


def _chance(model: ModelRef) -> float | None:
    """What an orthogonal fit reaches on unrelated matrices as large as this model's."""
    facts = packaged_counts()[model.ref].settings
    return chance_level("orthogonal", facts["rows"], (facts["width"], facts["width"]))


class Alone:
    """One model by itself, with all rows that it stores."""

    def __init__(self, ref: ModelRef, ground: Ground) -> None:
        self.ref, self.ground = ref, ground

    @property
    def model(self) -> Loaded:
        """Its matrices, loaded once for all numbers."""

        def make() -> Loaded:
            loaded = load(self.ref, progress=self.ground.progress)
            loaded.read_hashes(self.ground.progress)
            return loaded

        return self.ground.once((self.ref, "alone"), make)

    @property
    def matrices(self) -> dict[str, torch.Tensor]:
        """Input and output, or the one that is both."""
        model = self.model
        if model.tied == "tied" or model.output is None:
            return {"tied" if model.tied == "tied" else "input": model.input}
        return {"input": model.input, "output": model.output}

    @property
    def hashes(self) -> dict[str, str]:
        """Of its matrices."""
        roles = {"input": "input", "output": "output", "tied": "input"}
        return {name: self.model.hashes[roles[name]] for name in self.matrices}

    def matrix(self, name: str) -> torch.Tensor:
        """One of them; an EmbtieError where the model is not what it was."""
        if name not in self.matrices:
            raise EmbtieError(
                f"{self.ref.written} has no {name} matrix ({self.model.tied}).",
                "Choose another revision.",
            )
        return self.matrices[name]

    def kept(self, what: str, names: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """What was measured of these matrices before, else what `make` gives now."""
        chosen = {name: self.matrix(name) for name in names}
        rows = {name: np.arange(len(one)) for name, one in chosen.items()}
        roles = Roles(chosen, rows, self.hashes, (), CopiedRows(chosen, self.hashes))
        return kept_part(part_key(what, roles, names, {"seed": self.ground.request.seed}), make)

    def measured(
        self, value: float, floor: float | None = None, others: tuple[Other, ...] = ()
    ) -> Measured:
        """A number of this model, with what it is of."""
        source = f"{self.ref.written}, {len(self.model.input):,} stored rows"
        return Measured(value, source, floor, others, other_size(self.ref, self.model))


def _length(alone: Alone, name: str) -> Measured:
    """The Frobenius norm of a matrix."""
    lengths = survey(alone.matrix(name), alone.ground.progress)[0].numpy()
    padding = alone.model.padding[alone.model.padding < len(lengths)]
    others = []
    if len(padding):
        words = f"without the {len(padding):,} padding rows"
        others.append(Other(words, frobenius(np.delete(lengths, padding))))
    return alone.measured(frobenius(lengths), others=tuple(others))


def _largest(alone: Alone, name: str) -> Measured:
    """The largest singular value of a matrix, about zero and not about its mean."""
    matrix, device = alone.matrix(name), alone.ground.request.device

    def values(center: bool) -> float:
        found = spectrum(matrix, center, device=device, progress=alone.ground.progress)
        return float(found.singular_values[0])

    def make() -> list[float]:
        return [values(False), values(True)]

    plain, centred = alone.kept("largest singular value", (name,), make)
    return alone.measured(plain, others=(Other("about the mean row", centred),))


def _turned(alone: Alone) -> Measured:
    """The mean cosine of an orthogonal fit from input to output, on all stored rows."""
    request = alone.ground.request

    def make() -> list[float | None]:
        found = align(
            alone.matrix("input"),
            alone.matrix("output"),
            "orthogonal",
            holdout=0.0,
            seed=request.seed,
            device=request.device,
            progress=alone.ground.progress,
        )
        return [found.mean, found.floor_mean]

    mean, floor = alone.kept("orthogonal fit", ("input", "output"), make)
    return alone.measured(mean, floor)


def _correlation(ground: Ground, column: str) -> Task:
    """How the lengths of the rows of two matrices of the Qwen3 pair go together."""
    known, instead = (Opened(of(QWEN), ground) for of in (family, stand_in))
    return Task(
        (known.family.a, known.family.b),
        lambda: _correlated(known, column),
        lambda: _correlated(instead, column),
    )


def _correlated(opened: Opened, column: str) -> Measured:
    pair = opened.pair(opened.family.rows)
    first, second = column.split(", ")
    values = pair.roles.values(opened.ground.progress)
    lengths = [survey(values[n], opened.ground.progress)[0].numpy() for n in (first, second)]
    both = np.isfinite(lengths[0]) & np.isfinite(lengths[1]) & (lengths[0] > 0) & (lengths[1] > 0)
    found = correlate(lengths[0][both], lengths[1][both], opened.ground.request.seed)
    others = (Other("as rank correlation", found.spearman),)
    return Measured(found.pearson, opened.source(), found.pearson_floor, others, opened.sizes)


def _by_number(opened: Opened, column: str) -> Measured:
    """The fit on rows of equal number, which stand for different tokens."""
    one = opened.aligned("orthogonal", STORED).comparisons[column]
    by_token = opened.aligned("orthogonal").comparisons[column]
    others = (Other("with rows paired by token", by_token.mean),)
    return Measured(one.mean, opened.source(STORED), one.floor_mean, others, opened.sizes)
