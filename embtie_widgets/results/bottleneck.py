"""Results on how much of the logits' gradient the head transmits to the hidden state."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.storage import storable
from embtie_widgets.results.tables import runs_below_each_other, token_columns
from embtie_widgets.results.tokens import display_token

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]
Tokens = tuple[bytes | None, ...]

CURVES = {
    "step": "optimiser step, from 1",
    "loss": "cross-entropy of the batch before the update, nats per token",
    "lr": "learning rate of the step",
    "destroyed": "share of the logit gradient's length that is not transmitted, 0 to 1",
    "visible_cosine": "cosine between the logit gradient and its transmitted part, 0 to 1",
    "kept_energy": "share of its squared length that is transmitted, 0 to 1",
    "target_kept": "mean squared length of what is transmitted of the target's direction, 0 to 1",
    "line": "sqrt(1 - rank / V): what a direction without preference would give for `destroyed`",
}
"""What each curve of a run means; all are those before the step's update."""

SCORES = {"destroyed": "r", "target_kept": "of the target"}
"""What groups of targets are scored by, each with its sign in a table: the ratio that is not
transmitted, and what is transmitted of the target's direction."""

DIRECTIONS = ("whole", "transmitted", "lost")
"""The equal steps in logit space: against the gradient, and against either part of it."""


@storable
@dataclass(frozen=True)
class GradientSpectrum:
    """Singular values of the logit gradient, and how its rank grows with the positions.

    values     (m,) of the m positions that entered, the largest first
    positions  (p,) numbers of positions, rising to m
    rank       (p,) numerical rank of the gradient of the first so many positions
    shares     parts of the squared length, such as 0.7, 0.9, 0.999
    components (p, shares) how many components hold that part
    """

    values: Vector
    positions: Vector
    rank: Vector
    shares: tuple[float, ...]
    components: Vector


@storable
@dataclass(frozen=True)
class EqualSteps:
    """The loss after steps of equal length in logit space.

    sizes   (s,) lengths of the step, as multiples of the whole gradient's root mean square length
            at a position
    losses  (s, 3) mean loss in nats after a step along each of DIRECTIONS; NaN where one is empty
    before  the loss without a step
    """

    sizes: Vector
    losses: Vector
    before: float


@storable
@dataclass(frozen=True)
class Bottleneck:
    """How much of the logit gradient G (n, V), rows p - e_y, the head U (V, d) transmits.

    destroyed       |G P_K| / |G| over all positions together, K the kernel of U's transpose, 0 to 1
    visible_cosine  <G, G_vis> / (|G| |G_vis|) = sqrt(1 - destroyed^2), 0 to 1
    kept_energy     visible_cosine^2
    line            sqrt(1 - d / V), 0 where d >= V: what a direction without preference gives
    per_position    (n,) the destroyed ratio at each position
    target_kept     (n,) squared length of what is transmitted of e_y, 0 to 1
    length          (n,) |p - e_y|
    loss            (n,) nats
    ids, targets    (n,) token at the position, and the one to be predicted
    piece, place    (n,) piece of the text and place within it
    width, rows, rank  d, V, and the numerical rank of U
    visible         (V,) squared length of what is transmitted of each token's direction, 0 to 1;
                    their sum is the rank
    check           largest difference between the parts and an independent product, relative
    random          the destroyed ratio of a random gradient, which is to give the line
    spectrum, steps  None where not asked for
    settings, hashes, notes  as everywhere
    """

    destroyed: float
    visible_cosine: float
    kept_energy: float
    line: float
    per_position: Vector
    target_kept: Vector
    length: Vector
    loss: Vector
    ids: Vector
    targets: Vector
    piece: Vector
    place: Vector
    width: int
    rows: int
    rank: int
    visible: Vector
    check: float
    random: float
    spectrum: GradientSpectrum | None = None
    steps: EqualSteps | None = None
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"Bottleneck({len(self.per_position):,} positions, not transmitted "
            f"{self.destroyed:.4f}, visible cosine {self.visible_cosine:.4f}, "
            f"line {self.line:.4f})"
        )

    def by_target(self) -> dict[str, Vector]:
        """Of each token as a target, (V,): "times" it is one, and over these positions together
        the "destroyed" ratio and the mean "loss"; NaN for a token that never is."""
        rows = len(self.visible)
        squares = np.asarray(self.length, float) ** 2
        hidden = squares * np.asarray(self.per_position, float) ** 2
        sums = [
            np.bincount(self.targets, weights, rows)
            for weights in (None, hidden, squares, self.loss)
        ]
        times, hidden, whole, loss = (np.asarray(one, float) for one in sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"times": times, "destroyed": np.sqrt(hidden / whole), "loss": loss / times}

    def to_frame(self) -> "pd.DataFrame":
        """One row per position."""
        import pandas as pd

        names = ("piece", "place", "ids", "targets", "loss", "length", "target_kept")
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame(columns | {"destroyed": self.per_position})


