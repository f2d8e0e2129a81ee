"""Long steps cut short: stopping places inside what would take more than half a second.

Work can be called off wherever it reports its progress, so a step that is long pauses on its way:
it says once more where it is.
"""

from collections.abc import Callable, Iterator

import torch

from embtie_widgets.progress import Progress

Pause = Callable[[], None]

# So many multiplications one processor does in less than half a second, in float64 too.
_AT_ONCE = 5e9
# An accelerator is that much faster.
_FASTER = 100


def no_pause() -> None:
    """Go on."""


class Remembered:
    """Progress that can be told once more, in the middle of a step."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last: tuple[str, int, int] | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Tell it, and keep it in mind."""
        self._last = stage, done, total
        self._progress(stage, done, total)

    def again(self) -> None:
        """Tell where the work was last, if anything was told."""
        if self._last is not None:
            self._progress(*self._last)


def stripes(columns: int, each: float, device: torch.device) -> Iterator[slice]:
    """Even stripes of so many columns that cost `each` multiplications a column: a single one
    where that is little work."""
    most = _AT_ONCE * (1 if device.type == "cpu" else _FASTER)
    step = max(1, -(-columns // max(1, -(-int(columns * each) // int(most)))))
    return (slice(at, min(at + step, columns)) for at in range(0, columns, step))


def product(left: torch.Tensor, right: torch.Tensor, pause: Pause) -> torch.Tensor:
    """left (m, k) times right (k, n), with a pause after every stripe."""
    parts = []
    for some in stripes(right.shape[1], left.numel(), left.device):
        parts.append(left @ right[:, some])
        pause()
    return torch.cat(parts, 1) if len(parts) > 1 else left @ right if not parts else parts[0]
