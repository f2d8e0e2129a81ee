"""Results on the two ways in which a gradient reaches a shared matrix."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.storage import storable
from embtie_widgets.results.tables import runs_below_each_other, token_columns

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]
Tokens = tuple[bytes | None, ...]

CURVES = {
    "step": "optimiser step, from 1",
    "loss": "cross-entropy of the batch before the update, nats per token",
    "lr": "learning rate of the step",
    "input_norm": "Frobenius norm of the gradient that comes by the input, scattered over rows",
    "output_norm": "Frobenius norm of the gradient that comes by the output",
    "total_norm": "norm of their sum, which is the gradient of a shared matrix",
    "cosine": "cosine between the two parts, over all entries",
    "output_share": "<G_out, G> / |G|^2: the share of the sum that the output explains",
    "norm_share": "|G_out| / (|G_in| + |G_out|)",
    "proxy_norm": "norm of the gradient at the embedding's output, as the paper's code logs it",
    "proxy_share": "|G_out| / (proxy + |G_out|), the paper's share",
    "update_input_norm": "norm of the input's part of Adam's update",
    "update_output_norm": "norm of the output's part of Adam's update",
    "update_share": "<D_out, D> / |D|^2 of the data part D of Adam's update",
    "update_norm_share": "|D_out| / (|D_in| + |D_out|)",
    "check": "largest relative difference between the sum of the parts and the whole gradient",
}
"""What each curve of a run means; which of them there are depends on where the run comes from."""

BAND_CURVES = ("input_norm", "output_norm", "output_share", "norm_share")
ROW_VALUES = ("input", "output", "output_share", "norm_share", "times")


@dataclass(frozen=True, eq=False)
class GradientSplit:
    """The gradient of mean next-token cross-entropy, by its way into the matrix.

    input, output  (V, d) tensors; a row of `input` is exactly 0 for a token that the text lacks
    total          (V, d) their sum: the gradient of the shared matrix; for an untied model, of one
                   that stood in both places
    output_share   <output, total> / |total|^2, any number
    norm_share     |output| / (|input| + |output|), 0 to 1
    cosine         between the parts, -1 to 1
    proxy_norm     norm of the gradient at the embedding's output, which the paper takes for |input|
    proxy_share    |output| / (proxy_norm + |output|)
    loss           nats per token
    check          largest relative difference found between the parts and independent products
    settings, hashes  what it was made of
    """

    input: Any
    output: Any
    total: Any
    output_share: float
    norm_share: float
    cosine: float
    proxy_norm: float
    proxy_share: float
    loss: float
    check: float
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"GradientSplit(output share {self.output_share:.3f}, norm share "
            f"{self.norm_share:.3f}, cosine {self.cosine:+.3f}, loss {self.loss:.4f})"
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row per token: the length of its row in each part, and its share."""
        import pandas as pd

        parts = {name: getattr(self, name).double() for name in ("input", "output", "total")}
        numbers = {name: part.norm(dim=1) for name, part in parts.items()}
        inner = (parts["output"].to(self.total.device) * parts["total"]).sum(dim=1)
        numbers["output_share"] = inner / numbers["total"].square()
        columns = {name: values.numpy(force=True) for name, values in numbers.items()}
        return pd.DataFrame({"row": np.arange(len(self.total)), **columns})


