"""What one process writes of a recorded run: rows, checkpoints, numbers per token."""

import json
import math
from collections.abc import Iterator, Mapping
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.hashing import tensor_hash
from embtie_widgets.measures.gradient import Products, band_numbers, row_numbers
from embtie_widgets.measures.logits import numbers_of_sums
from embtie_widgets.results.groups import BANDS, band_places
from embtie_widgets.sources.tokens import read_vocabulary
from embtie_widgets.training import recorder_numbers as numbers
from embtie_widgets.training.logit_recorder import end_numbers
from embtie_widgets.training.recorder_hooks import Matrices, StepCapture
from embtie_widgets.training.recorder_plan import Plan
from embtie_widgets.training.run_store import RUNNING, RunStore, is_run


class RunWriter:
    """Holds the run's folder, and copies of the first and of the latest kept matrices."""

    def __init__(
        self,
        plan: Plan,
        model: Any,
        matrices: Matrices,
        done: int,
        of: int | None,
        about: Mapping[str, Any],
    ) -> None:
        self.plan, self.matrices = plan, matrices
        self._band = None if plan.counts is None else self._bands(plan.counts)
        self._first: dict[str, Tensor] = {}
        self._before: dict[str, Tensor] = {}
        self.kept = -1  # the step after which matrices were kept last
        self._products: Products | None = None
        self._times = torch.zeros(len(matrices.input), dtype=torch.int64)
        self._summed = 0
        self._tokens = self._read_tokens()
        self._real = self._of_tokens()
        known = _latest(plan.folder) if done else None
        if known is not None and self._fits(known):
            self.store = self._reopened(known, done, of)
        else:
            self.store = self._created(model, of, about)
            self.keep(done)

    def keep(self, done: int) -> None:
        """Keep the matrices as they are after `done` steps."""
        now = self._now()
        kept = {"input": now["input"].detach().clone()}
        if "output" in now:
            kept["output"] = kept["input"] if self.matrices.tied else now["output"].detach().clone()
        self._first, self._before, self.kept = self._first or kept, kept, done
        self.store.keep(done, kept["input"], kept.get("output"))
        self.save_rows()

    def write(self, step: int, loss: float, rate: float, caught: StepCapture | None) -> str:
        """The row of a step; what is wrong with its parts, which are left out then, or nothing."""
        row: dict[str, Any] = {"step": step, "loss": loss, "lr": rate}
        wrong = ""
        if caught is not None:
            row["check"] = numbers.check_of(caught)
            wrong = numbers.wrong_parts(row["check"], caught)
            row |= ({} if wrong else self._parts(caught)) | numbers_of_sums(caught.logits)
            row |= numbers.transmitted(caught)
        row |= self._of_matrices()
        row["since"] = step - 1 - self.kept
        self.store.append(row)
        self.store.set_state(RUNNING, step)
        return wrong

    def save_rows(self) -> None:
        """The numbers per token, over the steps recorded so far."""
        if self._products is not None:
            self.store.save_rows(row_numbers(self._products, self._summed, self._times))

    def add_settings(self, **settings: Any) -> None:
        """Further facts on the run."""
        manifest = self.store.manifest
        known = manifest["settings"] | settings
        self.store.set_state(manifest["state"], manifest["done"], settings=known)

    def _parts(self, caught: StepCapture) -> dict[str, Any]:
        parts = numbers.parts_of(caught)
        if parts is None:
            return {}
        proxy = math.sqrt(float(caught.proxy)) / caught.scale
        products, row = numbers.gradient_numbers(parts, proxy)
        if self._band is not None:
            by_band = band_numbers(products, self._band, len(BANDS))
            row["by_band"] = {name: values.tolist() for name, values in by_band.items()}
        if math.isfinite(row["total_norm"]):  # an overflow is logged, but spoils no sum
            self._products = products if self._products is None else self._products + products
            self._times += caught.seen.cpu()
            self._summed += 1
        return row

    def _of_matrices(self) -> dict[str, float]:
        now = self._now()
        if self.matrices.tied:
            del now["output"]
        found = numbers.turn_numbers(now, self._first, self._before)
        if self.matrices.tied:  # what one is the other is
            found |= {name.replace("input", "output"): value for name, value in found.items()}
            now["output"] = now["input"]
        return found | end_numbers(now["input"], now.get("output"), self._real)

    def _now(self) -> dict[str, Tensor]:
        E, U = self.matrices.input, self.matrices.output
        found: dict[str, Tensor] = {"input": E}
        return found if U is None else found | {"output": U}

    def _fits(self, store: RunStore) -> bool:
        """Whether the run there is one of such matrices; that of another model stays as it is."""
        about = store.manifest
        shape = tuple(about["settings"].get(name) for name in ("rows", "width"))
        return (*shape, about["tied"]) == (*self.matrices.input.shape, self.matrices.tied)

    def _reopened(self, store: RunStore, done: int, of: int | None) -> RunStore:
        """Go on behind `done` steps; checkpoints from before are those to compare with."""
        store.cut(done)
        told = f"The training was gone on with after step {done:,}: numbers per token are of the "
        notes = [*store.notes(), f"{told}steps from there on."] if store.row_values() else []
        store.set_state(RUNNING, done, of=of, notes=notes)
        for step in store.steps():
            found = store.checkpoint(step)
            self._before = {role: getattr(found, role) for role in self._now()}
            self._first, self.kept = self._first or self._before, step
        return store

    def _created(self, model: Any, of: int | None, about: Mapping[str, Any]) -> RunStore:
        store = RunStore.create(
            _free(self.plan.folder),
            name=self.plan.name,
            tied=self.matrices.tied,
            of=of,
            settings={**about, **self._settings(model)},
            hashes=self._hashes(),
            device=str(self.matrices.input.device),
        )
        _save_config(model, store.folder)
        store.save_rows({}, counts=self.plan.counts, tokens=self._tokens)
        return store

    def _hashes(self) -> dict[str, str]:
        """Of the matrices at the start."""
        now = self._now()
        if self.matrices.tied:
            return {"tied": tensor_hash(now["input"])}
        return {role: tensor_hash(matrix) for role, matrix in now.items()}

    def _settings(self, model: Any) -> dict[str, Any]:
        rows, width = self.matrices.input.shape
        return {
            "recorded": True,
            "every": self.plan.every,
            "rows": rows,
            "width": width,
            "architecture": type(model).__name__,
            "dtype": str(self.matrices.input.dtype).removeprefix("torch."),
            "torch": torch.__version__,
        }

    def _of_tokens(self) -> Tensor | None:
        """(V,) which rows are of real tokens; None where nobody has said so."""
        real = torch.tensor([token is not None for token in self._tokens or ()])
        return real.to(self.matrices.input.device) if bool(real.any()) else None

    def _read_tokens(self) -> list[bytes | None] | None:
        if self.plan.tokens is None:
            return None
        try:
            return read_vocabulary(self.plan.tokens).by_row(len(self.matrices.input))
        except EmbtieError:  # a Trainer's processing class may be anything
            return None

    def _bands(self, counts: Any) -> Tensor:
        """(V,) the band of each token, by how often it stands in the training text."""
        values = np.asarray(counts)
        if values.shape != (len(self.matrices.input),):
            raise EmbtieError(
                f"counts has the shape {values.shape}; the matrix has "
                f"{len(self.matrices.input):,} rows.",
                "Give one count for each row.",
            )
        return torch.from_numpy(band_places(values))


def _save_config(model: Any, folder: Path) -> None:
    """So that the folder can be read as a model with checkpoints; no place of a file in it."""
    config, path = getattr(model, "config", None), folder / "config.json"
    if config is not None and hasattr(config, "to_json_string") and not path.exists():
        known = json.loads(config.to_json_string(use_diff=False))
        known.pop("_name_or_path", None)
        path.write_text(json.dumps(known, indent=1, sort_keys=True), encoding="utf-8")


def _free(folder: Path) -> Path:
    """The folder, or the first beside it that holds no run."""
    return next(place for place in _places(folder) if not is_run(place))


def _latest(folder: Path) -> RunStore | None:
    """The run that was begun last in the folder or beside it."""
    taken = list(takewhile(is_run, _places(folder)))
    return RunStore.open(taken[-1]) if taken else None


def _places(folder: Path) -> Iterator[Path]:
    yield folder
    for number in count(2):
        yield folder.with_name(f"{folder.name}-{number}")
