"""The live demo of the gradient flow: both twins of the default request, with nothing kept before.

    python -m tests.bench.bench_demo [--steps 300] [--batch 8]

Printed are the seconds to the first picture and to the end, how far pictures lie apart, the longest
time without a word (as long as that a cancel may take), the seconds of processor behind it all,
which on an idle machine of n cores are at most n to one, and the shares over parts of the training.
"""

import argparse
import os
import tempfile
import time
from typing import Any

import numpy as np

import embtie_widgets as ew
from embtie_widgets.jobs.processors import share_processors
from embtie_widgets.jobs.run import estimate
from embtie_widgets.results.gradient import GradientFlow

SHARES = ("output_share", "norm_share", "proxy_share", "update_share")


class Clock:
    """A `progress` that notes when it is told what."""

    def __init__(self) -> None:
        self.begun = self._last = time.monotonic()
        self.silence, self.during = 0.0, ""
        self.pictures: list[float] = []
        self.training: float | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """The work has come so far."""
        now = time.monotonic()
        if now - self._last > self.silence:
            self.silence, self.during = now - self._last, stage
        self._last = now
        if stage.startswith("training") and self.training is None:
            self.training = now - self.begun

    def partial(self, result: GradientFlow) -> None:
        """A picture."""
        self.pictures.append(time.monotonic() - self.begun)


def main() -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=8)
    given = parser.parse_args()
    share_processors()
    request = ew.GradientFlowRequest(steps=given.steps, batch=given.batch)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["EMBTIE_CACHE"] = folder
        said, clock, processor = estimate(request), Clock(), time.process_time()
        result = ew.run(request, progress=clock)
        _print(result, clock, said.seconds, time.process_time() - processor)


def _print(result: GradientFlow, clock: Clock, said: float, processor: float) -> None:
    apart = np.diff(clock.pictures)
    lines: dict[str, Any] = {
        "all": f"{time.monotonic() - clock.begun:.1f} s, estimated {said:.1f} s",
        "processor": f"{processor:.1f} s on {os.cpu_count()} cores",
        "first picture": f"after {clock.pictures[0]:.1f} s, the first step being told of after "
        f"{clock.training:.1f} s",
        "pictures": f"{len(clock.pictures)}, {np.median(apart):.2f} s apart, at most "
        f"{apart.max():.2f} s",
        "longest silence": f"{clock.silence:.2f} s before '{clock.during}'",
    }  # fmt: skip
    for what, words in lines.items():
        print(f"{what:<16} {words}")
    for name, run in result.runs.items():
        for first, last in ((1, 50), (51, 150), (151, 300)):
            means = "  ".join(f"{share} {run.mean(share, first, last):.3f}" for share in SHARES)
            print(f"{name:<8} steps {first:>3} to {last:>3}  {means}")


if __name__ == "__main__":
    main()
