"""What is left of the cells of earlier sweeps.

Curves and numbers of a cell are small and are kept with the results; its run, with the model, may
have been removed since.
"""

import hashlib

from embtie_widgets.jobs.cache import MEASURES, keep, recall
from embtie_widgets.jobs.cells import CellTask
from embtie_widgets.jobs.training_plan import Plan
from embtie_widgets.jobs.training_runs import run_key
from embtie_widgets.results.centering import CenteringReport, CenteringRun


def recalled(task: CellTask, plan: Plan) -> CenteringRun | None:
    """The finished run of a cell as it was found before, None where nothing is left."""
    found: CenteringReport | None = recall(_key(task, plan))
    return None if found is None else found.runs[0]


def remember(task: CellTask, plan: Plan, run: CenteringRun) -> None:
    """Keep the numbers of a finished run."""
    keep(_key(task, plan), CenteringReport((run,)))


def _key(task: CellTask, plan: Plan) -> str:
    """Of all that decides what is kept."""
    parts = ("a cell", str(MEASURES), run_key(task.spec, plan.corpus), plan.held.sha256)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
