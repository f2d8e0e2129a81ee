"""How long a process of the tests did not come to its turn: what it lost then, it lost itself."""

import asyncio
import time
from collections import deque
from contextlib import suppress

_BEAT_SECONDS = 1.0
_KEPT = 300  # beats


class Pulse:
    """Beats once a second, as long as its loop comes to it."""

    def __init__(self) -> None:
        self._late: deque[tuple[float, float]] = deque(maxlen=_KEPT)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Beat from now on."""
        self._task = asyncio.create_task(self._beat())

    async def stop(self) -> None:
        """Beat no longer."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def worst(self, within: float) -> float:
        """By how many seconds the latest beat of the last so many seconds was late."""
        since = time.monotonic() - within
        return max((late for at, late in self._late if at > since), default=0.0)

    async def _beat(self) -> None:
        while True:
            start = time.monotonic()
            await asyncio.sleep(_BEAT_SECONDS)
            now = time.monotonic()
            self._late.append((now, now - start - _BEAT_SECONDS))
