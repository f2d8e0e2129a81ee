"""Plug-ins that workers of a cluster import by name."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embtie_widgets.training.interventions import Intervention, Step


@dataclass
class Slow(Intervention):
    """Takes its time at each step, so that a test can get in between."""

    seconds: float = 0.01

    def after_step(self, step: Step) -> None:
        time.sleep(self.seconds)


@dataclass
class Failing(Intervention):
    """Breaks the first so many times that a run begins, with what is no fault of the run; each
    leaves a file in the folder."""

    folder: str
    times: int

    def on_build(self, model: Any, run: str) -> None:
        begun = len(list(Path(self.folder).iterdir()))
        (Path(self.folder) / str(begun)).touch()
        if begun < self.times:
            raise RuntimeError("the device fell off the bus")
