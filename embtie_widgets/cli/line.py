"""Progress on a terminal: one line on stderr, rewritten in place."""

import sys
from typing import Never, Self

from tqdm import tqdm


class ProgressLine:
    """A `Progress` that draws itself on a terminal and is silent elsewhere."""

    def __init__(self) -> None:
        self._bar: tqdm[Never] | None = None
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` blocks of the stage are finished."""
        if self._bar is None or stage != self._stage:
            self._start(stage, total)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self._end()

    def _start(self, stage: str, total: int) -> None:
        self._end()
        self._stage = stage
        self._bar = tqdm(
            desc=stage,
            total=total,
            leave=False,
            disable=None,  # silent unless it is a terminal
            file=sys.stderr,
            bar_format="{desc}: {n_fmt} of {total_fmt} |{bar}| {elapsed} gone, {remaining} left",
        )

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.close()
