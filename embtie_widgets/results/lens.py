"""Results of the lens: what each layer of a model already says about the next token."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.storage import storable
from embtie_widgets.results.tokens import display_token

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]
Tokens = tuple[bytes | None, ...]


@storable
@dataclass(frozen=True)
class InformationFloor:
    """How near any lens at the input point could come to the model, whatever it is.

    A lens there sees the token alone, or token and position where the model adds learned
    positions, so that it says the same wherever these are the same.

    bits        mean KL of the best such lens on these very positions: none can be below
    estimate    the same for endless text, extrapolated; None where the text is too short
    interval    95 % of `bits`, over the tokens
    lens_bits   what the measured lens has at the input, over the same positions
    sees        "token" or "token and position"
    positions   how many positions count; `left_out` are those of tokens too rare to tell
    tokens      how many different tokens (with their position) count; `tokens_left_out` do not
    least       how often a token has to occur to count
    """

    bits: float
    estimate: float | None
    interval: tuple[float, float]
    lens_bits: float
    sees: str
    positions: int
    left_out: int
    tokens: int
    tokens_left_out: int
    least: int


@storable
@dataclass(frozen=True)
class Readings:
    """The likeliest next tokens at each layer, for the first positions of the text.

    places  (m,) places among the positions of the `Lens`
    top     (layers + 1, m, k) places in `tokens`, the likeliest first
    shares  (layers + 1, m, k) their probabilities
    tokens  byte keys of the tokens that occur in `top`; None for a row without token
    ids     their row numbers, (len(tokens),)
    """

    places: Vector
    top: Vector
    shares: Vector
    tokens: Tokens
    ids: Vector


@storable
@dataclass(frozen=True)
class Lens:
    """What the lens sees of a model with L layers: L + 1 points, the embedding and each block.

    kl_bits           (L + 1,) mean of KL(final || lens) over the n positions, in bits; 0 at the end
    intervals         (L + 1, 2) 95 % of that mean
    entropy_bits      (L + 1,) mean entropy of the lens, in bits
    agreement         (L + 1,) share of positions whose likeliest token is the model's own
    mean_rank         (L + 1,) mean place of the model's likeliest token in the lens, 1 the first
    per_token         (L + 1, n) KL at each position, in bits; NaN where a state is not finite
    ids, piece, place (n,) token, piece of the text and place within it, of each position
    tokens            the n byte keys of `ids`; None for each that is not known
    finite            (L + 1,) at how many positions state and KL are finite
    drop_bits         (L,) by how much each block lowers the KL
    share             (L + 1,) what embedding and blocks write of the last state: the projection of
                      each part on it, over its squared length; mean over positions, sum 1
    write             (L,) length of what a block writes over the length of the state after it
    last_layer_check  largest difference between the lens's logits at the end and the model's own,
                      relative to the largest of these; what all logits of a position share,
                      which changes no probability, is taken off first
    floor             at the input point; None where it was not asked for
    readings          the likeliest tokens by layer; None where they were not asked for
    notes, settings   sentences that belong beside the numbers; everything needed to repeat them
    hashes            of model, text and translators, where they are known
    """

    kl_bits: Vector
    intervals: Vector
    entropy_bits: Vector
    agreement: Vector
    mean_rank: Vector
    per_token: Vector
    ids: Vector
    piece: Vector
    place: Vector
    tokens: Tokens
    finite: Vector
    drop_bits: Vector
    share: Vector
    write: Vector
    last_layer_check: float
    floor: InformationFloor | None = None
    readings: Readings | None = None
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)

    @property
    def points(self) -> list[str]:
        """Names of the L + 1 points: "embedding", "1", ..., "L"."""
        return ["embedding", *map(str, range(1, len(self.kl_bits)))]

    def __repr__(self) -> str:
        kind, mode = self.settings.get("lens", "logit"), self.settings.get("mode", "corrected")
        return (
            f"Lens({kind}, {mode}, {len(self.kl_bits) - 1} layers, {len(self.ids):,} positions, "
            f"{self.kl_bits[0]:.2f} bits at the embedding)"
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row per point: its name and every mean."""
        import pandas as pd

        nothing = [np.nan]
        return pd.DataFrame(
            {
                "point": self.points,
                "kl_bits": self.kl_bits,
                "kl_low": self.intervals[:, 0],
                "kl_high": self.intervals[:, 1],
                "entropy_bits": self.entropy_bits,
                "agreement": self.agreement,
                "mean_rank": self.mean_rank,
                "finite": self.finite,
                "drop_bits": np.concatenate([nothing, self.drop_bits]),
                "share": self.share,
                "write": np.concatenate([nothing, self.write]),
            }
        )

    def token_frame(self) -> "pd.DataFrame":
        """One row per position: its token, and the KL in bits at each point."""
        import pandas as pd

        columns: dict[str, Any] = {
            "piece": self.piece,
            "place": self.place,
            "id": self.ids,
            "token": [display_token(key, limit=0) for key in self.tokens],
        }
        named = {
            f"kl_bits {name}": row for name, row in zip(self.points, self.per_token, strict=True)
        }
        return pd.DataFrame(columns | named)


@storable
@dataclass(frozen=True)
class PairLens:
    """Two models under the lens, on the same text.

    lenses    "A" and "B": the `Lens` of each; one that failed its check is missing
    failed    "A" or "B" to the sentence that says why its curve is not drawn
    models    what is known of A and B: name, revision, tied, rows, width, layers, dtype, notes
    text      what was read: name, sha256, pieces, documents, how it was cut
    training  "A" and "B" to the curve of the training of its translators, where it was made here:
              "step" (m,), "kl_bits" (m, L) on text held out, "loss_bits" (m,); empty otherwise
    progress  "" for a whole result, else how far it has come: "40 of 200 steps"
    """

    lenses: dict[str, Lens]
    failed: dict[str, str]
    models: dict[str, dict[str, Any]]
    text: dict[str, Any]
    training: dict[str, dict[str, Vector]]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str]
    progress: str = ""

    def __repr__(self) -> str:
        parts = [
            f"{self.models[side].get('name', side)} {lens.kl_bits[0]:.2f} bits"
            for side, lens in self.lenses.items()
        ]
        return f"PairLens(at the embedding: {', '.join(parts) or 'nothing'})"

    def to_frame(self) -> "pd.DataFrame":
        """One row per model and point."""
        return self._together({side: lens.to_frame() for side, lens in self.lenses.items()})

    def token_frame(self) -> "pd.DataFrame":
        """One row per model and position: its token, and the KL in bits at each point."""
        return self._together({side: lens.token_frame() for side, lens in self.lenses.items()})

    def _together(self, frames: "dict[str, pd.DataFrame]") -> "pd.DataFrame":
        import pandas as pd

        for side, frame in frames.items():
            frame.insert(0, "model", self.models[side].get("name", side))
        parts = list(frames.values())
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def facts(self) -> dict[str, Any]:
        """All that is not a number per point: what every export carries."""
        return {
            "models": self.models,
            "text": self.text,
            "failed": self.failed,
            "checks": {side: lens.last_layer_check for side, lens in self.lenses.items()},
            "notes": self.notes,
            "progress": self.progress,
            "settings": self.settings,
            "hashes": self.hashes,
        }
