"""Progress on a terminal: one line on stderr, rewritten in place."""

import sys
from typing import Never, Self

from tqdm import tqdm

_COUNTS = "{desc}: {n_fmt} of {total_fmt} |{bar}| {elapsed} gone, {remaining} left"
_BYTES = "{desc}: {n_fmt}B of {total_fmt}B |{bar}| {rate_fmt}, {remaining} left"


class ProgressLine:
    """A `Progress` that draws itself on a terminal and is silent elsewhere.

    `unit` is "" for counts and "B" for bytes, which are written with their rate.  With `lines`
    every stage is also written as a line of its own on stdout when it begins.
    """

    def __init__(self, unit: str = "", *, lines: bool = False) -> None:
        self._unit = unit
        self._lines = lines
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
        if self._lines:
            print(f"{stage[:1].upper()}{stage[1:]}", flush=True)
        self._bar = tqdm(
            desc=stage,
            total=total,
            leave=False,
            disable=None,  # silent unless it is a terminal
            file=sys.stderr,
            unit=self._unit,
            unit_scale=bool(self._unit),
            bar_format=_BYTES if self._unit else _COUNTS,
        )

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.close()
