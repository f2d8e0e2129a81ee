"""transformers without its own bars, warnings and logs: its progress is told to ours."""

import logging as levels
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from embtie_widgets.progress import Progress


@contextmanager
def quiet(progress: Progress, stage: str) -> Iterator[None]:
    """What transformers would draw as a bar goes to `progress`, which may stop it, and no code for
    its modules comes from the hub; all as before afterwards."""
    from transformers.integrations import hub_kernels
    from transformers.utils import logging

    level, shown = logging.get_verbosity(), logging.is_progress_bar_enabled()
    bar = told(progress, stage)
    hook: Any = getattr(logging, "set_tqdm_hook", None)  # not in the first releases
    logging.set_verbosity(levels.CRITICAL)
    logging.disable_progress_bar()
    before = hook(lambda _made, args, known: bar(*args, **known)) if hook else None
    try:
        with warnings.catch_warnings(), replaced(hub_kernels, "_kernels_enabled", False):
            warnings.simplefilter("ignore")
            yield
    finally:
        if hook:
            hook(before)
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


@contextmanager
def replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    """Another value under a name of somebody's module, for a while; nothing where there is none."""
    if not hasattr(module, name):
        yield
        return
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def told(progress: Progress, stage: str) -> Any:
    """What takes the place of `tqdm`."""
    return lambda *args, **known: _Told(progress, stage, args, known)


class _Told:
    """What the library takes for a bar."""

    def __init__(
        self, progress: Progress, stage: str, args: tuple[Any, ...], known: dict[str, Any]
    ) -> None:
        self._progress, self._stage = progress, stage
        self._items = args[0] if args else known.get("iterable")
        length = getattr(self._items, "__len__", lambda: 1)
        self.total, self.n = int(known.get("total") or length() or 1), 0

    def __iter__(self) -> Iterator[Any]:
        for item in self._items or ():
            yield item
            self.update()

    def __enter__(self) -> "_Told":
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def __getattr__(self, _name: str) -> Any:
        return lambda *_args, **_known: None

    def update(self, n: float | None = 1) -> None:
        """So many more are done."""
        self.n += int(n or 0)
        self._progress(self._stage, min(self.n, self.total), self.total)
