"""The folder of one run: written while the run grows, readable by anybody at any moment.

    manifest.json        what the run is and how far it has come
    metrics.jsonl        one JSON object per logged step; `results.gradient.CURVES` and others
    rows.npz             numbers per row of the matrix, counts of the training text, its tokens
    checkpoints/         step-000050.safetensors: `input` and `output`, or `tied` alone
    resume.pt            what a stopped run needs to go on

Runs that are trained here and those that `RunRecorder` writes look the same.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.results.gradient import BAND_CURVES, CURVES, ROW_VALUES, FlowRun
from embtie_widgets.results.groups import BANDS
from embtie_widgets.results.storage import pack_tokens, unpack_tokens
from embtie_widgets.sources.checkpoint import SingleFile
from embtie_widgets.sources.paths import local_path
from embtie_widgets.sources.reading import read_json
from embtie_widgets.training.growing import MOST_STEPS, Lines, replaced, writing
from embtie_widgets.training.store import writable_folder

FORMAT = 1
RUNNING, STOPPED, DONE = "running", "stopped", "done"
MANIFEST, METRICS, ROWS, RESUME, CHECKPOINTS = (
    "manifest.json", "metrics.jsonl", "rows.npz", "resume.pt", "checkpoints",
)  # fmt: skip
Vector = np.ndarray[Any, np.dtype[Any]]
Tokens = tuple[bytes | None, ...]
_KINDS = {"name": str, "state": str, "done": int, "settings": dict, "hashes": dict}
_AGAIN = "Choose another run, or train it again."


class Checkpoint(NamedTuple):
    """E and U (V, d) after a step; for a tied model both are the same tensor."""

    step: int
    input: Tensor
    output: Tensor


class RunStore:
    """One run on disk.  Every answer is that of the moment: the run may grow meanwhile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read = Lines(folder / METRICS)
        self._mended = False

    @classmethod
    def create(
        cls,
        folder: str | Path,
        *,
        name: str,
        tied: bool | None,
        of: int | None,
        settings: Mapping[str, Any] | None = None,
        hashes: Mapping[str, str] | None = None,
        device: str = "cpu",
    ) -> "RunStore":
        """A new run of `of` steps at step 0, in place of one that lay there; other files stay."""
        from embtie_widgets import __version__

        store = cls(writable_folder(folder, prefix="embtie-run-"))
        store._clear()
        store._write_manifest(
            {
                "format": FORMAT, "embtie": __version__, "name": name, "tied": tied,
                "state": RUNNING, "done": 0, "of": of, "settings": dict(settings or {}),
                "hashes": dict(hashes or {}), "device": device,
            }
        )  # fmt: skip
        return store

    @classmethod
    def open(cls, folder: str | Path) -> "RunStore":
        """The run in `folder`; an EmbtieError where there is none, or a damaged one."""
        place = local_path(folder)
        if not is_run(place):
            raise EmbtieError(
                f"'{place.name}' is no folder of a run: it has no {MANIFEST}.",
                "Name the folder that `RunRecorder` or `train_twins` wrote, one run in each.",
            )
        store = cls(place)
        _ = store.manifest
        return store

    @property
    def manifest(self) -> dict[str, Any]:
        """What manifest.json says now."""
        read = read_json(self.folder / MANIFEST)
        if not isinstance(read, dict) or read.get("format") != FORMAT:
            raise EmbtieError(
                f"The run in '{self.folder.name}' has another format than embtie reads.", _AGAIN
            )
        wrong = [key for key, kind in _KINDS.items() if not isinstance(read.get(key), kind)]
        of = read.get("of")
        counts = [] if wrong else [read["done"], 0 if of is None else of]
        wrong += [n for n in counts if not isinstance(n, int) or not 0 <= n < MOST_STEPS]
        if wrong or read.get("tied") not in (True, False, None):
            raise EmbtieError(f"The manifest in '{self.folder.name}' is damaged.", _AGAIN)
        return read

    @property
    def done(self) -> int:
        """The last step that is known of."""
        rows = self._read.all()
        return max([self.manifest["done"], *rows], default=0)

    def set_state(self, state: str, done: int, **others: Any) -> None:
        """ "running", "stopped" or "done", after `done` steps; `others` are further entries."""
        self._write_manifest(self.manifest | others | {"state": state, "done": done})

    def append(self, row: Mapping[str, Any]) -> None:
        """Add the numbers of a step, which stands in row["step"]."""
        line = json.dumps(dict(row), default=_plain) + "\n"
        if not self._mended:  # a line that a crash tore must not swallow the next one
            self._read.mend()
            self._mended = True
        with writing(self._read.path), self._read.path.open("a", encoding="utf-8") as file:
            file.write(line)

    def rows(self) -> list[dict[str, Any]]:
        """The logged rows in order of their steps; of a step that was repeated, the last."""
        found = self._read.all()
        return [found[step] for step in sorted(found)]

    def notes(self) -> tuple[str, ...]:
        """Sentences of the run itself, and on what of it could not be read."""
        told = self.manifest.get("notes")
        known = tuple(one for one in told if isinstance(one, str)) if isinstance(told, list) else ()
        self._read.all()
        if not self._read.damaged:
            return known
        many = f"{self._read.damaged:,} lines" if self._read.damaged > 1 else "1 line"
        return (*known, f"{many} of {METRICS} cannot be read and left out.")

    def curves(self) -> dict[str, Vector]:
        """Each column of numbers (n,), "step" among them; NaN where a row lacks it."""
        return curves_of(self.rows())

    def bands(self) -> tuple[tuple[str, ...], dict[str, Vector]]:
        """Names of the bands of frequency, and each curve by band (n, bands); both may be empty."""
        return _bands(self.rows())

    def keep(self, step: int, input: Tensor, output: Tensor | None = None) -> None:
        """Keep the matrices of a step; where they are one, `output` is None or the input itself."""
        named = {"tied": input}
        if output is not None and output is not input:
            named = {"input": input, "output": output}
        stored = {k: v.detach().to("cpu").contiguous() for k, v in named.items()}
        folder = self.folder / CHECKPOINTS
        with writing(folder):
            folder.mkdir(exist_ok=True)
        path = folder / f"step-{step:06d}.safetensors"
        replaced(path, lambda part: save_file(stored, part))

    def steps(self) -> list[int]:
        """The steps whose matrices were kept, in order."""
        return sorted(int(path.stem[5:]) for path in self._kept())

    def checkpoint(self, step: int) -> Checkpoint:
        """The matrices after a step, mapped from their file."""
        file = SingleFile(self.folder / CHECKPOINTS / f"step-{step:06d}.safetensors")
        if "tied" in file:
            matrix = file.read("tied")
            return Checkpoint(step, matrix, matrix)
        if not {"input", "output"} <= set(file):
            raise EmbtieError(f"Step {step} of '{self.folder.name}' is no checkpoint.", _AGAIN)
        return Checkpoint(step, file.read("input"), file.read("output"))

    def checkpoints(self) -> list[Checkpoint]:
        """Those of all kept steps."""
        return [self.checkpoint(step) for step in self.steps()]

    def save_rows(
        self,
        values: Mapping[str, Any],
        *,
        counts: Any = None,
        tokens: Iterable[bytes | None] | None = None,
    ) -> None:
        """Numbers per row of the matrix, each (V,); what is not given stays as it was."""
        arrays = {**self._arrays(), **{name: _array(value) for name, value in values.items()}}
        if counts is not None:
            arrays["counts"] = _array(counts)
        if tokens is not None:
            pack_tokens(tuple(tokens), "tokens", arrays)
        replaced(self.folder / ROWS, lambda part: _save_arrays(part, arrays))

    def row_values(self) -> dict[str, Vector]:
        """ROW_VALUES, as many as are known, each (V,)."""
        arrays = self._arrays()
        return {name: arrays[name] for name in ROW_VALUES if name in arrays}

    def counts(self) -> Vector | None:
        """(V,) how often each token stands in the training text, where that is known."""
        return self._arrays().get("counts")

    def tokens(self) -> Tokens:
        """The V byte keys of the rows; empty where they are not known."""
        arrays = self._arrays()
        known = {"tokens/bytes", "tokens/lengths"} <= set(arrays)
        return unpack_tokens("tokens", arrays) if known else ()

    def flow_run(self) -> FlowRun:
        """What there is of the run's gradient so far."""
        manifest, rows = self.manifest, self.rows()  # read once: the run may grow meanwhile
        names, by_band = _bands(rows)
        return FlowRun(
            curves={name: curve for name, curve in curves_of(rows).items() if name in CURVES},
            tied=manifest["tied"],
            bands=names,
            by_band=by_band,
            rows=self.row_values(),
            about=about_run(manifest) | {"done": self.done},
        )

    def save_resume(self, state: Mapping[str, Any]) -> None:
        """Tensors and plain values from which the run can go on."""
        replaced(self.folder / RESUME, lambda part: torch.save(dict(state), part))

    def read_resume(self) -> dict[str, Any] | None:
        """What `save_resume` saved, on the CPU; None where nothing was."""
        path = self.folder / RESUME
        if not path.is_file():
            return None
        try:
            read = torch.load(path, map_location="cpu", weights_only=True)
        except Exception:  # the restricted reader meets damaged files with a dozen types of error
            read = None
        if not isinstance(read, dict):
            raise EmbtieError(f"{RESUME} of '{self.folder.name}' is damaged.", _AGAIN)
        return read

    def drop_resume(self) -> None:
        """Once the run has come to its end."""
        (self.folder / RESUME).unlink(missing_ok=True)

    def cut(self, step: int) -> None:
        """Forget what was logged and kept after `step`, from where the run is to go on."""
        kept = [row for row in self.rows() if row["step"] <= step]
        lines = "".join(json.dumps(row) + "\n" for row in kept)
        replaced(self._read.path, lambda part: _write(part, lines))
        for path in self._kept():
            if int(path.stem[5:]) > step:
                path.unlink(missing_ok=True)

    def _kept(self) -> list[Path]:
        paths = (self.folder / CHECKPOINTS).glob("step-*.safetensors")
        return [path for path in paths if path.stem[5:].isdecimal()]

    def _arrays(self) -> dict[str, Vector]:
        path = self.folder / ROWS
        if not path.is_file():
            return {}
        try:
            with np.load(path, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        except Exception:  # as above
            raise EmbtieError(f"{ROWS} of '{self.folder.name}' is damaged.", _AGAIN) from None

    def _clear(self) -> None:
        names = (MANIFEST, METRICS, ROWS, RESUME)
        for path in [*(self.folder / name for name in names), *self._kept()]:
            with writing(path):
                path.unlink(missing_ok=True)

    def _write_manifest(self, manifest: Mapping[str, Any]) -> None:
        text = json.dumps(manifest, indent=1, default=_plain)
        replaced(self.folder / MANIFEST, lambda part: _write(part, text))


def about_run(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What results say of the run of a manifest: its settings, where it ran, how it stands."""
    known = {key: manifest.get(key) for key in ("device", "state", "of", "done")}
    return {**manifest["settings"], **known}


def is_run(folder: Path) -> bool:
    """Whether a run lies in the folder."""
    try:
        return (folder / MANIFEST).is_file()
    except OSError:
        return False


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _save_arrays(path: Path, arrays: Mapping[str, Vector]) -> None:
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def curves_of(rows: list[dict[str, Any]]) -> dict[str, Vector]:
    """Each column of numbers (n,) of logged rows, as `RunStore.curves` gives them."""
    names = dict.fromkeys(k for row in rows for k, v in row.items() if _is_number(v))
    return {
        "step": np.array([row["step"] for row in rows], np.int64),
        **{name: _column(rows, name) for name in names if name != "step"},
    }


def _bands(rows: list[dict[str, Any]]) -> tuple[tuple[str, ...], dict[str, Vector]]:
    found = [row["by_band"] for row in rows if isinstance(row.get("by_band"), dict)]
    names = [name for name in BAND_CURVES if any(name in each for each in found)]
    if not names:
        return (), {}
    return tuple(BANDS), {name: _banded(rows, name) for name in names}


def _column(rows: list[dict[str, Any]], name: str) -> Vector:
    return np.array([_number(row.get(name)) for row in rows])


def _banded(rows: list[dict[str, Any]], name: str) -> Vector:
    made = np.full((len(rows), len(BANDS)), np.nan)
    for place, row in enumerate(rows):
        bands = row.get("by_band")
        values = bands.get(name) if isinstance(bands, dict) else None
        if isinstance(values, list) and len(values) == len(BANDS):
            made[place] = [_number(value) for value in values]
    return made


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _number(value: Any) -> float:
    try:
        return float(value) if _is_number(value) else np.nan
    except OverflowError:
        return np.nan


def _array(value: Any) -> Vector:
    made: Vector = value.numpy(force=True) if isinstance(value, Tensor) else np.asarray(value)
    return made


def _plain(value: Any) -> Any:
    """JSON for numbers and arrays of torch and numpy."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
