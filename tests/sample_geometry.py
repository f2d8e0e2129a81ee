"""A small comparison of geometries made without torch, for tests of what shows results."""

from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.measures.statistics import group_means
from embtie_widgets.results.geometry import PairGeometry
from embtie_widgets.results.groups import groups_of
from embtie_widgets.results.neighbours import KnnOverlap
from embtie_widgets.results.spectra import (
    Cka,
    Isotropy,
    MatrixGeometry,
    MeanShare,
    SpaceComparison,
    Spectrum,
    SubspaceOverlap,
)
from embtie_widgets.results.spectral import SpectralDistance
from tests.sample_results import pair_result

LEVELS = {"In->Out": 0.05, "Out->Tied": 0.5, "In->Tied": 0.1}
K, WIDTH = 10, 16


def overlap(per_token: np.ndarray, k: int = K, **changed: Any) -> KnnOverlap:
    mean, n = float(np.nanmean(per_token)), len(per_token)
    known: dict[str, Any] = {
        "per_token": per_token,
        "mean": mean,
        "interval": (mean - 0.01, mean + 0.01),
        "floor": k / (n - 1),
        "settings": {"k": k, "metric": "cosine", "center": False, "sampled": n, "device": "cpu"},
    }
    return KnnOverlap(**known | changed)


def spectrum(rows: int, width: int = WIDTH, scale: float = 1.0, decay: float = 0.5) -> Spectrum:
    sigma = scale * np.arange(1.0, width + 1) ** -decay
    share = sigma / sigma.sum()
    energy = sigma**2
    return Spectrum(
        singular_values=sigma,
        rows=rows,
        effective_rank=float(np.exp(-(share * np.log(share)).sum())),
        participation_ratio=float(energy.sum() ** 2 / (energy**2).sum()),
        top_share=float(energy[0] / energy.sum()),
        condition=float(sigma[0] / sigma[-1]),
        rank=width,
        settings={"center": False},
    )


def matrix(rows: int, scale: float, decay: float) -> MatrixGeometry:
    mean = MeanShare(0.2, 0.04, 0.2 * scale, 0.9, {})
    known = spectrum(rows, scale=scale, decay=decay)
    return MatrixGeometry(known, Isotropy(0.7, 1.0, 1.4, {}), mean)


def space(level: float) -> SpaceComparison:
    ones = np.full(4, level)
    return SpaceComparison(
        cka=Cka(level, 0.02, 0.001, False, {}),
        debiased_cka=Cka(level - 0.02, 0.0, 0.001, True, {}),
        tokens=SubspaceOverlap(ones, level, ones * 0.1, 0.1 * level, {"k": 4, "side": "tokens"}),
    )


def geometry_result(n: int = 300, shift: float = 0.0, k: int = K, **settings: Any) -> PairGeometry:
    """The tokens of `pair_result`; token 3 takes no part, 5 and 6 have the same row in In."""
    base = pair_result(n)
    rng = np.random.default_rng(1)
    parts = {}
    for name, level in LEVELS.items():
        common = rng.binomial(k, min(level + shift, 1.0), n) / k
        common[3] = np.nan
        parts[name] = overlap(common, k)
    double = np.zeros(n, bool)
    double[[5, 6]] = True
    usable = np.ones(n, bool)
    usable[3] = False
    result = PairGeometry(
        overlaps=parts,
        spectral={
            name: SpectralDistance(1 - level, 1.2, np.ones(4), {"k": 64, "rows_used": n - 1})
            for name, level in LEVELS.items()
        },
        spaces={name: space(level) for name, level in LEVELS.items()},
        matrices={
            "In": matrix(n, 1.0, 0.2),
            "Out": matrix(n, 5.0, 0.5),
            "Tied": matrix(n, 20.0, 0.6),
        },
        rows_a=base.rows_a,
        rows_b=base.rows_b,
        tokens=base.tokens,
        token_counts=base.token_counts,
        kinds=base.kinds,
        groups=(),
        norms={name: np.linspace(1, 2, n) for name in ("In", "Out", "Tied")},
        duplicates={"In": double, "Out": np.zeros(n, bool), "Tied": np.zeros(n, bool)},
        usable=usable,
        counts=base.counts,
        checks={"self overlap": 1.0, "self distance": 0.0, "self CKA": 1.0},
        models=base.models,
        notes=("One token takes no part.",),
        settings={
            "k": k,
            "metric": "cosine",
            "center": False,
            "sample": 0,
            "spectral": True,
            "top": 4,
            "seed": 0,
            **settings,
        },
        hashes=base.hashes,
    )
    scores = {name: one.per_token for name, one in parts.items()}
    return replace(result, groups=group_means(groups_of(result), scores))