@storable
@dataclass(frozen=True)
class BottleneckModel:
    """A model's `Bottleneck` and what of its vocabulary belongs beside it.

    tokens  the V byte keys of the rows, None where one is not known
    kinds   (V,) the kind of each, by its code in `results.groups`; None without tokens
    counts  (V,) how often each token occurs in the text of the counts; None where not known
    tied    whether the head is the embedding, as stored
    groups  what the positions have whose target is of each kind, or in each band of counts:
            "tokens" is their number, and the scores are those of SCORES
    about   name, revision and the like
    """

    bottleneck: Bottleneck
    tokens: Tokens
    kinds: Vector | None
    counts: Vector | None
    tied: bool | None
    groups: tuple[dict[str, Any], ...] = ()
    about: dict[str, Any] = field(default_factory=dict)

    def to_frame(self) -> "pd.DataFrame":
        """One row per position, with the tokens as text."""
        frame, one = self.bottleneck.to_frame(), self.bottleneck
        if self.tokens:
            frame.insert(2, "token", [display_token(self.tokens[i], 0) for i in one.ids])
            frame.insert(3, "target", [display_token(self.tokens[i], 0) for i in one.targets])
        return frame


@storable
@dataclass(frozen=True)
class BottleneckRun:
    """One run: name of CURVES to (n,), NaN where a step lacks it; V and d; what else is known."""

    curves: dict[str, Vector]
    tied: bool | None
    about: dict[str, Any] = field(default_factory=dict)


@storable
@dataclass(frozen=True)
class BottleneckReport:
    """What is asked by a `BottleneckRequest`: models on a text, or runs, each by its name.

    failed    model or run to the sentence that says why it is not there
    progress  "" for a whole result, else how far it has come
    """

    models: dict[str, BottleneckModel]
    runs: dict[str, BottleneckRun]
    failed: dict[str, str]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str]
    progress: str = ""

    def __repr__(self) -> str:
        lines = [f"  {name}: {one.bottleneck!r}" for name, one in self.models.items()]
        lines += [f"  {name}: {len(one.curves['step']):,} steps" for name, one in self.runs.items()]
        lines += [f"  {name}: {why}" for name, why in self.failed.items()]
        return "\n".join(["BottleneckReport", *lines])

    def to_frame(self) -> "pd.DataFrame":
        """One row per model and position, or per run and logged step."""
        import pandas as pd

        frames = {name: one.to_frame() for name, one in self.models.items()}
        frames |= {name: pd.DataFrame(one.curves) for name, one in self.runs.items()}
        return runs_below_each_other(frames)

    # Of the first model, and of all that have its tokens: what views of tokens show.

    @property
    def alike(self) -> dict[str, BottleneckModel]:
        """The first model and those whose rows stand for the same tokens, by name."""
        first = next(iter(self.models.values()), None)
        return {} if first is None else {n: m for n, m in self.models.items() if _alike(m, first)}

    @property
    def tokens(self) -> Tokens:
        """As `results.pair.TokenResult` has them."""
        return next((one.tokens for one in self.models.values()), ())

    @property
    def kinds(self) -> Vector | None:
        """As `results.pair.TokenResult` has them."""
        return next((one.kinds for one in self.models.values()), None)

    @property
    def token_counts(self) -> Vector | None:
        """As `results.pair.TokenResult` has them."""
        return next((one.counts for one in self.models.values()), None)

    @property
    def groups(self) -> tuple[dict[str, Any], ...]:
        """Those of all models that are `alike`; scores by their sign in SCORES, with the model."""
        found: dict[str, dict[str, Any]] = {}
        for name, one in self.alike.items():
            for group in one.groups:
                known = {key: group[key] for key in ("group", "by", "tokens")}
                whole = found.setdefault(group["group"], known | {"scored": {}, "intervals": {}})
                for score, many in group["scored"].items():
                    called = f"{SCORES.get(score, score)}, {name}"
                    whole[called], whole["scored"][called] = group[score], many
                    whole["intervals"][called] = group["intervals"][score]
        return tuple(found.values())

    def token_frame(self) -> "pd.DataFrame":
        """One row per token: what is transmitted of it, and its numbers as a target."""
        import pandas as pd

        columns = token_columns(self.tokens, self.kinds, self.token_counts)
        for name, one in self.alike.items():
            numbers = {"visible": one.bottleneck.visible, **one.bottleneck.by_target()}
            columns |= {f"{what}, {name}": values for what, values in numbers.items()}
        return pd.DataFrame(columns)

    def facts(self) -> dict[str, Any]:
        """All that is not a number per position or step: what every export carries."""
        return {
            "progress": self.progress or "whole",
            "models": {name: one.about for name, one in self.models.items()},
            "runs": {name: one.about for name, one in self.runs.items()},
            "failed": self.failed,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }


def _alike(one: BottleneckModel, first: BottleneckModel) -> bool:
    return one.tokens == first.tokens and one.bottleneck.rows == first.bottleneck.rows
