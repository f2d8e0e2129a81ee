"""What the runs of a sweep come to: one run from its folder, and lines of learning rates."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from embtie_widgets.measures.sensitivity import learning_rate_sensitivity
from embtie_widgets.requests.centering import Cell
from embtie_widgets.results.centering import (
    CURVES,
    DIVERGED,
    DONE,
    CenteringRun,
    Sensitivity,
    Vector,
)
from embtie_widgets.training.run_store import RunStore, curves_of

_TOLD = ("batch", "length", "steps", "warmup", "precision", "threads", "torch")
_LONG = 1e5  # of a loss


def run_of_cell(cell: Cell, **known: Any) -> CenteringRun:
    """A run by its cell, and what else is known of it."""
    return CenteringRun(
        method=cell.method,
        tied=cell.tied,
        lr=cell.lr,
        coefficient=cell.coefficient,
        size=cell.size,
        seed=cell.seed,
        **known,
    )


def finished_run(
    cell: Cell, store: RunStore, loss: float | None, initial_loss: float, where: str = ""
) -> CenteringRun:
    """A run that has come to its end; `loss` on the text held out, None where there is none."""
    manifest = store.manifest
    known = known_of(store.rows())
    start, end = _ends(known["curves"].get("loss"))
    judged = end if loss is None else loss
    reason = why_diverged(manifest.get("diverged"), judged, max(initial_loss, start))
    return run_of_cell(
        cell,
        state=DIVERGED if reason else DONE,
        loss=math.nan if loss is None else loss,
        step=manifest["done"],
        of=manifest["of"] or manifest["done"],
        reason=reason,
        about=_about(manifest, store, where),
        **known,
    )


def known_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The curves of logged rows, and the numbers at their end."""
    curves = {name: curve for name, curve in curves_of(rows).items() if name in CURVES}
    ends = {name: float(curve[-1]) for name, curve in curves.items() if len(curve)}
    return {"curves": curves, "numbers": ends}


def _ends(losses: Vector | None) -> tuple[float, float]:
    """Those of the first batch and of the last."""
    if losses is None or not len(losses):
        return math.nan, math.nan
    return float(losses[0]), float(losses[-1])


def why_diverged(step: Any, loss: float, most: float) -> str:
    """In words; "" for a run that has not; `most` is the loss of one that has learnt nothing."""
    if isinstance(step, int):
        return f"Its loss is no finite number from step {step:,} on."
    if not math.isfinite(loss):
        return "Its loss is no finite number."
    if loss > most:
        given = f"{loss:.2f}" if loss < _LONG else f"{loss:.3g}"
        return f"Its loss is {given}, more than before it had learnt anything ({most:.2f})."
    return ""


def sensitivities(
    runs: Iterable[CenteringRun], initial: Callable[[str], float]
) -> tuple[Sensitivity, ...]:
    """One for each line of at least two learning rates, in the order of the runs.

    `initial` tells what a loss counts for at most, by the size of the model.
    """
    lines: dict[Any, list[CenteringRun]] = {}
    for run in runs:
        lines.setdefault(run.group, []).append(run)
    found = (_sensitivity(line, initial(line[0].size)) for line in lines.values())
    return tuple(one for one in found if len(one.rates) + one.unknown > 1)


def _sensitivity(line: Sequence[CenteringRun], initial: float) -> Sensitivity:
    first = line[0]
    known = sorted(filter(_counts, line), key=lambda run: run.lr)
    learnt = [run for run in known if math.isfinite(run.loss)]
    best = min(learnt, key=lambda run: run.loss, default=None)
    return Sensitivity(
        size=first.size,
        tied=first.tied,
        method=first.method,
        coefficient=first.coefficient,
        seed=first.seed,
        value=_value([run.loss for run in known], initial),
        best_lr=math.nan if best is None else best.lr,
        best_loss=math.nan if best is None else best.loss,
        rates=tuple(run.lr for run in known),
        unknown=len(line) - len(known),
        initial_loss=initial,
    )


def _counts(run: CenteringRun) -> bool:
    """Whether it is known how well the run does; of one that is done the loss may be unknown."""
    return run.state == DIVERGED or (run.state == DONE and math.isfinite(run.loss))


def _value(losses: list[float], initial: float) -> float:
    """NaN with fewer than two losses, and where nobody knows what a lost one counts for."""
    if len(losses) < 2 or not initial > 0:
        return math.nan
    return learning_rate_sensitivity(losses, initial)


def _about(manifest: Mapping[str, Any], store: RunStore, where: str) -> dict[str, Any]:
    settings = manifest["settings"]
    told = {name: settings[name] for name in _TOLD if name in settings}
    seconds = {"seconds": manifest["seconds"]} if "seconds" in manifest else {}
    place = {"where": where} if where else {}
    return {**told, "device": manifest.get("device"), **seconds, **place, "key": store.folder.name}
