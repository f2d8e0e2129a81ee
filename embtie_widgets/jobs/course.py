"""The progress of several runs, one after the other, told as one."""

from embtie_widgets.progress import Progress

STEPS = ("training", "following")


class Course:
    """A progress that counts the steps of `runs` equal runs together, so that the time left is that
    of all of them; every other stage is told as it is."""

    def __init__(self, progress: Progress, runs: int) -> None:
        self._progress, self._runs = progress, runs
        self._begun: list[str] = []

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Where one of the runs is; a stage of steps names it, as in "training tied"."""
        doing, _, name = stage.partition(" ")
        if doing not in STEPS or self._runs < 2:
            self._progress(stage, done, total)
            return
        if name not in self._begun:
            self._begun.append(name)
        before = self._begun.index(name) * total
        self._progress(f"training {self._runs} models", before + done, self._runs * total)
