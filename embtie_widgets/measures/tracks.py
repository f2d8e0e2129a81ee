"""How the rows of a matrix follow signatures from step to step of a training."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from embtie_widgets.measures.probes import fit_probe, permuted
from embtie_widgets.measures.signatures import (
    cosines,
    gram,
    is_constant,
    pairs_correlation,
    pairs_pearson,
    principal_points,
)
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.staircase import MatrixTrack, Signature, SignatureTrack, Vector


def track(
    matrix: str,
    rows: Any,
    signatures: Mapping[str, Any],
    *,
    steps: int = 300,
    folds: int = 5,
    hold_out: str = "pairs",
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[MatrixTrack, tuple[SignatureTrack, ...]]:
    """One matrix over s steps, rows (s, A, d) of the anchors, against signatures by name.

    A signature is a `Signature` of the same anchors, to which from order 1 on a probe is fitted
    (`steps`, `folds`, `hold_out` and `seed` as `fit_probe` takes them); or rows (A, k), which may
    be sparse; or rows of each step (s, A, k).
    """
    follower = Follower(
        matrix, signatures, steps=steps, folds=folds, hold_out=hold_out, seed=seed
    )  # fmt: skip
    follower.add(rows, progress)
    return follower.result()


class Follower:
    """The same, of steps that come one after the other."""

    def __init__(self, matrix: str, signatures: Mapping[str, Any], **probe: Any) -> None:
        """`probe` are `steps`, `folds`, `hold_out` and `seed` of `fit_probe`."""
        self._matrix = matrix
        self._signatures = [_Followed(name, one, probe) for name, one in signatures.items()]
        self._parts: list[dict[str, Vector]] = []
        self._last: Vector | None = None

    def __len__(self) -> int:
        return sum(len(part["norms"]) for part in self._parts)

    def add(self, rows: Any, progress: Progress = silent) -> None:
        """Further steps: rows (s, A, d)."""
        products = gram(rows)
        similarity = cosines(products)
        points, variance = principal_points(products, self._last)
        first, self._last = len(self), points[-1]
        for one in self._signatures:
            one.add(similarity, first, progress)
        norms = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
        self._parts.append(
            {"similarity": similarity.astype(np.float16), "points": points.astype(np.float32),
             "variance": variance, "norms": norms}
        )  # fmt: skip

    def result(self) -> tuple[MatrixTrack, tuple[SignatureTrack, ...]]:
        """Of all steps so far, at least one."""
        whole: dict[str, Any] = {
            name: np.concatenate([p[name] for p in self._parts]) for name in self._parts[0]
        }
        tracks = tuple(one.result(self._matrix) for one in self._signatures)
        return MatrixTrack(matrix=self._matrix, **whole), tracks


class _Followed:
    """One signature beside the steps of a matrix."""

    def __init__(self, name: str, signature: Any, probe: Mapping[str, Any]) -> None:
        self._name, self._probe = name, probe
        own = isinstance(signature, Signature)
        self._values = signature.values if own else signature
        self._probed = own and signature.order > 0
        if own:
            signature = np.reshape(self._values, (len(self._values), -1))
        products = gram(signature)  # of the rows as they are, without a probe
        self._moves = products.ndim == 3
        self._products = products if self._moves else products[None]
        self._similarity = cosines(self._products)
        self._measured: list[dict[str, Vector]] = []
        self._seen: list[Vector] = []
        self._points: list[Vector] = []

    def add(self, embedding: Vector, first: int, progress: Progress) -> None:
        """Steps (s, A, A) from number `first` on."""
        here = self._similarity
        if self._moves:
            here = here[first : first + len(embedding)]
        found = pairs_correlation(embedding, here)
        if self._probed:
            probed = fit_probe(
                self._values, embedding, first=first, progress=progress, **self._probe
            )
            names = ("held_out", "in_sample", "beyond", "floor")
            found |= {name: getattr(probed, name) for name in names}
            self._seen.append(probed.similarity)
            self._place(probed.products)
        else:
            chance = [permuted(one, (self._probe.get("seed", 0), first + at))
                      for at, one in enumerate(embedding)]  # fmt: skip
            found["floor"] = pairs_pearson(np.stack(chance), here)
            if self._moves:
                self._place(self._products[first : first + len(embedding)])
            elif not self._points:  # one for all steps
                self._place(self._products)
        self._measured.append(found)

    def _place(self, products: Vector) -> None:
        """Points of further steps, turned to agree with those before."""
        last = self._points[-1][-1] if self._points else None
        self._points.append(principal_points(products, last)[0])

    def result(self, matrix: str) -> SignatureTrack:
        """Of all steps so far."""
        by_step = {k: np.concatenate([m[k] for m in self._measured]) for k in self._measured[0]}
        similarity = np.concatenate(self._seen) if self._probed else self._similarity
        points = np.concatenate(self._points)
        judged = np.isfinite(by_step.get("held_out", np.nan)).any()  # by probes of the folds
        return SignatureTrack(
            self._name, matrix, by_step, similarity.astype(np.float16), points.astype(np.float32),
            is_constant(similarity) and not judged,
        )  # fmt: skip
