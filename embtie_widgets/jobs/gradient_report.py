"""A GradientFlow put together, whole or as far as it has come."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.training_rows import Rows
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.requests import GradientFlowRequest
from embtie_widgets.results.gradient import FlowRun, GradientFlow
from embtie_widgets.results.groups import groups_of


def report(
    request: GradientFlowRequest,
    runs: Mapping[str, FlowRun],
    rows: Rows,
    *,
    failed: Mapping[str, EmbtieError] | None = None,
    notes: Iterable[str] = (),
    hashes: Mapping[str, str] | None = None,
    cached: bool = False,
    progress: str = "",
    **settings: Any,
) -> GradientFlow:
    """With the request's settings and `settings`; each note once."""
    made = GradientFlow(
        runs=dict(runs),
        tokens=rows.tokens,
        token_counts=rows.counts,
        kinds=rows.kinds,
        failed={name: str(error) for name, error in (failed or {}).items()},
        notes=tuple(dict.fromkeys(notes)),
        settings={**request.to_dict(), **settings, "cached": cached},
        hashes=dict(hashes or {}),
        progress=progress,
    )
    shares = {
        name: run.rows["norm_share"] for name, run in runs.items() if "norm_share" in run.rows
    }
    fitting = {name: share for name, share in shares.items() if len(share) == len(rows.tokens)}
    return replace(made, groups=group_means(groups_of(made), fitting, (0, 1))) if fitting else made