@storable
@dataclass(frozen=True)
class FlowRun:
    """One run's gradient, over n logged steps; of an untied run of its two matrices.

    curves  name to (n,), names and meanings in CURVES; NaN where a step lacks it
    bands   names of the bands of token frequency, as `results.groups.BANDS` has them
    by_band BAND_CURVES to (n, bands): the same over the rows of each band
    rows    ROW_VALUES to (V,): root mean square of a row's length by either path over the logged
            steps, shares likewise, and in how many logged batches the token stood; empty where
            rows are not known
    tied    None where that is not known
    about   what the run was: batch, length, warm-up, corpus, device, interventions, ...
    """

    curves: dict[str, Vector]
    tied: bool | None = True
    bands: tuple[str, ...] = ()
    by_band: dict[str, Vector] = field(default_factory=dict)
    rows: dict[str, Vector] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        said = [f"{len(self.curves.get('step', ())):,} steps"]
        for name in ("output_share", "norm_share", "proxy_share"):
            if self.knows(name):
                said.append(f"{name} {np.nanmean(self.curves[name]):.3f}")
        return f"FlowRun({', '.join(said)})"

    def knows(self, name: str) -> bool:
        """Whether a curve has a value anywhere."""
        return bool(np.isfinite(self.curves.get(name, ())).any())

    def curve(self, name: str, over: int = 1) -> Vector:
        """(n,) one of the curves, its mean over the last `over` steps; NaN where it has none."""
        steps = np.asarray(self.curves["step"], float)
        values = np.asarray(self.curves.get(name, np.full(len(steps), np.nan)), float)
        return values if over == 1 else trailing_mean(steps, values, over)

    def paper_share(self, over: int = 1) -> Vector:
        """(n,) the paper's share, from norms that are averaged over the last `over` steps first."""
        inside, out = self.curve("proxy_norm", over), self.curve("output_norm", over)
        whole = inside + out
        return _ratio(out, whole)

    def mean(self, name: str, first: float, last: float) -> float:
        """The mean of a curve over the steps from `first` to `last`; NaN without a value there."""
        steps, values = np.asarray(self.curves["step"]), self.curve(name)
        inside = values[(steps >= first) & (steps <= last) & np.isfinite(values)]
        return float(inside.mean()) if len(inside) else float("nan")


def trailing_mean(steps: Vector, values: Vector, over: int) -> Vector:
    """(n,) the mean of the finite values of the last `over` steps, each step's own among them; NaN
    where there is none.  `steps` (n,) rise."""
    known = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    many = np.concatenate([[0], np.cumsum(known)])
    start, end = np.searchsorted(steps, steps - over, side="right"), np.arange(1, len(steps) + 1)
    return _ratio(sums[end] - sums[start], many[end] - many[start])


def _ratio(part: Vector, whole: Vector) -> Vector:
    """One over the other, NaN where there is nothing to divide by."""
    nothing: Vector = np.full(len(whole), np.nan)
    np.divide(part, whole, out=nothing, where=whole > 0)
    return nothing


@storable
@dataclass(frozen=True)
class GradientFlow:
    """Who writes into the shared matrix, of one or several runs.

    runs          by name: "tied", "untied", or what a file or folder is called
    tokens        the V byte keys of the rows, None where one is not known; empty without rows
    token_counts  (V,) how often each occurs in the training text; None where that is not known
    kinds         (V,) the kind of each, by its code in `results.groups`; None without tokens
    failed        run to the sentence that says why its curves are not drawn
    notes, settings, hashes  as everywhere
    progress      "" for a whole result, else how far it has come
    groups        what each kind of token and each band of counts has for its mean norm share in
                  each run, as `measures.statistics.group_means` gives it
    """

    runs: dict[str, FlowRun]
    tokens: Tokens
    token_counts: Vector | None
    kinds: Vector | None
    failed: dict[str, str]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str]
    progress: str = ""
    groups: tuple[dict[str, Any], ...] = ()

    def __repr__(self) -> str:
        wide = max(map(len, [*self.runs, *self.failed]), default=0)
        lines = [f"  {name:<{wide}}  {run!r}" for name, run in self.runs.items()]
        lines += [f"  {name:<{wide}}  {why}" for name, why in self.failed.items()]
        return "\n".join([f"GradientFlow({len(self.tokens):,} tokens)", *lines])

    def to_frame(self) -> "pd.DataFrame":
        """One row per run and logged step."""
        import pandas as pd

        return runs_below_each_other({n: pd.DataFrame(r.curves) for n, r in self.runs.items()})

    def token_frame(self) -> "pd.DataFrame":
        """One row per token: the length of its gradient row by either path, and its shares."""
        import pandas as pd

        columns = token_columns(self.tokens, self.kinds, self.token_counts)
        for name, run in self.runs.items():
            columns |= {f"{name} {value}": numbers for value, numbers in run.rows.items()}
        return pd.DataFrame(columns)

    def facts(self) -> dict[str, Any]:
        """All that is not a number per step: what every export carries."""
        return {
            "progress": self.progress or "whole",
            "groups": self.groups,
            "runs": {name: run.about for name, run in self.runs.items()},
            "failed": self.failed,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }
